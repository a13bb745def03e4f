"""Correlations with human ratings that papers report; README.md lists the sources.

The tables of the challenge are boards too, ranked by their published averages and under every rule.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from harness.run.rank import RULES, Rule, Target, borda, counted_mean, over
from harness.statistics.rank_intervals import Rank, rank

NAMES = ("dstc10", "mmecrs", "dynaeval", "deb", "yeh2021", "finedeval", "dstc11", "dstc12")
AVERAGED = {"jsalt": 1, "esl": 1, "ncm": 1, "dstc10-topical": 4, "dstc10-persona": 4}
"""The number of targets behind each average of Table 2, eleven in all."""

PRINTED = "printed"
"""Name of the ranking by the published averages, next to the rankings under the rules."""


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A published number with all its digits; percentages are divided by 100.

    A note with the word "uncertain" marks a cell whose position in the table could not be read with certainty.
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
    """The size of a dataset as a paper reports it; `annotations` may be rounded."""

    source: str
    table: str
    dataset: str
    split: str
    turns: int
    qualities: int
    annotations: int


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows of a paper's tables, in the order of the paper."""

    rows: tuple[PrintedNumber, ...]

    @classmethod
    @cache
    def of(cls, name: str) -> Tables:
        return cls(tuple(PrintedNumber(**line | {  # type: ignore[arg-type]
            "value": Decimal(line["value"]), "significant": {"yes": True, "no": False}.get(line["significant"])})
            for line in _lines(name)))

    def where(self, **fields: str | None) -> Tables:
        """Select rows by fields; `note` matches any note that contains it."""
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
def sizes() -> tuple[DatasetSize, ...]:
    """Return the dataset tables of the two papers about the challenge."""
    return tuple(DatasetSize(line["source"], line["table"], line["dataset"], line["split"], int(line["turns"]),
                             int(line["qualities"]), int(line["annotations"]))
                 for line in _lines("datasets"))


def _lines(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8").splitlines())


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A published table; `rule` gives its averages, `counts` the number of targets in cells that are averages."""

    name: str
    source: str
    table: str
    rule: str
    counts: Mapping[str, int]

    @property
    def numbers(self) -> tuple[PrintedNumber, ...]:
        return tuple(row for row in self._rows if row.dataset != "all")

    @property
    def _rows(self) -> tuple[PrintedNumber, ...]:
        return Tables.of(self.source).where(table=self.table).rows

    def ranks(self) -> dict[str, dict[str, Rank]]:
        """Return the ranks of the competitors by the published averages, under each rule, and by Borda's count."""
        averages = {row.metric: float(row.value) for row in self._rows if row.dataset == "all"}
        rows: dict[str, dict[Target, float]] = {row.metric: {} for row in self._rows}
        for row in self.numbers:
            rows[row.metric][row.dataset, row.quality] = float(row.value)
        return {PRINTED: rank(averages), **ranks_of(rows, self.counts)}


def ranks_of(rows: Mapping[str, Mapping[Target, float]], counts: Mapping[str, int]) -> dict[str, dict[str, Rank]]:
    targets = frozenset(target for row in rows.values() for target in row)
    rules: dict[str, Rule] = {**RULES, "test": counted_mean(counts)} if counts else RULES
    ranks = {name: rank({competitor: over(rules[name], row, targets) for competitor, row in rows.items()})
             for name in ("test", "dev")}
    return {**ranks, "borda": rank(borda(rows, targets))}


class Winner(NamedTuple):
    """The winner (several if tied) and the runner-up, among the competitors with all targets."""

    first: tuple[str, ...]
    value: float
    second: str
    runner_up: float
    competitors: int


def winner(ranks: Mapping[str, Rank]) -> Winner:
    complete = {name: standing for name, standing in ranks.items() if standing.rank is not None}
    first = tuple(name for name, standing in complete.items() if standing.rank == 1)
    rest = {name: standing.value for name, standing in complete.items() if name not in first}
    second = max(rest, key=lambda name: rest[name], default="")
    return Winner(first, complete[first[0]].value, second, rest.get(second, math.nan), len(complete))


def boards() -> Iterator[PrintedTable]:
    """Yield the tables on which a winner can be named."""
    yield PrintedTable("test, 5 datasets (organisers, Table 2)", "dstc10", "Table 2", "test", AVERAGED)
    yield PrintedTable("test, 11 cells (MME-CRS, Table 3)", "mmecrs", "Table 3", "test", {})
    qualities = {size.dataset: size.qualities for size in sizes() if size.source == "dstc10"}
    yield PrintedTable("dev, 14 datasets (organisers, Table 3)", "dstc10", "Table 3", "dev", qualities)
