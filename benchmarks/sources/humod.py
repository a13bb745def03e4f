"""HUMOD (Merdivan et al. 2020): human and random replies to film dialogues, three raters each.

Upstream is a table with tabs and a header, a line for each rater of each reply; the turns of a context start with
"Speaker 1:" or "Speaker 2:". A rater also wrote a reply of their own: these are the references. In a few lines a tab
is missing before the last number. The columns used and these faults are verified against published readers, not
against a stored copy; how the column of language usage is called is not known, and it is found by its name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard, Quality, Source
from benchmarks.errors import BadRecord
from benchmarks.formats.official import alternating
from benchmarks.formats.raw import RatedRow, assemble, find, read_each
from benchmarks.sources import MIRROR, official

REPOSITORY = "https://github.com/erincmer/HUMOD"
DATA = "https://raw.githubusercontent.com/erincmer/HUMOD/master/HUMOD_Dataset.TXT"

CARDS = (
    DatasetCard(
        name="humod", title="HUMOD", split="dev", level="turn", size=9500,
        qualities=(Quality("language_usage", dimension="language usage"), Quality("relevance", 1, 5)),
        sources=(official(), MIRROR, Source(DATA, form="humod")),
        licence="not stated",
        citation="Merdivan, Singh, Hanke, Kropf, Holzinger and Geist (2020). Human Annotated Dialogues "
                 "Dataset for Natural Conversational Agents. Applied Sciences 10(3).",
        homepage=REPOSITORY,
        notes="No system is named. One response of the official file is empty (humod_08284). 3 references.",
    ),
)

COLUMNS = {"dialogue": "dialogueid", "context": "dialoguecontext", "reply": "reply", "relevance": "userrelevance",
           "language_usage": "language", "reference": "userreply"}
"""How each column that is read is found: its name in small letters is this, or else contains it."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the table; the lines of one reply are its raters."""
    file = find(path, "HUMOD_Dataset.TXT", "HUMOD*.[tT][xX][tT]")
    header, *body = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    names = header.split("\t")
    plain = [re.sub(r"[^a-z]", "", name.casefold()) for name in names]
    fitting = {wanted: sorted((name != known, place) for place, name in enumerate(plain) if known in name)
               for wanted, known in COLUMNS.items()}
    places = {wanted: columns[0][1] for wanted, columns in fitting.items() if columns}
    if missing := COLUMNS.keys() - places.keys() - {"language_usage"}:
        raise BadRecord(file.name, 0, ", ".join(sorted(missing)), f"no such column among {', '.join(names)}")
    table = (_cells(line, len(names), places["context"]) for line in body if line.strip())
    raters = itertools.groupby(table, key=lambda values: values[places["dialogue"]])
    return assemble(card, read_each(file, (list(values) for _, values in raters), lambda values: _read(values, places)))


def _read(raters: list[list[str]], places: dict[str, int]) -> Iterator[RatedRow]:
    columns = {name: [values[place] for values in raters] for name, place in places.items()}
    yield RatedRow(alternating(re.split(r"Speaker \d+:", columns["context"][0])),
                   re.sub(r"^\s*Speaker \d+:", "", columns["reply"][0]),
                   {name: list(map(float, columns[name])) for name in ("language_usage", "relevance")
                    if name in columns}, columns["reference"])


def _cells(line: str, width: int, context: int) -> list[str]:
    """The cells of a line: tabs too many belong to the context, one too few is missing before the last number."""
    values = line.split("\t")
    if len(values) == width - 1 and (merged := re.fullmatch(r"(.*\S)\s+(\d+)\s*", values[-1])):
        values[-1:] = merged.groups()
    extra = max(0, len(values) - width)
    values[context:context + extra + 1] = [" ".join(values[context:context + extra + 1])]
    return values
