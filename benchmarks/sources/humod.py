"""HUMOD (Merdivan et al. 2020): human and random replies to film dialogues, three raters each.

Upstream is a table with tabs and a header, a line for each rater of each reply; the turns of a context start with
"Speaker 1:" or "Speaker 2:". Each rater also wrote a reply: these are the references. In a few lines a tab is missing
before the last number. The columns and these faults are verified against published readers, not a stored copy; the
column of language usage is found by part of its name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.errors import BadRecord
from benchmarks.formats.official import alternating
from benchmarks.sources import RatedRow, assemble, find, read_each

COLUMNS = {"dialogue": "dialogueid", "context": "dialoguecontext", "reply": "reply", "relevance": "userrelevance",
           "language_usage": "language", "reference": "userreply"}
"""The lower-case name of each column, or a part of it."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the table; the lines of one reply are its raters."""
    file = find(path, "HUMOD_Dataset.TXT", "HUMOD*.[tT][xX][tT]")
    header, *body = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    names = header.split("\t")
    plain = [re.sub(r"[^a-z]", "", name.casefold()) for name in names]
    columns: dict[str, int] = {}
    for field, part in COLUMNS.items():
        if fitting := sorted((name != part, column) for column, name in enumerate(plain) if part in name):
            columns[field] = fitting[0][1]
        elif field != "language_usage":
            raise BadRecord(file.name, 0, field, f"no such column among {', '.join(names)}")

    def read(raters: list[list[str]]) -> Iterator[RatedRow]:
        cells = {name: [values[column] for values in raters] for name, column in columns.items()}
        yield RatedRow(alternating(re.split(r"Speaker \d+:", cells["context"][0])),
                       re.sub(r"^\s*Speaker \d+:", "", cells["reply"][0]),
                       {name: list(map(float, cells[name])) for name in ("language_usage", "relevance")
                        if name in cells}, cells["reference"])

    table = (_cells(line, len(names), columns["context"]) for line in body if line.strip())
    groups = itertools.groupby(table, key=lambda values: values[columns["dialogue"]])
    return assemble(card, read_each(file, (list(raters) for _, raters in groups), read))


def _cells(line: str, width: int, context: int) -> list[str]:
    """Return the cells of a line: surplus tabs belong to the context, a missing one to the last number."""
    values = line.split("\t")
    if len(values) == width - 1 and (merged := re.fullmatch(r"(.*\S)\s+(\d+)\s*", values[-1])):
        values[-1:] = merged.groups()
    extra = max(0, len(values) - width)
    values[context:context + extra + 1] = [" ".join(values[context:context + extra + 1])]
    return values
