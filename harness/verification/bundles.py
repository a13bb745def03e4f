"""Compute the numbers of a bundle again, and report differences above 0.001.

    scores of the bundle and ratings here    ->  correlations, their intervals and p
    these, or else the packed correlations   ->  values on the boards, ranks among all their packed rows

A dataset is here if its items and ratings have the fingerprints of the bundle. No name in a bundle loads a path or
another library, and no model is fetched for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from benchmarks.formats import private
from benchmarks.storage.store import ratings_fingerprint
from harness.bundle import Bundle
from harness.results.differences import apart
from harness.results.rows import BoardId, Correlation, RankingRow
from harness.run import correlate, plan
from harness.run.correlate import Judged
from harness.run.rank import RULES, Target, by_column, over, unseen
from harness.statistics.panel import Codes
from harness.statistics.rank_intervals import rank

TOLERANCE = 0.001
VALUES = ("value", "p", "low", "high", "n")
"""Fields of a correlation that are computed again; `corrected` depends on the ratings only."""


class Mismatch(NamedTuple):
    """A difference between the bundle and this installation."""

    where: str
    packed: str
    here: str


class BoardPlace(NamedTuple):
    """A recomputed row of a board among `of` ranked ones, with `again` of its correlations computed again."""

    row: RankingRow
    of: int
    again: int


@dataclass(slots=True)
class Checked:
    """The datasets of a bundle that are here, its differences, and the numbers that could be computed again."""

    bundle: Bundle
    here: dict[str, Dataset] = field(default_factory=dict)
    not_here: dict[str, str] = field(default_factory=dict)
    drifts: list[Mismatch] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    rescored: dict[str, int] = field(default_factory=dict)
    not_rescored: dict[str, str] = field(default_factory=dict)
    places: list[BoardPlace] = field(default_factory=list)
    ranking: int = 0

    def compare(self, where: str, packed: Correlation | RankingRow, here: Correlation | RankingRow,
                names: Iterable[str]) -> None:
        """Report fields that differ by more than rounding."""
        for name in names:
            before, now = getattr(packed, name), getattr(here, name)
            if apart(before, now) > TOLERANCE:
                self.differ(f"{where}, {name}", _number(before), _number(now))

    def differ(self, where: str, packed: str, here: str) -> None:
        self.drifts.append(Mismatch(where, packed, here))


def load(bundle: Bundle, home: Path, ratings: Path | None) -> Checked:
    """Load the datasets of a bundle that are here, with private ratings joined; of others note the reason."""
    run, owners, loaded, checked = bundle.run, private.Owners(), dict[str, Dataset](), Checked(bundle)
    limit, sample = (size if isinstance(size := run.options.get(name), int) and size > 0 else None
                     for name in ("limit", "sample"))
    for entry in bundle.datasets:
        try:
            dataset = plan.load(datasets.card(entry.name), home, plan.Selection(
                data=entry.kind, limit=limit, sample=sample, seed=run.seed))
        except BenchmarkError as error:
            unknown = entry.name not in datasets.names()
            checked.not_here[entry.name] = "no dataset of that name is here; import its card" if unknown else str(error)
            continue
        if dataset is None or dataset.fingerprint != entry.fingerprint:
            checked.not_here[entry.name] = "the items here are others" if dataset else "its items are not here"
        else:
            loaded[entry.name] = dataset
            owners.add(dataset)
    extra = private.read(ratings, owners) if ratings and loaded else {}
    for entry in (entry for entry in bundle.datasets if entry.name in loaded):
        dataset = private.join(loaded[entry.name], extra.get(entry.name, ()))[0]
        if ratings_fingerprint(dataset.ratings) == entry.ratings_fingerprint:
            checked.here[entry.name] = dataset
        else:
            checked.not_here[entry.name] = "the ratings here are others"
    return checked


def recompute(checked: Checked) -> None:
    values = by_column(unseen(_correlations(checked), checked.bundle.metrics, checked.bundle.datasets))
    boards: dict[tuple[str, str, str, str], list[RankingRow]] = {}
    for entry in checked.bundle.ranking:
        boards.setdefault((entry.board, entry.origin, entry.rule, entry.statistic), []).append(entry)
    targets = {board[:2]: _targets(checked, *board[:2]) for board in boards}
    places = [place for board, packed in boards.items()
              for place in _places(checked, packed, targets[board[:2]], values)]
    checked.places = sorted(places, key=lambda place: (place.row.board, place.row.origin, place.row.rank or math.inf))


def order_of(items: Sequence[str], packed: Sequence[str]) -> Codes | None:
    """Return the packed row of each item; None if the items are others."""
    rows = {item: row for row, item in enumerate(packed)}
    return np.array([rows[item] for item in items], dtype=np.int64) if rows.keys() == set(items) else None


def _correlations(checked: Checked) -> Iterator[Correlation]:
    """Yield the correlations of the bundle, computed again where its datasets are here."""
    packed = {_key(row): row for row in checked.bundle.correlations}
    yield from (row for row in packed.values() if row.dataset not in checked.here)
    computed = {_key(row): row for dataset in checked.here.values() for row in _again(checked, dataset)}
    for key, row in computed.items():
        checked.again[row.dataset] = checked.again.get(row.dataset, 0) + 1
        if key in packed:
            checked.compare(_where(row), packed[key], row, VALUES)
        else:
            checked.differ(_where(row), "nothing", _number(row.value))
        yield row
    for key, row in packed.items():
        if row.dataset in checked.here and key not in computed:
            checked.differ(_where(row), _number(row.value), "no scores of it")


def _key(row: Correlation) -> tuple[str, ...]:
    return row.dataset, row.quality, row.metric, row.column, row.statistic


def _where(row: Correlation) -> str:
    return f"{row.dataset}, {row.quality}, {row.metric}/{row.column}, {row.statistic}"


def _again(checked: Checked, dataset: Dataset) -> Iterator[Correlation]:
    name, scored = dataset.card.name, checked.bundle.scores.get(dataset.card.name)
    if scored is None:
        return
    order = order_of([item.id for item in dataset.items], scored.items)
    if order is None:
        checked.differ(f"{name}, scores", f"{len(scored.items)} items",
                       f"{len(dataset.items)} items, some of them others")
        return
    qualities = _judged(checked.bundle, dataset)
    points = replace(correlate.item_scores(dataset, qualities, {}),
                     scores={column: values[order] for column, values in scored.columns.items()})
    for target in correlate.targets(points, qualities):
        yield from correlate.correlations(target)


def _judged(bundle: Bundle, dataset: Dataset) -> tuple[Judged, ...]:
    (entry,) = (entry for entry in bundle.datasets if entry.name == dataset.card.name)
    names = {quality.name for quality in entry.qualities}
    return correlate.judged(dataset, [quality for quality in dataset.card.qualities if quality.name in names])


def _places(checked: Checked, packed: Sequence[RankingRow], targets: frozenset[Target],
            values: Mapping[tuple[str, str, str], Mapping[Target, float]]) -> Iterator[BoardPlace]:
    """Rank the columns of the bundle among all packed rows of a board."""
    ranks = rank({(row.metric, row.column): row.value for row in packed if row.complete or row.rank is None})
    of, board = sum(standing.rank is not None for standing in ranks.values()), BoardId.parse(packed[0].board)
    metrics = {entry.name for entry in checked.bundle.metrics}
    for row in (row for row in packed if row.metric in metrics):
        known = values.get((row.statistic, row.metric, row.column), {})
        covered = {target: known[target] for target in targets & known.keys()}
        partial = row.rank is not None and not row.complete  # fitted on the others; its rank takes the whole report
        value = over(RULES[row.rule], covered, covered if partial else targets) if row.rule in RULES else math.nan
        again = replace(row, value=value, covered=len(covered), targets=len(targets), rank=row.rank if partial else
                        None if math.isnan(value) else ranks[row.metric, row.column].rank)
        where = f"board {row.board}, {row.origin}, rule {row.rule}, {row.metric}/{row.column}, {row.statistic}"
        checked.compare(where, row, again, ("value", "rank", "covered", "targets"))
        checked.ranking += 1
        if (row.statistic, row.rule, board.dimension) == ("spearman", board.split, ""):
            yield BoardPlace(again, of, sum(dataset in checked.here for dataset, _ in covered))


def _targets(checked: Checked, board: str, origin: str) -> frozenset[Target]:
    """Return the targets of a board: qualities with three ratings, not all equal where the ratings are here."""
    dimension, targets = BoardId.parse(board).dimension, set[Target]()
    for entry in checked.bundle.datasets:
        if entry.on(board) and entry.kind == origin:
            usable = {quality.name for quality in entry.qualities if quality.rated >= 3}
            if entry.name in checked.here:
                judged = _judged(checked.bundle, checked.here[entry.name])
                usable = {quality.quality.name for quality in judged if quality.usable}
            targets |= {(entry.name, quality.name) for quality in entry.qualities
                        if quality.name in usable and dimension in ("", quality.dimension)}
    return frozenset(targets)


def _number(value: float | None) -> str:
    return "missing" if value is None or math.isnan(value) else f"{value:.6g}"
