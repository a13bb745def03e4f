"""xDial-Eval (Zhang et al., Findings of EMNLP 2023): nine rated datasets in English and nine machine translations.

Upstream is a CSV for each dataset, NAME.csv or NAME.csv.gz, with `LANGUAGE_ctx` and `LANGUAGE_res` for each language
(`LANGUAGE_dial` for whole dialogues), one turn per line, and `ratings`, the mean of one quality. Ids are in
`dialogue_id`; without it, rows are numbered. Speakers are not named, so turns alternate. Verified against the
published files, with ids added.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.dataset import SYSTEM, Dataset, DatasetCard, Item, Rating, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats.official import alternating, lines, vote
from benchmarks.sources.rows import expected_format
from benchmarks.storage.archive import decompressed

CITATION = ("Zhang, D'Haro, Tang, Shi, Tang and Li (2023). xDial-Eval: A Multilingual Open-Domain Dialogue Evaluation "
            "Benchmark. Findings of EMNLP.")
LANGUAGES = {"arabic": "ar", "chinese": "zh", "english": "en", "french": "fr", "german": "de", "hindi": "hi",
             "japanese": "ja", "korean": "ko", "russian": "ru", "spanish": "es"}
QUALITY = {"convai2-grade": "relevance", "dailydialog-grade": "relevance", "empathetic-grade": "relevance",
           "dailydialog-gupta": "overall", "dailydialog-zhao": "appropriateness", "persona-zhao": "appropriateness",
           "persona-usr": "Maintains Context", "fed-turn": "Overall", "fed-dial": "Overall"}
"""The quality of each dataset whose mean is in `ratings`."""
MAX_BYTES = 1 << 24  # maximum bytes of a decompressed file, four times the largest published one


def translations(files: Mapping[str, Path], cards: dict[str, DatasetCard]) -> Iterator[tuple[Path, Dataset]]:
    for name in QUALITY:
        if file := files.get(f"{name}.csv") or files.get(f"{name}.csv.gz"):
            content = io.BytesIO(decompressed(file, limit=MAX_BYTES))
            with expected_format(file.name):
                rows = list(csv.DictReader(io.TextIOWrapper(content, encoding="utf-8", newline="")))
            for language in LANGUAGES if rows and "ratings" in rows[0] else ():
                yield file, _dataset(file.name, rows, cards[name], language)


def _dataset(file: str, rows: Sequence[dict[str, str]], original: DatasetCard, language: str) -> Dataset:
    code, quality = LANGUAGES[language], QUALITY[original.name]
    card = replace(original, name=f"{original.name}-{code}", title=f"{original.title}, in {language.capitalize()}",
                   split="more", language=code, sources=(), citation=f"{CITATION} {original.citation}",
                   dialogues=original.dialogues or original.name,
                   qualities=tuple(candidate for candidate in original.qualities if candidate.name == quality),
                   notes="Ratings are those of the English original; translations were not rated.")
    turn_level = card.level == "turn"
    fields = [f"{language}_ctx", f"{language}_res"] if turn_level else [f"{language}_dial"]
    items: dict[str, Item] = {}
    ratings = []
    for index, row in enumerate(rows):
        original_id = row.get("dialogue_id") or f"{original.name}_{index:05d}"
        name = f"{card.name}_{original_id.removeprefix(f'{original.name}_')}"  # so that no score file matches both
        if missing := next((field for field in fields if row.get(field) is None), None):
            raise BadRecord(file, name, missing, "is missing; expected the texts of each language")
        if name in items:
            raise BadRecord(file, name, "dialogue_id", "occurs twice")
        try:
            rating = vote(row["ratings"])
        except ValueError as error:
            raise BadRecord(file, name, "ratings", str(error)) from error
        turns = lines(row[fields[0]])
        context = alternating(turns) if turn_level else tuple(
            Utterance(("first", "second")[turn % 2], text) for turn, text in enumerate(turns))
        response = Utterance(SYSTEM, row[fields[1]].strip()) if turn_level else None
        items[name] = Item(name, context, response, language=code)
        ratings.append(Rating(name, quality, (rating,)))
    return Dataset(card, tuple(items.values()), tuple(ratings), "imported")
