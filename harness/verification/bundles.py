"""Checking a bundle: everything that can be computed again is, and what differs by more than 0.001 is reported.

    ratings at hand and packed scores      ->  correlations, their intervals and p
    these, or else the packed correlations ->  values on the boards, ranks among all that is said to stand there
    metrics at hand                        ->  scores, if asked for

A dataset is at hand where its items and ratings are those of the bundle, by their fingerprints. A metric is at hand
where one of this installation has its name and its signature. No name in a bundle makes anything be loaded from a path
or from another library, and no model is fetched for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from benchmarks.formats import private
from benchmarks.storage.store import ratings_fingerprint
from harness.bundle import Bundle
from harness.results import item_scores
from harness.results.rows import BoardId, Correlation, RankingRow, fitted
from harness.run import correlate, plan
from harness.run.correlate import Judged
from harness.run.rank import RULES, Target
from harness.statistics.panel import codes
from harness.statistics.rank_intervals import rank

TOLERANCE = 0.001
VALUES = ("value", "p", "low", "high", "n")
"""What of a correlation is computed again; the value corrected for attenuation is of the ratings alone."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that is not here as the bundle has it."""

    where: str
    packed: str
    here: str


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """A column's place on the board of a split as computed here, by the rule of that split, among `of` with a rank.

    `again` is in how many of its cells the correlation was computed again.
    """

    standing: RankingRow
    of: int
    again: int


@dataclass(slots=True)
class Checked:
    """What differs, what was computed again, what could not be computed again and why."""

    drifts: list[Mismatch] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    not_here: dict[str, str] = field(default_factory=dict)
    rescored: dict[str, int] = field(default_factory=dict)
    not_rescored: dict[str, str] = field(default_factory=dict)
    rows: tuple[BoardPlace, ...] = ()
    ranking: int = 0

    def compare(self, where: str, packed: Correlation | RankingRow, here: Correlation | RankingRow,
                names: Iterable[str]) -> None:
        """Note what of a row differs by more than can be left to rounding; a number that is missing is none."""
        for name in names:
            before, now = (math.nan if value is None else float(value)
                           for value in (getattr(packed, name), getattr(here, name)))
            if math.isnan(before) != math.isnan(now) or abs(before - now) > TOLERANCE:
                self.drifts.append(Mismatch(f"{where}, {name}", _number(before), _number(now)))


def at_hand(bundle: Bundle, home: Path, ratings: Path | None, checked: Checked) -> dict[str, Dataset]:
    """The datasets of the bundle that are here, with private ratings joined; of the others, why they are not."""
    available, owners = {}, private.Owners()
    limit, sample = (size if isinstance(size := bundle.run.options.get(name), int) and size > 0 else None
                     for name in ("limit", "sample"))
    for entry in bundle.datasets:
        selection = plan.Selection(data=entry.kind,
                                   limit=limit, sample=sample, seed=bundle.run.seed)
        try:
            loaded = plan.load(datasets.card(entry.name), home, selection)
        except BenchmarkError as error:
            unknown = entry.name not in datasets.names()
            checked.not_here[entry.name] = "no dataset of that name is here; import its card" if unknown else str(error)
            continue
        if loaded is None or loaded.fingerprint != entry.fingerprint:
            checked.not_here[entry.name] = "its items are not here" if loaded is None else "the items here are others"
        else:
            available[entry.name] = loaded
            owners.add(loaded)
    extra = private.read(ratings, owners) if ratings and available else {}
    for entry in bundle.datasets:
        if entry.name in available:
            joined = private.join(available[entry.name], extra.get(entry.name, ()))[0]
            if ratings_fingerprint(joined.ratings) == entry.ratings_fingerprint:
                available[entry.name] = joined
            else:
                checked.not_here[entry.name] = "the ratings here are others"
                del available[entry.name]
    return available


def correlations(bundle: Bundle, here: Mapping[str, Dataset], checked: Checked) -> list[Correlation]:
    """The correlations of the bundle, those that can be with the values that they have here."""
    packed = {(row.dataset, row.quality, row.metric, row.column, row.statistic): row for row in bundle.correlations}
    rows = {key: row for key, row in packed.items() if key[0] not in here}
    for dataset in here.values():
        for row in _again(bundle, dataset, checked):
            key = (row.dataset, row.quality, row.metric, row.column, row.statistic)
            rows[key] = row
            checked.again[row.dataset] = checked.again.get(row.dataset, 0) + 1
            where = f"{row.dataset}, {row.quality}, {row.metric}/{row.column}, {row.statistic}"
            if key in packed:
                checked.compare(where, packed[key], row, VALUES)
            else:
                checked.drifts.append(Mismatch(where, "nothing", _number(row.value)))
    for key in packed.keys() - rows.keys():
        checked.drifts.append(Mismatch(f"{key[0]}, {key[1]}, {key[2]}/{key[3]}, {key[4]}", _number(packed[key].value),
                                    "no scores of it"))
    return list(rows.values())


def _again(bundle: Bundle, dataset: Dataset, checked: Checked) -> Iterator[Correlation]:
    """The correlations of the packed scores of a dataset with the ratings here."""
    scored = bundle.scores.get(dataset.card.name)
    if scored is None:
        return
    place = {item: row for row, item in enumerate(scored.items)}
    if place.keys() != {item.id for item in dataset.items}:
        checked.drifts.append(Mismatch(f"{dataset.card.name}, scores", f"{len(place)} items",
                                    f"{len(dataset.items)} items, some of them others"))
        return
    order = [place[item.id] for item in dataset.items]
    names = tuple(item_scores.plain(scored.columns))
    system, context = codes(item.system for item in dataset.items), codes(item.context for item in dataset.items)
    for one in judged(bundle, dataset):
        table = np.array([item_scores.on_quality(scored.columns, name, one.quality.dimension)[order] for name in names])
        yield from correlate.correlations(correlate.TargetData(dataset.card.name, one, names, table, system, context))


def judged(bundle: Bundle, dataset: Dataset) -> tuple[Judged, ...]:
    """The qualities of a dataset that the bundle is about."""
    (entry,) = (entry for entry in bundle.datasets if entry.name == dataset.card.name)
    names = {quality.name for quality in entry.qualities}
    return correlate.judged(dataset, [quality for quality in dataset.card.qualities if quality.name in names])


def ranking(bundle: Bundle, here: Mapping[str, Dataset], rows: list[Correlation], checked: Checked) -> None:
    """The places of these metrics by the correlations; all other rows of a board are taken from the bundle."""
    own, values = {entry.name for entry in bundle.metrics}, _values(bundle, rows)
    cells = {board: _cells(bundle, here, *board) for board in {(row.board, row.origin) for row in bundle.ranking}}
    boards: dict[tuple[str, ...], dict[tuple[str, str], float]] = {}
    for row in bundle.ranking:
        boards.setdefault((row.board, row.origin, row.rule, row.statistic), {})[row.metric, row.column] = row.value
    ranks = {key: rank(columns) for key, columns in boards.items()}
    places = []
    for packed in (row for row in bundle.ranking if row.metric in own):
        board = cells[packed.board, packed.origin]
        own_values = values.get((packed.metric, packed.column, packed.statistic), {})
        covered = {cell: own_values[cell] for cell in board & own_values.keys()}
        complete = bool(covered) and len(covered) == len(board) and packed.rule in RULES
        key = (packed.board, packed.origin, packed.rule, packed.statistic)
        again = replace(packed, value=RULES[packed.rule](covered) if complete else math.nan,
                        rank=ranks[key][packed.metric, packed.column].rank if complete else None,
                        covered=len(covered), targets=len(board))
        where = (f"board {packed.board}, {packed.origin}, rule {packed.rule}, {packed.metric}/{packed.column}, "
                 f"{packed.statistic}")
        checked.compare(where, packed, again, ("value", "rank", "covered", "targets"))
        checked.ranking += 1
        board_id = BoardId.parse(packed.board)
        if packed.statistic == "spearman" and packed.rule == board_id.split and not board_id.dimension:
            ranked = sum(map(math.isfinite, boards[key].values()))
            places.append(BoardPlace(again, ranked, sum(cell[0] in here for cell in covered)))
    checked.rows = tuple(sorted(places, key=lambda row: (row.standing.board, row.standing.origin,
                                                        row.standing.rank or math.inf)))


def _values(bundle: Bundle, rows: list[Correlation]) -> dict[tuple[str, str, str], dict[Target, float]]:
    """The values of each column by cell and statistic, without those that its weights were learned on."""
    seen = fitted(bundle.metrics, bundle.datasets)
    values: dict[tuple[str, str, str], dict[Target, float]] = {}
    for row in rows:
        if math.isfinite(row.value) and (row.metric, row.dataset) not in seen:
            values.setdefault((row.metric, row.column, row.statistic), {})[row.dataset, row.quality] = row.value
    return values


def _cells(bundle: Bundle, here: Mapping[str, Dataset], board: str, origin: str) -> frozenset[Target]:
    """The cells of a board: qualities with three ratings, which are not all the same where that can be seen."""
    dimension = BoardId.parse(board).dimension
    targets = set()
    for entry in bundle.datasets:
        if entry.on(board) and entry.kind == origin:
            usable = {quality.name for quality in entry.qualities if quality.rated >= 3}
            if entry.name in here:
                usable = {one.quality.name for one in judged(bundle, here[entry.name]) if one.usable}
            targets |= {(entry.name, one.name) for one in entry.qualities
                        if one.name in usable and dimension in ("", one.dimension)}
    return frozenset(targets)


def _number(value: float) -> str:
    return "missing" if math.isnan(value) else f"{value:.6g}"
