"""Examples: the items of a dataset on which people and metrics disagree most.

An item's place is its rank among the items that people rated, from 0, the lowest, to 1, the highest; equals share the
middle of theirs. Of the metrics it is the median over the first column of each. Half of the examples stand higher with
people than with metrics, the furthest apart first, and then half the reverse; a response is shown once. Behind them
stand, for each metric, the item that it alone places furthest below people, and the one furthest above.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Dataset, Item, Utterance
from harness.results.item_scores import labels
from harness.results.rows import Correlation, Example, ItemScores
from harness.run.correlate import Judged
from harness.statistics.ranks import ranks
from metrics.column import of_quality

EVERY = "all qualities"
OVERALL = "overall"
UTTERANCES, SIGNS, COLUMNS = 4, 400, 6
"""How much of an item is shown: the last of its context, each text cut, and the columns that agree best with people."""

Places = npt.NDArray[np.float64]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class People:
    """What people say of each item: the rating to show, NaN where there is none, and its place."""

    quality: str
    dimension: str
    rating: Places
    places: Places


def find(dataset: Dataset, qualities: Iterable[Judged], points: ItemScores, correlations: Iterable[Correlation],
         metrics: Collection[str], number: int) -> tuple[Example, ...]:
    """The examples of a dataset, at most `number`; none where nothing was rated, or `metrics` has no metric of it."""
    usable = [one for one in qualities if one.usable]
    if not usable or number < 1:
        return ()
    people = _people(usable)
    judges = _judges(points, people, metrics)
    if not judges:
        return ()
    table = np.array(list(judges.values()))
    median, scored = np.full(table.shape[1], math.nan), np.isfinite(table).any(axis=0)
    median[scored] = np.nanmedian(table[:, scored], axis=0)
    columns = _shown(points, people, list(judges), correlations)
    together = (_example(dataset.items[row], points.dataset, people, row, float(median[row]),
                         [(name, float(judges[key][row])) for key, name in columns])
                for ahead, count in ((people.places - median, number - number // 2),
                                     (median - people.places, number // 2))
                for row in _distinct(dataset.items, ahead, count))
    alone = (replace(_example(dataset.items[row], points.dataset, people, row, float(own[row]), ()), metric=metric)
             for (metric, _), own in judges.items() for ahead in (people.places - own, own - people.places)
             for row in _distinct(dataset.items, ahead, 1))
    return (*together, *alone)


def _people(usable: Sequence[Judged]) -> People:
    """The quality of dimension `overall`, the only one, or the mean over all."""
    chosen = next((one for one in usable if one.quality.dimension == OVERALL), usable[0] if len(usable) == 1 else None)
    if chosen:
        return People(chosen.quality.name, chosen.quality.dimension, chosen.means, places(chosen.means))
    scales = {(one.quality.low, one.quality.high) for one in usable}
    ratings = _mean([one.means for one in usable])
    if len(scales) > 1 or None in scales.pop():
        ratings = np.full_like(ratings, math.nan)
    return People(EVERY, "", ratings, _mean([places(one.means) for one in usable]))


def places(values: npt.NDArray[np.floating]) -> Places:
    """The place of each value, 0 to 1, NaN where it is missing or where no two differ."""
    table = np.full(len(values), np.nan)
    present = np.isfinite(values)
    if present.sum() > 1 and np.ptp(values[present]) > 0:
        table[present] = (ranks(values[present]) - 1) / (present.sum() - 1)
    return table


def _judges(points: ItemScores, people: People, metrics: Collection[str]) -> dict[Key, Places]:
    """Where the first column of each metric puts the items, as it is used for the quality."""
    rated, judges, seen = np.isfinite(people.places), dict[Key, Places](), set[str]()
    for (metric, column), plain in points.scores.items():
        if metric in metrics and metric not in seen:
            seen.add(metric)
            values = points.scores.get((metric, of_quality(column, people.dimension)), plain)
            own = places(np.where(rated, values, np.nan))
            if np.isfinite(own).any():
                judges[metric, column] = own
    return judges


def _shown(points: ItemScores, people: People, judges: Sequence[Key],
           correlations: Iterable[Correlation]) -> list[tuple[Key, str]]:
    """The judges that agree best with people, by Spearman on the quality or its mean over all, with their labels."""
    values_of: dict[Key, list[float]] = {key: [] for key in judges}
    for row in correlations:
        key = row.metric, row.column
        if row.statistic == "spearman" and key in values_of and people.quality in {row.quality, EVERY}:
            values_of[key].append(row.value if math.isfinite(row.value) else -1.0)
    values = {key: sum(own) / len(own) for key, own in values_of.items() if own}
    best = sorted(values, key=lambda key: (-values[key], key))[:COLUMNS]
    names = dict(zip(points.scores, labels(list(points.scores)), strict=True))
    return [(key, names[key]) for key in best]


def _distinct(items: Sequence[Item], ahead: Places, number: int) -> Iterator[int]:
    """So many items where one side is ahead, the furthest first and equals by id; no text twice."""
    taken: set[Utterance | tuple[Utterance, ...]] = set()
    rows = np.flatnonzero(ahead > 0)
    if number == 1:  # as for every metric: no more than the furthest need be put in order
        rows = rows[ahead[rows] >= ahead[rows].max(initial=0) - 1e-8]
    order = [(-round(float(ahead[row]), 9), items[row].id, row) for row in rows.tolist()]
    for _, _, row in sorted(order):
        text = items[row].response or items[row].context
        if len(taken) < number and text not in taken:
            taken.add(text)
            yield row


def _example(item: Item, dataset: str, people: People, row: int, metrics: float,
             columns: Iterable[tuple[str, float]]) -> Example:
    return Example(
        dataset=dataset, quality=people.quality, item=item.id, system=item.system or "",
        context=tuple(_cut(turn.text) for turn in item.context[-UTTERANCES:]),
        response=_cut(item.response.text) if item.response else "", rating=float(people.rating[row]),
        people=float(people.places[row]), metrics=metrics,
        columns=tuple((name, place) for name, place in columns if math.isfinite(place)))


def _cut(text: str) -> str:
    return text if len(text) <= SIGNS else f"{text[:SIGNS - 1].rstrip()}…"


def _mean(rows: Sequence[npt.NDArray[np.float64]]) -> Places:
    """The mean of each item over the qualities that it has; NaN where it has none."""
    table = np.array(rows)
    present = np.isfinite(table)
    means = np.full(table.shape[1], math.nan)
    np.divide(np.where(present, table, 0).sum(axis=0), present.sum(axis=0), out=means, where=present.any(axis=0))
    return means
