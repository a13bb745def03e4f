"""What papers print about agreement with people, one number a row; README.md says from where.

`Tables.of("dstc10")` gives the rows of one paper, with every printed digit. `sizes()` gives what two papers print about
the challenge's datasets, which has columns of its own.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

NAMES = ("dstc10", "mmecrs", "dynaeval", "deb", "yeh2021", "finedeval")


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A printed number; percentages are divided by 100, and no printed digit is lost.

    A note with the word "uncertain" is of a cell that could not be placed with certainty when the table was read.
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
    """What a paper prints about a dataset; `annotations` may be rounded."""

    source: str
    table: str
    dataset: str
    split: str
    turns: int
    qualities: int
    annotations: int


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of a paper, found by what they are about."""

    rows: tuple[PrintedNumber, ...]

    @classmethod
    def of(cls, name: str) -> Tables:
        """All tables of a paper, in the order of print."""
        return cls(table(name))

    def where(self, **wanted: str | None) -> Tables:
        """The rows with these fields; the note need only contain what is wanted of it."""
        return Tables(tuple(row for row in self.rows if all(
            str(value) in row.note if field == "note" else getattr(row, field) == value
            for field, value in wanted.items())))

    def row(self, **wanted: str) -> PrintedNumber:
        """The only row with these fields."""
        (row,) = self.where(**wanted).rows
        return row

    def value(self, **wanted: str | None) -> Decimal | None:
        """The first value with these fields, if there is one."""
        return next((row.value for row in self.where(**wanted).rows), None)

    def values(self, field: str) -> tuple[str, ...]:
        """The different values of a field, in the order of print."""
        return tuple(dict.fromkeys(str(getattr(row, field)) for row in self.rows))


@cache
def table(name: str) -> tuple[PrintedNumber, ...]:
    """The rows of one paper, in the order of print."""
    return tuple(PrintedNumber(**line | {  # type: ignore[arg-type]
        "value": Decimal(line["value"]), "significant": {"yes": True, "no": False}.get(line["significant"])})
        for line in _lines(name))


@cache
def sizes() -> tuple[DatasetSize, ...]:
    """The dataset tables of the two papers about the challenge."""
    return tuple(DatasetSize(line["source"], line["table"], line["dataset"], line["split"], int(line["turns"]),
                             int(line["qualities"]), int(line["annotations"]))
                 for line in _lines("datasets"))


def _lines(name: str) -> Iterator[dict[str, str]]:
    text = files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())
