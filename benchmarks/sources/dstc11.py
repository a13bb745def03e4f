"""DSTC11 Track 4: the development datasets of DSTC10 in Spanish and Chinese, and translated back into English.

In the release, beside the organisers' JSON (`metadata/dev/en/NAME/NAME_eval.json`), a table for each dataset:

    task1/dev/en_es/NAME_multilingual_en_es.csv   UID, SID, SEG, TRANSLATION, ...
    task1/dev/en_zh/NAME_multilingual_en_zh.csv   the same
    task2/dev/NAME_paraphrases.csv                UID, SID, SEG, BACKTRANSLATION, ...

with a row for each turn of each record in the order of the JSON, context before response; records without annotations
or with an empty response have none. SEG is the English turn and must be the record's. Votes are those of the JSON.

Written by the organisers' description of the files and never run on them. Not read: paraphrases, of which there are
several for a turn, and the Chinese dialogues of CDial, whose annotations are not described.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard, Item, Utterance
from benchmarks.errors import BadRecord
from benchmarks.sources import renamed, translated

CITATION = ("Rodríguez-Cantelar, Zhang, Tang, Shi, Ghazarian, Sedoc, D'Haro and Rudnicky (2023). Overview of Robust "
            "and Multilingual Automatic Evaluation Metrics for Open-Domain Dialogue Systems at DSTC 11 Track 4.")
TABLES = {"_multilingual_en_es.csv": ("es", "es", "in Spanish", "TRANSLATION"),
          "_multilingual_en_zh.csv": ("zh", "zh", "in Chinese", "TRANSLATION"),
          "_paraphrases.csv": ("back", "en", "translated back into English", "BACKTRANSLATION")}
"""By the end of a file's name: what the dataset's name gets, its language, its title, the column of its texts."""
MARKS = ("User: ", "System: ")


def translations(files: Sequence[Path], originals: Mapping[str, Dataset]) -> Iterator[Dataset]:
    """Every dataset of the release whose table and English original are there."""
    for file in files:
        for ending, (suffix, language, how, column) in TABLES.items():
            original = originals.get(file.name.removesuffix(ending))
            if file.name.endswith(ending) and original:
                card = translated(original.card, f"{original.card.name}-dstc11-{suffix}", language,
                                  f"{how} (DSTC11)", CITATION)
                yield _dataset(file, column, original, card)


def _dataset(file: Path, column: str, original: Dataset, card: DatasetCard) -> Dataset:
    """The dataset with the texts of a table in place of its own, turn by turn."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.DictReader(stream)
        if lacking := {"UID", "SEG", column} - set(reader.fieldnames or ()):
            raise BadRecord(file.name, None, min(lacking), "is no column of the table")
        turns = ((f"{file.name}, line {reader.line_num}", row["SEG"], row[column]) for row in reader)
        rated = {rating.item for rating in original.ratings if rating.votes}
        ids = {item.id: renamed(item.id, original.card.name, card.name) for item in original.items
               if item.id in rated and (item.response is None or item.response.text)}
        items = tuple(replace(_item(file.name, item, column, turns), id=ids[item.id], language=card.language)
                      for item in original.items if item.id in ids)
        if extra := next(turns, None):
            raise BadRecord(extra[0], None, "SEG", f"{extra[1]!r:.60} is of no record of {original.card.name}")
    ratings = tuple(replace(rating, item=ids[rating.item]) for rating in original.ratings if rating.item in ids)
    return Dataset(replace(card, size=len(items)), items, ratings, original.origin)


def _item(file: str, item: Item, column: str, turns: Iterator[tuple[str, str, str]]) -> Item:
    said = []
    for turn in item.utterances:
        where, english, text = next(turns, (file, "", ""))
        if _plain(english) != _plain(turn.text):
            raise BadRecord(where, None, "SEG", f"should be {turn.text!r:.60} of record {item.id}, is {english!r:.60}")
        if not text.strip():
            raise BadRecord(where, None, column, f"is empty; it should be the text of record {item.id}")
        said.append(Utterance(turn.speaker, _unmarked(text)))
    context, response = (said, None) if item.response is None else (said[:-1], said[-1])
    return Item(item.id, tuple(context), response, system=item.system)


def _plain(text: str) -> str:
    return " ".join(_unmarked(text).split())


def _unmarked(text: str) -> str:
    return next((text.strip().removeprefix(mark) for mark in MARKS if text.strip().startswith(mark)), text).strip()
