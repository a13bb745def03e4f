"""The printed tables of the challenge as boards, ranked by their printed averages and under every rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from harness import published
from harness.published import PrintedNumber, Tables
from harness.run.rank import RULES, Rule, Target, borda, counted_mean, over
from harness.statistics.rank_intervals import Rank, rank

AVERAGED = {"jsalt": 1, "esl": 1, "ncm": 1, "dstc10-topical": 4, "dstc10-persona": 4}
"""Targets behind each average of Table 2: eleven in all."""

PRINTED = "printed"
"""Name of the ranking by the printed averages, next to the rankings under the rules."""


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A printed table; `rule` gives its averages, `counts` the number of targets in each average if it is printed."""

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
        """Return the ranks of the competitors under each rule, as printed, and by Borda's count."""
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
    """The first (several if tied) and the next of the competitors with all targets."""

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
    qualities = {size.dataset: size.qualities for size in published.sizes() if size.source == "dstc10"}
    yield PrintedTable("dev, 14 datasets (organisers, Table 3)", "dstc10", "Table 3", "dev", qualities)
