"""A report beside an earlier one, cell by cell: what moved, how far and why, what is new and what is gone.

A cell is a column on a quality of a dataset, by Spearman. The sample and real data of the same name are two datasets,
so that no number made by the script is ever held against people's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from harness.results.rows import Correlation, RankingRow, Results
from leaderboard.model.boards import Board, boards, names
from leaderboard.model.causes import Cause, Causes, causes, kinds
from leaderboard.model.index import Index, Key, make_index, ordered, origin_of, there
from leaderboard.model.signatures import Kind

SHOWN = 0.0005
"""Below this a difference does not show in three decimals."""

Cell: TypeAlias = tuple[str, str, str, str, str]
"""Origin, dataset, quality, metric and column."""


@dataclass(frozen=True, slots=True)
class Move:
    """A cell that has a value in both reports, another one; `own` are the causes that are the cell's own."""

    origin: str
    old: Correlation
    new: Correlation
    own: tuple[Cause, ...]
    kinds: tuple[Kind, ...]
    unexplained: bool
    """Whether nothing is known to differ: the same inputs, another number."""

    @property
    def key(self) -> Key:
        """The metric and its column."""
        return self.new.metric, self.new.column

    @property
    def difference(self) -> float:
        """How much higher it is now."""
        return self.new.value - self.old.value

    @property
    def shown(self) -> bool:
        """Whether the difference is seen in three decimals."""
        return abs(self.difference) >= SHOWN

    @property
    def beyond(self) -> bool | None:
        """Whether the new value lies outside the old 95 % interval; None where there was none."""
        if not (math.isfinite(self.old.low) and math.isfinite(self.old.high)):
            return None
        return not self.old.low <= self.new.value <= self.old.high


@dataclass(frozen=True, slots=True)
class Gap:
    """A cell that has a value in one of the reports only, and why the other has none."""

    origin: str
    row: Correlation
    why: str


@dataclass(frozen=True, slots=True)
class Shift:
    """A column that has a rank on a board then and now; `up` are the places it rose among such columns."""

    key: Key
    old: RankingRow
    new: RankingRow
    up: int

    @property
    def moved(self) -> bool:
        """Whether its place among the others or its average as shown differs."""
        return self.up != 0 or abs(self.old.value - self.new.value) >= SHOWN


@dataclass(frozen=True, slots=True)
class Ranking:
    """A board then and now: the columns with a rank on both, those with one now only, and then only."""

    board: Board
    shifts: tuple[Shift, ...]
    entered: tuple[tuple[Key, RankingRow], ...]
    left: tuple[tuple[Key, RankingRow], ...]
    cells: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that differs between two reports."""

    statistic: str
    causes: Causes
    common: int
    moves: tuple[Move, ...]
    appeared: tuple[Gap, ...]
    gone: tuple[Gap, ...]
    rankings: tuple[Ranking, ...]
    metrics: tuple[tuple[str, ...], tuple[str, ...]]
    datasets: tuple[tuple[str, ...], tuple[str, ...]]
    """Names that are new, and names that are gone."""

    @property
    def unexplained(self) -> tuple[Move, ...]:
        """The cells with the same inputs and another number."""
        return tuple(move for move in self.moves if move.unexplained)


def changes(before: Results, results: Results) -> Changes:
    """Hold a report against an earlier one."""
    statistic = ordered({row.statistic for row in (*before.correlations, *results.correlations)})[:1]
    old, new = _cells(before, statistic), _cells(results, statistic)
    found = causes(before, results)
    moves = (_move(cell[0], old[cell], new[cell], found) for cell in old.keys() & new.keys()
             if old[cell].value != new[cell].value)
    return Changes(
        statistic="".join(statistic), causes=found, common=len(old.keys() & new.keys()),
        moves=tuple(sorted(moves, key=lambda move: (-abs(move.difference), _order(move.new)))),
        appeared=_gaps(new, old, _reasons(before, statistic)), gone=_gaps(old, new, _reasons(results, statistic)),
        rankings=tuple(_rankings(before, results)),
        metrics=_names(before, results, lambda one: {entry.name for entry in one.metrics}),
        datasets=_names(before, results, _data))


def _cells(results: Results, statistic: Iterable[str]) -> dict[Cell, Correlation]:
    wanted = set(statistic)
    origin = {entry.name: origin_of(entry) for entry in results.datasets}
    return {(origin[row.dataset], row.dataset, row.quality, row.metric, row.column): row
            for row in results.correlations if row.statistic in wanted and there(row)}


def _move(origin: str, old: Correlation, new: Correlation, found: Causes) -> Move:
    own = found.own(new.dataset, new.metric)
    every = kinds((*own, *found.run))
    return Move(origin, old, new, own, every, unexplained=not own and not _could(found.run))


def _could(run: Iterable[Cause]) -> bool:
    """Whether what differs in the whole run could move a value: code or environment, no choice of what to run."""
    return any(cause.kind != "options" for cause in run)


def _gaps(there_in: Mapping[Cell, Correlation], not_in: Mapping[Cell, Correlation],
          why: Callable[[Cell], str]) -> tuple[Gap, ...]:
    gone = sorted(there_in.keys() - not_in.keys())
    return tuple(Gap(cell[0], there_in[cell], why(cell)) for cell in gone)


def _reasons(results: Results, statistic: Iterable[str]) -> Callable[[Cell], str]:
    """Say why a report has no value for a cell."""
    index = make_index(results)
    first = "".join(statistic)
    origins = {entry.name: origin_of(entry) for entry in index.datasets}
    qualities = {(entry.name, one.name) for entry in index.datasets for one in entry.qualities}
    metrics = {entry.name: entry.columns for entry in results.metrics}

    def why(cell: Cell) -> str:
        origin, dataset, quality, metric, column = cell
        if origins.get(dataset) != origin:
            return _absent(index, dataset, origin, dataset in origins)
        if (dataset, quality) not in qualities:
            return "the quality is not in that run"
        if metric not in metrics:
            return "the metric is not in that run"
        return index.why(dataset, quality, (metric, column), first)

    return why


def _absent(index: Index, dataset: str, origin: str, other: bool) -> str:
    if other:
        return f"that run has {'real data' if origin == 'sample' else 'the bundled sample'} under this name"
    reasons = {skip.reason for skip in index.results.skips if skip.dataset == dataset}
    return "; ".join(("the dataset is not in that run", *sorted(reasons)))


def _rankings(before: Results, results: Results) -> Iterable[Ranking]:
    for name, origin in names(results):
        now = boards(results, name, origin)[0]
        then = next((one for one in boards(before, name, origin)[:1] if one.statistic == now.statistic), None)
        if then is None or now.rules[0] not in then.rules:
            continue
        old, new = _complete(then, now.rules[0]), _complete(now, now.rules[0])
        first, second = ({key: one[key] for key in one if key in old and key in new} for one in (old, new))
        yield Ranking(
            now, tuple(Shift(key, old[key], new[key], _place(first, key) - _place(second, key)) for key in second),
            tuple((key, row) for key, row in new.items() if key not in old),
            tuple((key, row) for key, row in old.items() if key not in new), (_width(then), _width(now)))


def _complete(board: Board, rule: str) -> dict[Key, RankingRow]:
    """The columns with a rank, from the first."""
    return {key: row for key in board.keys if (row := board.complete(rule, key)) is not None}


def _place(rows: Mapping[Key, RankingRow], key: Key) -> int:
    """The place of a column among others."""
    return sum((row.rank or 0) < (rows[key].rank or 0) for row in rows.values())


def _width(board: Board) -> int:
    return max((row.cells for row in board.ranking.values()), default=0)


def _names(before: Results, results: Results, listed: Callable[[Results], set[str]],
           ) -> tuple[tuple[str, ...], tuple[str, ...]]:
    old, new = listed(before), listed(results)
    return tuple(sorted(new - old)), tuple(sorted(old - new))


def _data(results: Results) -> set[str]:
    return {f"{entry.name} (sample)" if origin_of(entry) == "sample" else entry.name for entry in results.datasets}


def _order(row: Correlation) -> tuple[str, str, str, str]:
    return row.metric, row.column, row.dataset, row.quality
