"""Correlations with human ratings that papers report; README.md lists the sources.

The tables of the challenge are boards too, ranked by their published averages and under every rule.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files

from harness.run.rank import RULES, Target, borda, cell_weights, mean
from harness.statistics.rank_intervals import Rank, rank

NAMES = ("dstc10", "mmecrs", "dynaeval", "deb", "yeh2021", "finedeval", "dstc11", "dstc12")
TEST_SETS = ("jsalt", "esl", "ncm", "dstc10-topical", "dstc10-persona")
"""The test datasets of DSTC10 Track 5, with eleven qualities in all."""

PRINTED = "printed"  # name of the ranking by the published averages, next to the rankings under the rules


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
    """The size of a dataset as the organisers report it; `annotations` may be rounded."""

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

    def first(self, **fields: str | None) -> PrintedNumber | None:
        return next(iter(self.where(**fields).rows), None)

    def values(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(getattr(row, name)) for row in self.rows))


@cache
def sizes() -> dict[str, DatasetSize]:
    """Return the organisers' table of the datasets of the challenge."""
    return {line["dataset"]: DatasetSize(int(line["turns"]), int(line["qualities"]), int(line["annotations"]))
            for line in _lines("datasets") if line["source"] == "dstc10"}


def _lines(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(files(__name__).joinpath(f"{name}.csv").read_text(encoding="utf-8").splitlines())


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A published table whose averages are by `rule`; the organisers' cells are averages over a dataset's qualities."""

    name: str
    source: str
    table: str
    rule: str

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
        counts = {name: size.qualities for name, size in sizes().items()} if self.source == "dstc10" else {}
        return {PRINTED: rank(averages), **ranks_of(rows, counts)}


def ranks_of(rows: Mapping[str, Mapping[Target, float]], counts: Mapping[str, int]) -> dict[str, dict[str, Rank]]:
    targets = frozenset(target for row in rows.values() for target in row)
    """Rank under every rule; `counts` is the number of qualities behind each cell, if a cell is their average."""
    weights = {rule: cell_weights(targets, rule) for rule in reversed(RULES)}
    if counts:
        weights["test"] = {target: counts[target[0]] for target in targets}
    ranks = {rule: rank({name: mean(row, weight) for name, row in rows.items()}) for rule, weight in weights.items()}
    return {**ranks, "borda": rank(borda(rows, targets))}


def boards() -> Iterator[PrintedTable]:
    """Yield the tables on which a winner can be named."""
    yield PrintedTable("test, 5 datasets (organisers, Table 2)", "dstc10", "Table 2", "test")
    yield PrintedTable("test, 11 cells (MME-CRS, Table 3)", "mmecrs", "Table 3", "test")
    yield PrintedTable("dev, 14 datasets (organisers, Table 3)", "dstc10", "Table 3", "dev")
