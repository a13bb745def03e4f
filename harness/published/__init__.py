"""What papers print about agreement with people, one number a row; README.md says from where.

`table("dstc10")` gives the rows of one paper, with every printed digit. `sizes()` gives what two papers print about the
challenge's datasets, which has columns of its own.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

NAMES = ("dstc10", "mmecrs", "dynaeval", "deb", "yeh2021", "finedeval")


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A printed number; percentages are divided by 100, and no printed digit is lost."""

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

    @property
    def uncertain(self) -> bool:
        """Whether the cell could not be placed with certainty when the table was read."""
        return "uncertain" in self.note


@dataclass(frozen=True, slots=True)
class DatasetSize:
    """What a paper prints about a dataset; `annotations` may be rounded to a multiple of `unit`."""

    source: str
    table: str
    dataset: str
    split: str
    turns: int
    qualities: int
    annotations: int
    unit: int


@cache
def table(name: str) -> tuple[PrintedNumber, ...]:
    """The rows of one paper, in the order of print."""
    return tuple(_row(line) for line in _lines(name))


@cache
def sizes() -> tuple[DatasetSize, ...]:
    """The dataset tables of the two papers about the challenge."""
    return tuple(DatasetSize(line["source"], line["table"], line["dataset"], line["split"], int(line["turns"]),
                      int(line["qualities"]), int(line["annotations"]), _unit(line["note"]))
                 for line in _lines("datasets"))


def _lines(name: str) -> Iterator[dict[str, str]]:
    text = files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())


def _row(line: dict[str, str]) -> PrintedNumber:
    return PrintedNumber(line["source"], line["table"], line["split"], line["dataset"], line["quality"], line["level"],
               line["metric"], line["statistic"], Decimal(line["value"]), line["p_value"],
               {"yes": True, "no": False}.get(line["significant"]), line["note"])


def _unit(note: str) -> int:
    """1 for a count printed in full, 100 for 5.4K, 1000 for 400K."""
    found = re.search(r"printed as \d+(?:\.(\d+))?K", note)
    return 10 ** (3 - len(found[1] or "")) if found else 1
