"""Correlations with human ratings as papers print them; README.md lists the sources."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

NAMES = ("dstc10", "mmecrs", "dynaeval", "deb", "yeh2021", "finedeval", "dstc11", "dstc12")


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A printed number with all its digits; percentages are divided by 100.

    A note with the word "uncertain" marks a cell whose place in the table was not read with certainty.
    """

    source: str
    table: str
    split: str
    dataset: str
    quality: str
    level: str
    metric: str
    statistic: str
    value: Decimal
    p_value: str
    significant: bool | None
    note: str


@dataclass(frozen=True, slots=True)
class DatasetSize:
    """The size of a dataset as a paper prints it; `annotations` may be rounded."""

    source: str
    table: str
    dataset: str
    split: str
    turns: int
    qualities: int
    annotations: int


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows of a paper in the order of print."""

    rows: tuple[PrintedNumber, ...]

    @classmethod
    def of(cls, name: str) -> Tables:
        return cls(table(name))

    def where(self, **fields: str | None) -> Tables:
        """Select rows by fields; a note need only contain the text."""
        return Tables(tuple(row for row in self.rows if all(
            str(value) in row.note if name == "note" else getattr(row, name) == value
            for name, value in fields.items())))

    def row(self, **fields: str) -> PrintedNumber:
        (row,) = self.where(**fields).rows
        return row

    def value(self, **fields: str | None) -> Decimal | None:
        return next((row.value for row in self.where(**fields).rows), None)

    def values(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(getattr(row, name)) for row in self.rows))


@cache
def table(name: str) -> tuple[PrintedNumber, ...]:
    return tuple(PrintedNumber(**line | {  # type: ignore[arg-type]
        "value": Decimal(line["value"]), "significant": {"yes": True, "no": False}.get(line["significant"])})
        for line in _lines(name))


@cache
def sizes() -> tuple[DatasetSize, ...]:
    """Return the dataset tables of the two papers about the challenge."""
    return tuple(DatasetSize(line["source"], line["table"], line["dataset"], line["split"], int(line["turns"]),
                             int(line["qualities"]), int(line["annotations"]))
                 for line in _lines("datasets"))


def _lines(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8").splitlines())
