"""DailyDialog++ (Sai et al., 2020): contexts with replies that are relevant, random, and adversarially irrelevant.

The development and test parts are read from upstream's `dataset/dev.json` and `dataset/test.json`, one object per line,

    {"context": [...], "positive_responses": [...], "random_negative_responses": [...],
     "adversarial_negative_responses": [...]}

or from the corpus `dailydialog_pp`, whose rows have a `split`, and `utterances` instead of `context`. A context needs
at least two relevant replies, since each is scored with the others as references.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from benchmarks.corpora import files
from benchmarks.dataset import SYSTEM, USER, Utterance
from benchmarks.errors import BadRecord

Part: TypeAlias = Literal["dev", "test"]
PARTS: tuple[Part, ...] = ("dev", "test")
URL = "https://github.com/iitmnlp/DailyDialog-plusplus"
CORPUS = "dailydialog_pp"

Kind: TypeAlias = Literal["positive", "random", "adversarial"]
FIELDS: dict[Kind, str] = {"positive": "positive_responses", "random": "random_negative_responses",
                           "adversarial": "adversarial_negative_responses"}
"""The field of each kind of reply."""


@dataclass(frozen=True, slots=True)
class Context:
    """A context with its replies by kind; `name` is its part and index."""

    name: str
    utterances: tuple[Utterance, ...]
    replies: Mapping[Kind, tuple[str, ...]]


def read(source: Path, part: Part, limit: int | None = None) -> tuple[Context, ...]:
    """Read the contexts of a part, or the first `limit` of them."""
    rows = files.objects(source / f"{part}.json") if source.is_dir() else _corpus_rows(source, part)
    contexts = tuple(_context(f"{part}_{index:05d}", where, row)
                     for index, (where, row) in enumerate(itertools.islice(rows, limit)))
    if not contexts:
        raise BadRecord(source, None, "", f"has no contexts of the part {part}")
    return contexts


def _corpus_rows(source: Path, part: Part) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where, row in files.objects(source):
        if row.get("split") == part:
            turns = row.get("utterances")
            texts = [turn.get("text") for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else turns
            yield where, {**row, "context": texts}


def _context(name: str, where: str, row: Mapping[str, Any]) -> Context:
    for field in ("context", *FIELDS.values()):
        texts = row.get(field)
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise BadRecord(where, None, field, "should be a non-empty list of strings")
    if len(row[FIELDS["positive"]]) < 2:
        raise BadRecord(where, None, FIELDS["positive"], "needs at least two, since each is scored with the others as "
                                                             "references")
    turns = tuple(Utterance(USER if (len(row["context"]) - index) % 2 else SYSTEM, text)
                  for index, text in enumerate(row["context"]))
    return Context(name, turns, {kind: tuple(row[field]) for kind, field in FIELDS.items()})
