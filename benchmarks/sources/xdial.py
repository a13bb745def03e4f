"""xDial-Eval (Zhang et al., Findings of EMNLP 2023): nine rated datasets in English and nine machine translations.

Upstream is a CSV for each dataset, NAME.csv or NAME.csv.gz, with `LANGUAGE_ctx` and `LANGUAGE_res` for each language
(`LANGUAGE_dial` where whole dialogues were rated), turns one a line, and `ratings`, the mean of one quality. The ids
are in `dialogue_id`, else they are numbered. Verified against the published files with the ids added. Nobody says who
speaks: turns alternate.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Rating, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats.official import alternating, lines, number

CITATION = ("Zhang, D'Haro, Tang, Shi, Tang and Li (2023). xDial-Eval: A Multilingual Open-Domain Dialogue Evaluation "
            "Benchmark. Findings of EMNLP.")
LANGUAGES = {"arabic": "ar", "chinese": "zh", "english": "en", "french": "fr", "german": "de", "hindi": "hi",
             "japanese": "ja", "korean": "ko", "russian": "ru", "spanish": "es"}
"""The languages, with their codes."""
RATED = {"convai2-grade": "relevance", "dailydialog-grade": "relevance", "empathetic-grade": "relevance",
         "dailydialog-gupta": "overall", "dailydialog-zhao": "appropriateness", "persona-zhao": "appropriateness",
         "persona-usr": "Maintains Context", "fed-turn": "Overall", "fed-dial": "Overall"}
"""The quality that `ratings` is the mean of."""


def translations(files: Sequence[Path], cards: dict[str, DatasetCard]) -> Iterator[Dataset]:
    """Every dataset of a folder in every language."""
    for file in files:
        name = file.name.removesuffix(".gz").removesuffix(".csv")
        if name in RATED and ".csv" in file.name:
            content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
            for language, code in LANGUAGES.items() if rows and "ratings" in rows[0] else ():
                yield _dataset(file.name, rows, cards[name], language, code)


def _dataset(file: str, rows: Sequence[dict[str, str]], card: DatasetCard, language: str, code: str) -> Dataset:
    quality = RATED[card.name]
    own = replace(card, name=f"{card.name}-{code}", title=f"{card.title}, in {language.capitalize()}", split="more",
                  language=code, sources=(), citation=f"{CITATION} {card.citation}",
                  dialogues=card.dialogues or card.name, size=len(rows),
                  qualities=tuple(one for one in card.qualities if one.name == quality),
                  notes="Ratings are those of the English original; no translation was rated again.")
    items, ratings = [], []
    for place, row in enumerate(rows):
        original = row.get("dialogue_id") or f"{card.name}_{place:05d}"
        name = f"{own.name}_{original.removeprefix(f'{card.name}_')}"  # so that no score is taken for both
        rating = number(row["ratings"])
        fields = [f"{language}_dial"] if card.level == "dialogue" else [f"{language}_ctx", f"{language}_res"]
        if lacking := next((field for field in fields if row.get(field) is None), None):
            raise BadRecord(file, name, lacking, "is missing; each language has its texts")
        if rating is None:
            raise BadRecord(file, name, "ratings", f"should hold a number, holds {row['ratings']!r:.60}")
        turns = lines(row[fields[0]])
        context = alternating(turns) if card.level == "turn" else tuple(
            Utterance(("first", "second")[place % 2], text) for place, text in enumerate(turns))
        response = Utterance(SYSTEM, row[fields[1]].strip()) if card.level == "turn" else None
        items.append(Item(name, context, response, language=code))
        ratings.append(Rating(name, quality, (rating,)))
    return Dataset(own, tuple(items), tuple(ratings), "imported")
