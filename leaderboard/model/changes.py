"""Results beside earlier ones: which correlations changed, how far and why, which are new and which are gone.

Compared is Spearman. The sample and real data of the same name are two datasets, so that no number made by the script
is ever compared with people's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from harness.results.rows import Correlation, RankingRow, Results
from leaderboard.model.boards import Board, boards, names
from leaderboard.model.causes import Cause, Causes, Kind, causes, kinds
from leaderboard.model.index import Column, has_value, make_index, ordered

VISIBLE = 0.0005
"""Below this a difference does not show in three decimals."""

Key: TypeAlias = tuple[str, str, str, str, str]
"""Origin, dataset, quality, metric and column."""
Ranked: TypeAlias = tuple[tuple[Column, RankingRow], ...]
Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A correlation that differs between two results; `own` are the causes in its dataset, metric or options."""

    origin: str
    old: Correlation
    new: Correlation
    own: tuple[Cause, ...]
    kinds: tuple[Kind, ...]
    unexplained: bool
    """Whether nothing is known to differ: the same inputs, another number."""

    @property
    def column(self) -> Column:
        """The metric and its column."""
        return self.new.metric, self.new.column

    @property
    def difference(self) -> float:
        """How much higher the value is now."""
        return self.new.value - self.old.value

    @property
    def visible(self) -> bool:
        """Whether the difference shows in three decimals."""
        return abs(self.difference) >= VISIBLE

    @property
    def beyond(self) -> bool | None:
        """Whether the new value lies outside the old 95 % interval; None where there was none."""
        if not (math.isfinite(self.old.low) and math.isfinite(self.old.high)):
            return None
        return not self.old.low <= self.new.value <= self.old.high


@dataclass(frozen=True, slots=True)
class OneSided:
    """A correlation that only one of the results has, and why the other lacks it."""

    origin: str
    row: Correlation
    why: str


@dataclass(frozen=True, slots=True)
class RankChange:
    """A column that has a rank on a board in both results; `up` are the places it rose among such columns."""

    column: Column
    old: RankingRow
    new: RankingRow
    up: int

    @property
    def visible(self) -> bool:
        """Whether its place among the others or its average as shown differs."""
        return self.up != 0 or abs(self.old.value - self.new.value) >= VISIBLE


@dataclass(frozen=True, slots=True)
class BoardChange:
    """A board in both results: the columns ranked in both, those ranked only now, and only earlier."""

    board: Board
    rows: tuple[RankChange, ...]
    entered: Ranked
    left: Ranked
    targets: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that differs between two results; metrics and datasets: the names that are new, and that are gone."""

    statistic: str
    causes: Causes
    common: int
    changed: tuple[Change, ...]
    new: tuple[OneSided, ...]
    gone: tuple[OneSided, ...]
    boards: tuple[BoardChange, ...]
    metrics: tuple[Names, Names]
    datasets: tuple[Names, Names]

    @property
    def unexplained(self) -> tuple[Change, ...]:
        """The correlations with the same inputs and another number."""
        return tuple(change for change in self.changed if change.unexplained)


def changes(before: Results, results: Results) -> Changes:
    """Compare results with earlier ones."""
    statistic = "".join(ordered({row.statistic for row in (*before.correlations, *results.correlations)})[:1])
    old, new = _values(before, statistic), _values(results, statistic)
    differ = causes(before, results)
    changed = (_change(key[0], old[key], new[key], differ) for key in old.keys() & new.keys()
               if old[key].value != new[key].value)
    metrics, metrics_before = ({entry.name for entry in run.metrics} for run in (results, before))
    datasets, datasets_before = (
        {f"{entry.name} (sample)" if entry.kind == "sample" else entry.name for entry in run.datasets}
        for run in (results, before))
    return Changes(
        statistic=statistic, causes=differ, common=len(old.keys() & new.keys()),
        changed=tuple(sorted(changed, key=lambda change: (
            -abs(change.difference), change.column, change.new.dataset, change.new.quality))),
        new=_one_sided(new, old, before, statistic), gone=_one_sided(old, new, results, statistic),
        boards=tuple(_boards(before, results)),
        metrics=(tuple(sorted(metrics - metrics_before)), tuple(sorted(metrics_before - metrics))),
        datasets=(tuple(sorted(datasets - datasets_before)), tuple(sorted(datasets_before - datasets))))


def _values(results: Results, statistic: str) -> dict[Key, Correlation]:
    origin = {entry.name: entry.kind for entry in results.datasets}
    return {(origin[row.dataset], row.dataset, row.quality, row.metric, row.column): row
            for row in results.correlations if row.statistic == statistic and has_value(row)}


def _change(origin: str, old: Correlation, new: Correlation, differ: Causes) -> Change:
    """Explain a change; what was chosen to run, an option of the whole run, cannot change a value."""
    own = differ.own(new.dataset, new.metric)
    unexplained = not own and all(cause.kind == "options" for cause in differ.run)
    return Change(origin, old, new, own, kinds((*own, *differ.run)), unexplained)


def _one_sided(rows: Mapping[Key, Correlation], others: Mapping[Key, Correlation], lacking: Results,
               statistic: str) -> tuple[OneSided, ...]:
    """List what only one of two results has, with the reason why the other lacks it."""
    index = make_index(lacking)
    origins = {entry.name: entry.kind for entry in index.datasets}
    targets = {(entry.name, quality.name) for entry in index.datasets for quality in entry.qualities}
    metrics = {entry.name for entry in lacking.metrics}

    def why(key: Key) -> str:
        origin, dataset, quality, metric, column = key
        if dataset not in origins:
            reasons = {skip.reason for skip in lacking.skips if skip.dataset == dataset}
            return "; ".join(("the dataset is not in that run", *sorted(reasons)))
        if origins[dataset] != origin:
            return f"that run has {'real data' if origin == 'sample' else 'the bundled sample'} under this name"
        if (dataset, quality) not in targets:
            return "the quality is not in that run"
        if metric not in metrics:
            return "the metric is not in that run"
        return index.why((dataset, quality), (metric, column), statistic)

    return tuple(OneSided(key[0], rows[key], why(key)) for key in sorted(rows.keys() - others.keys()))


def _boards(before: Results, results: Results) -> Iterable[BoardChange]:
    for name in names(results):
        now = boards(results, name)[0]
        then = next((board for board in boards(before, name)[:1] if board.statistic == now.statistic), None)
        if then is None or now.rules[0] not in then.rules:
            continue
        old, new = ({column: row for column in board.columns if (row := board.row(column, now.rules[0])) is not None}
                    for board in (then, now))
        first, second = ({column: rows[column].rank or 0 for column in rows if column in old and column in new}
                         for rows in (old, new))
        ups = {column: sum(rank < first[column] for rank in first.values())
               - sum(rank < second[column] for rank in second.values()) for column in second}
        earlier, own = (max((row.targets for row in board.ranking.values()), default=0) for board in (then, now))
        yield BoardChange(
            now, tuple(RankChange(column, old[column], new[column], up) for column, up in ups.items()),
            tuple((column, row) for column, row in new.items() if column not in old),
            tuple((column, row) for column, row in old.items() if column not in new),
            (earlier, own))
