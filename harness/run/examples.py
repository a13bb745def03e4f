"""Examples: the items of a dataset on which people and metrics disagree most.

Items are compared by their rank among the rated items, scaled from 0 to 1, where ties share their mean rank. The rank
by metrics is the median over the first column of each metric. Half of the examples are ranked higher by people than by
metrics, half lower, the largest differences first, and no response is shown twice. They are followed by the items that
each metric ranks furthest below and above people.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Dataset, Item, Utterance
from harness.results.item_scores import labels, on_quality
from harness.results.rows import ColumnKey, Correlation, Example, ItemScores
from harness.run.correlate import Judged
from harness.statistics.ranks import ranks

ALL_QUALITIES = "all qualities"
OVERALL = "overall"
UTTERANCES, CHARACTERS, COLUMNS = 4, 400, 6
"""Limits of an example: last utterances of the context, characters of a text, columns that agree best with people."""

Ranks = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class People:
    """The displayed rating of each item, NaN if there is none, and its rank."""

    quality: str
    dimension: str
    rating: Ranks
    ranks: Ranks


def find(dataset: Dataset, qualities: Iterable[Judged], points: ItemScores, correlations: Iterable[Correlation],
         metrics: Collection[str], number: int) -> tuple[Example, ...]:
    """Return at most `number` examples of a dataset and those of each metric; none without ratings or scores."""
    usable = [judged for judged in qualities if judged.usable]
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
    by_median = (_example(dataset.items[row], points.dataset, people, row, float(median[row]),
                          [(name, float(judges[key][row])) for key, name in columns])
                 for gaps, count in ((people.ranks - median, number - number // 2),
                                     (median - people.ranks, number // 2))
                 for row in _distinct(dataset.items, gaps, count))
    by_metric = (replace(_example(dataset.items[row], points.dataset, people, row, float(ranked[row]), ()),
                         metric=metric)
                 for (metric, _), ranked in judges.items() for gaps in (people.ranks - ranked, ranked - people.ranks)
                 for row in _distinct(dataset.items, gaps, 1))
    return (*by_median, *by_metric)


def _people(usable: Sequence[Judged]) -> People:
    """Return the ratings of the quality of dimension `overall`, else of the only quality, else the mean over all."""
    overall = [judged for judged in usable if judged.quality.dimension == OVERALL]
    if overall or len(usable) == 1:
        chosen = (overall or usable)[0]
        return People(chosen.quality.name, chosen.quality.dimension, chosen.means, scaled_ranks(chosen.means))
    scales = {(judged.quality.low, judged.quality.high) for judged in usable}
    ratings = _mean([judged.means for judged in usable])
    if len(scales) > 1 or None in scales.pop():
        ratings = np.full_like(ratings, math.nan)
    return People(ALL_QUALITIES, "", ratings, _mean([scaled_ranks(judged.means) for judged in usable]))


def scaled_ranks(values: npt.NDArray[np.floating]) -> Ranks:
    """Return the rank of each value, scaled from 0 to 1; NaN for missing values and if all are equal."""
    table = np.full(len(values), np.nan)
    present = np.isfinite(values)
    if present.sum() > 1 and np.ptp(values[present]) > 0:
        table[present] = (ranks(values[present]) - 1) / (present.sum() - 1)
    return table


def _judges(points: ItemScores, people: People, metrics: Collection[str]) -> dict[ColumnKey, Ranks]:
    """Return the ranks of the items by the first column of each metric, or its column for the quality."""
    first: dict[str, ColumnKey] = {}
    for key in points.scores:
        first.setdefault(key[0], key)
    ranked = {key: scaled_ranks(np.where(np.isfinite(people.ranks), on_quality(points.scores, key, people.dimension),
                                         np.nan)) for metric, key in first.items() if metric in metrics}
    return {key: judged for key, judged in ranked.items() if np.isfinite(judged).any()}


def _shown(points: ItemScores, people: People, judges: Sequence[ColumnKey],
           correlations: Iterable[Correlation]) -> list[tuple[ColumnKey, str]]:
    """Return the columns with the highest Spearman correlation on the quality, or mean over all, with their labels."""
    values: dict[ColumnKey, list[float]] = defaultdict(list)
    for row in correlations:
        if row.statistic == "spearman" and people.quality in {row.quality, ALL_QUALITIES}:
            values[row.metric, row.column].append(row.value if math.isfinite(row.value) else -1.0)
    means = {key: sum(values[key]) / len(values[key]) for key in judges if key in values}
    best = sorted(means, key=lambda key: (-means[key], key))[:COLUMNS]
    names = dict(zip(points.scores, labels(list(points.scores)), strict=True))
    return [(key, names[key]) for key in best]


def _distinct(items: Sequence[Item], gaps: Ranks, number: int) -> Iterator[int]:
    """Yield the rows of items with a positive gap, the largest first and ties by id; no text twice."""
    seen: set[Utterance | tuple[Utterance, ...]] = set()
    rows = np.flatnonzero(gaps > 0)
    if number == 1:  # called for every metric, so sort only the largest gaps
        rows = rows[gaps[rows] >= gaps[rows].max(initial=0) - 1e-8]
    order = [(-round(float(gaps[row]), 9), items[row].id, row) for row in rows.tolist()]
    for _, _, row in sorted(order):
        text = items[row].response or items[row].context
        if len(seen) < number and text not in seen:
            seen.add(text)
            yield row


def _example(item: Item, dataset: str, people: People, row: int, metrics: float,
             columns: Iterable[tuple[str, float]]) -> Example:
    return Example(
        dataset=dataset, quality=people.quality, item=item.id, system=item.system or "",
        context=tuple(_cut(turn.text) for turn in item.context[-UTTERANCES:]),
        response=_cut(item.response.text) if item.response else "", rating=float(people.rating[row]),
        people=float(people.ranks[row]), metrics=metrics,
        columns=tuple((name, rank) for name, rank in columns if math.isfinite(rank)))


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS - 1].rstrip()}…"


def _mean(rows: Sequence[npt.NDArray[np.float64]]) -> Ranks:
    """Return the mean of each item over its rated qualities; NaN if it has none."""
    return np.asarray(np.ma.masked_invalid(rows).mean(axis=0).filled(np.nan))
