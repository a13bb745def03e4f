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
"""Limits of an example: number of last utterances of the context, characters per text, and best columns."""

Ranks = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class People:
    """The displayed rating of each item, NaN if there is none, and its rank."""

    quality: str
    dimension: str
    rating: Ranks
    ranks: Ranks


def find(dataset: Dataset, qualities: Iterable[Judged], points: ItemScores, correlations: Iterable[Correlation],
         metrics: Collection[str], maximum: int) -> tuple[Example, ...]:
    """Return at most `maximum` examples of a dataset and those of each metric; none without ratings or scores."""
    usable = [judged for judged in qualities if judged.usable]
    if not usable or maximum < 1:
        return ()
    people = _people(usable)
    ranks_by_column = _metric_ranks(points, people, metrics)
    if not ranks_by_column:
        return ()
    column_ranks = np.array(list(ranks_by_column.values()))
    median, has_rank = np.full(column_ranks.shape[1], math.nan), np.isfinite(column_ranks).any(axis=0)
    median[has_rank] = np.nanmedian(column_ranks[:, has_rank], axis=0)
    columns = _best_columns(points, people, list(ranks_by_column), correlations)
    by_median = (_example(dataset.items[row], points.dataset, people, row, float(median[row]),
                          [(name, float(ranks_by_column[key][row])) for key, name in columns])
                 for gaps, count in ((people.ranks - median, maximum - maximum // 2),
                                     (median - people.ranks, maximum // 2))
                 for row in _distinct(dataset.items, gaps, count))
    by_metric = (replace(_example(dataset.items[row], points.dataset, people, row, float(item_ranks[row]), ()),
                         metric=metric)
                 for (metric, _), item_ranks in ranks_by_column.items()
                 for gaps in (people.ranks - item_ranks, item_ranks - people.ranks)
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
    scaled = np.full(len(values), np.nan)
    present = np.isfinite(values)
    if present.sum() > 1 and np.ptp(values[present]) > 0:
        scaled[present] = (ranks(values[present]) - 1) / (present.sum() - 1)
    return scaled


def _metric_ranks(points: ItemScores, people: People, metrics: Collection[str]) -> dict[ColumnKey, Ranks]:
    """Return the ranks of the items by the first column of each metric, or its column for the quality."""
    first_columns: dict[str, ColumnKey] = {}
    for key in points.scores:
        first_columns.setdefault(key[0], key)
    rated = np.isfinite(people.ranks)
    by_column = {key: scaled_ranks(np.where(rated, on_quality(points.scores, key, people.dimension), np.nan))
                 for metric, key in first_columns.items() if metric in metrics}
    return {key: column_ranks for key, column_ranks in by_column.items() if np.isfinite(column_ranks).any()}


def _best_columns(points: ItemScores, people: People, columns: Sequence[ColumnKey],
                  correlations: Iterable[Correlation]) -> list[tuple[ColumnKey, str]]:
    """Return the columns with the highest Spearman correlation on the quality, or mean over all, with their labels."""
    values: dict[ColumnKey, list[float]] = defaultdict(list)
    for row in correlations:
        if row.statistic == "spearman" and people.quality in {row.quality, ALL_QUALITIES}:
            values[row.metric, row.column].append(row.value if math.isfinite(row.value) else -1.0)
    means = {key: sum(values[key]) / len(values[key]) for key in columns if key in values}
    best = sorted(means, key=lambda key: (-means[key], key))[:COLUMNS]
    names = dict(zip(points.scores, labels(list(points.scores)), strict=True))
    return [(key, names[key]) for key in best]


def _distinct(items: Sequence[Item], gaps: Ranks, maximum: int) -> Iterator[int]:
    """Yield the rows of items with a positive gap, the largest gap first, ties by id, and no text twice."""
    shown_texts: set[Utterance | tuple[Utterance, ...]] = set()
    rows = np.flatnonzero(gaps > 0)
    if maximum == 1:  # called for every metric, so sort only the largest gaps
        rows = rows[gaps[rows] >= gaps[rows].max(initial=0) - 1e-8]
    order = [(-round(float(gaps[row]), 9), items[row].id, row) for row in rows.tolist()]
    for _, _, row in sorted(order):
        text = items[row].response or items[row].context
        if len(shown_texts) < maximum and text not in shown_texts:
            shown_texts.add(text)
            yield row


def _example(item: Item, dataset: str, people: People, row: int, metric_rank: float,
             columns: Iterable[tuple[str, float]]) -> Example:
    return Example(
        dataset=dataset, quality=people.quality, item=item.id, system=item.system or "",
        context=tuple(_cut(turn.text) for turn in item.context[-UTTERANCES:]),
        response=_cut(item.response.text) if item.response else "", rating=float(people.rating[row]),
        people=float(people.ranks[row]), metrics=metric_rank,
        columns=tuple((name, rank) for name, rank in columns if math.isfinite(rank)))


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS - 1].rstrip()}…"


def _mean(rows: Sequence[npt.NDArray[np.float64]]) -> Ranks:
    """Return the mean of each item over its rated qualities; NaN if it has none."""
    return np.asarray(np.ma.masked_invalid(rows).mean(axis=0).filled(np.nan))
