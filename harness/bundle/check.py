"""Checking a bundle: everything that can be computed again is, and what differs by more than 0.001 is told.

    ratings at hand and packed scores      ->  correlations, their intervals and p
    these, or else the packed correlations ->  values on the boards, ranks among all that is said to stand there
    metrics at hand                        ->  scores, if asked for

A dataset is at hand where its items and ratings are those of the bundle, by their fingerprints. A metric is at hand
where one of this installation has its name and its signature. No name in a bundle makes anything be loaded from a path
or from another library, and no model is fetched for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from benchmarks.formats import private
from benchmarks.storage.store import ratings_fingerprint
from harness.bundle import Bundle
from harness.results import full_scores
from harness.results.rows import Correlation, DatasetEntry, RankingRow
from harness.run import correlate, plan
from harness.run.correlate import Judged
from harness.run.rank import RULES, Target
from harness.statistics.panel import codes

TOLERANCE = 0.001
VALUES = ("value", "p", "low", "high", "n")
"""What of a correlation is computed again; the value corrected for attenuation is of the ratings alone."""


@dataclass(frozen=True, slots=True)
class Drift:
    """One thing that is not as the bundle tells it."""

    where: str
    told: str
    found: str


@dataclass(frozen=True, slots=True)
class Row:
    """A column's place on the board of a split, as found, under the rule of that split, among `of` that have a rank.

    `again` is in how many of its cells the correlation was computed again.
    """

    standing: RankingRow
    of: int
    again: int


@dataclass(slots=True)
class Checked:
    """What was found: what differs, what was computed again, what could not be and why."""

    drifts: list[Drift] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    not_here: dict[str, str] = field(default_factory=dict)
    rescored: dict[str, int] = field(default_factory=dict)
    not_rescored: dict[str, str] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    ranking: int = 0


def at_hand(bundle: Bundle, home: Path, ratings: Path | None, checked: Checked) -> dict[str, Dataset]:
    """The datasets of the bundle that are here, with private ratings joined; of the others, why they are not."""
    found = {}
    for entry in bundle.datasets:
        try:
            dataset = _loaded(bundle, entry, home)
        except BenchmarkError as error:
            checked.not_here[entry.name] = str(error)
            continue
        if dataset is None or dataset.fingerprint != entry.fingerprint:
            checked.not_here[entry.name] = "its items are not here" if dataset is None else "the items here are others"
        else:
            found[entry.name] = dataset
    if ratings and found:
        found = _joined(found, ratings)
    for entry in bundle.datasets:
        if entry.name in found and ratings_fingerprint(found[entry.name].ratings) != entry.ratings_fingerprint:
            checked.not_here[entry.name] = "the ratings here are others"
            del found[entry.name]
    return found


def _loaded(bundle: Bundle, entry: DatasetEntry, home: Path) -> Dataset | None:
    limit = bundle.run.options.get("limit")
    selection = plan.Selection(data="sample" if entry.origin == "sample" else "real",
                               limit=limit if isinstance(limit, int) and limit > 0 else None)
    return plan.load(datasets.card(entry.name), home, selection)


def _joined(found: Mapping[str, Dataset], ratings: Path) -> dict[str, Dataset]:
    owners = private.Owners()
    for dataset in found.values():
        owners.add(dataset)
    extra = private.read(ratings, owners)
    return {name: private.join(dataset, extra.get(name, ()))[0] for name, dataset in found.items()}


def correlations(bundle: Bundle, here: Mapping[str, Dataset], checked: Checked) -> list[Correlation]:
    """The correlations of the bundle, those that can be with the values that they have here."""
    told = {(row.dataset, row.quality, row.metric, row.column, row.statistic): row for row in bundle.correlations}
    found = {key: row for key, row in told.items() if key[0] not in here}
    for dataset in here.values():
        for row in _again(bundle, dataset, checked):
            key = (row.dataset, row.quality, row.metric, row.column, row.statistic)
            found[key] = row
            checked.again[row.dataset] = checked.again.get(row.dataset, 0) + 1
            where = f"{row.dataset}, {row.quality}, {row.metric}/{row.column}, {row.statistic}"
            if key in told:
                checked.drifts += _differences(where, told[key], row)
            else:
                checked.drifts.append(Drift(where, "nothing", _number(row.value)))
    for key in told.keys() - found.keys():
        checked.drifts.append(Drift(f"{key[0]}, {key[1]}, {key[2]}/{key[3]}, {key[4]}", _number(told[key].value),
                                    "no scores of it"))
    return list(found.values())


def _again(bundle: Bundle, dataset: Dataset, checked: Checked) -> Iterator[Correlation]:
    """The correlations of the packed scores of a dataset with the ratings here."""
    scored = bundle.scores.get(dataset.card.name)
    if scored is None:
        return
    place = {item: row for row, item in enumerate(scored.items)}
    if place.keys() != {item.id for item in dataset.items}:
        checked.drifts.append(Drift(f"{dataset.card.name}, scores", f"{len(place)} items",
                                    f"{len(dataset.items)} items, some of them others"))
        return
    order = [place[item.id] for item in dataset.items]
    names = tuple(full_scores.plain(scored.columns))
    system, context = codes(item.system for item in dataset.items), codes(item.context for item in dataset.items)
    for one in judged(bundle, dataset):
        table = np.array([full_scores.on(scored.columns, name, one.quality.dimension)[order] for name in names])
        yield from correlate.correlations(correlate.TargetData(dataset.card.name, one, names, table, system, context))


def judged(bundle: Bundle, dataset: Dataset) -> tuple[Judged, ...]:
    """The qualities of a dataset that the bundle is about."""
    (entry,) = (entry for entry in bundle.datasets if entry.name == dataset.card.name)
    names = {quality.name for quality in entry.qualities}
    return correlate.judged(dataset, [quality for quality in dataset.card.qualities if quality.name in names])


def _differences(where: str, told: Correlation, found: Correlation) -> Iterator[Drift]:
    for name in VALUES:
        before, now = getattr(told, name), getattr(found, name)
        if differs(before, now):
            yield Drift(f"{where}, {name}", _number(before), _number(now))


def differs(told: float, found: float) -> bool:
    """Whether two numbers are further apart than can be left to rounding; a number that is missing is none."""
    if math.isnan(told) or math.isnan(found):
        return math.isnan(told) != math.isnan(found)
    return abs(told - found) > TOLERANCE


def ranking(bundle: Bundle, here: Mapping[str, Dataset], rows: list[Correlation], checked: Checked) -> None:
    """The places of these metrics, from the correlations; the others on a board stand where the bundle has them."""
    own, values = {entry.name for entry in bundle.metrics}, _values(bundle, rows)
    cells = {board: _cells(bundle, here, *board) for board in {(row.board, row.origin) for row in bundle.ranking}}
    rivals: dict[tuple[str, ...], list[float]] = {}
    for row in bundle.ranking:
        rivals.setdefault((row.board, row.origin, row.rule, row.statistic), []).append(row.value)
    shown = []
    for told in (row for row in bundle.ranking if row.metric in own):
        board = cells[told.board, told.origin]
        given = values.get((told.metric, told.column, told.statistic), {})
        found = {cell: given[cell] for cell in board & given.keys()}
        complete = bool(found) and len(found) == len(board) and told.rule in RULES
        others = rivals[told.board, told.origin, told.rule, told.statistic]
        again = replace(told, value=RULES[told.rule](found) if complete else math.nan,
                        rank=1 + sum(value > told.value for value in others) if complete else None,
                        covered=len(found), cells=len(board))
        checked.drifts += _moved(told, again)
        checked.ranking += 1
        if told.statistic == "spearman" and told.rule == told.board.partition("-")[0]:
            shown.append(Row(again, sum(map(math.isfinite, others)), sum(cell[0] in here for cell in found)))
    checked.rows = tuple(sorted(shown, key=lambda row: (row.standing.board, row.standing.origin,
                                                        row.standing.rank or math.inf)))


def _moved(told: RankingRow, again: RankingRow) -> Iterator[Drift]:
    """What of a place on a board is not as it was told."""
    where = f"board {told.board}, {told.origin}, rule {told.rule}, {told.metric}/{told.column}, {told.statistic}"
    for name in ("value", "rank", "covered", "cells"):
        before, now = (math.nan if value is None else float(value)
                       for value in (getattr(told, name), getattr(again, name)))
        if differs(before, now):
            yield Drift(f"{where}, {name}", _number(before), _number(now))


def _values(bundle: Bundle, rows: list[Correlation]) -> dict[tuple[str, str, str], dict[Target, float]]:
    """The values of each column by cell and statistic, without those that its weights were learned on."""
    real = {entry.name for entry in bundle.datasets if entry.origin != "sample"}
    seen = {(entry.name, dataset) for entry in bundle.metrics for dataset in entry.learned_on if dataset in real}
    found: dict[tuple[str, str, str], dict[Target, float]] = {}
    for row in rows:
        if math.isfinite(row.value) and (row.metric, row.dataset) not in seen:
            found.setdefault((row.metric, row.column, row.statistic), {})[row.dataset, row.quality] = row.value
    return found


def _cells(bundle: Bundle, here: Mapping[str, Dataset], board: str, origin: str) -> frozenset[Target]:
    """The cells of a board: qualities with three ratings, which are not all the same where that can be seen."""
    split, _, references = board.partition("-")
    found = set()
    for entry in bundle.datasets:
        kind = "sample" if entry.origin == "sample" else "real"
        if (entry.split, kind) == (split, origin) and (not references or "references" in entry.has):
            usable = {quality.name for quality in entry.qualities if quality.rated >= 3}
            if entry.name in here:
                usable = {one.quality.name for one in judged(bundle, here[entry.name]) if one.usable}
            found |= {(entry.name, name) for name in usable}
    return frozenset(found)


def _number(value: float) -> str:
    return "missing" if math.isnan(value) else f"{value:.6g}"
