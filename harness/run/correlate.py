"""From scores and ratings to correlations: one panel per quality and column, one estimate per statistic.

    Scores, Judged  --item_scores-->  ItemScores  --targets-->  TargetData  --correlations-->  Correlation

The results keep the `ItemScores`, so the same targets can be rebuilt from them later without running a metric.
"""

from __future__ import annotations

import functools
import math
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.dataset import Dataset, Item, Quality, Rating
from harness.results.cache import Cache, digest
from harness.results.entries import DatasetEntry
from harness.results.item_scores import columns_for_all_qualities, on_quality
from harness.results.rows import ColumnKey, Correlation, ItemScores, Reliability, Target
from harness.scoring.score import AGGREGATIONS, Scores
from harness.statistics import estimates
from harness.statistics.coefficients import OF_ROWS, where_known
from harness.statistics.panel import Array, Codes, Panel, Vector, codes, rounded
from harness.statistics.power import detectable_text
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.reliability import disattenuated, vote_table
from metrics.column import of_aggregate, of_quality, split_aggregate, split_quality
from metrics.text.words import words

DEFAULT = tuple((name, estimates.ITEMS) for name in estimates.DEFAULT)
"""The statistics of every run, each with its level."""
RELIABILITY = "split-half"
"""The reliability used to correct for attenuation: that of the mean of all votes, since panels hold these means."""
CORRECTED = ("spearman", "pearson", "kendall", "kendall-c", "point-biserial", "partial")
"""Statistics that are corrected for attenuation, at the level of items only, to which this reliability applies."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A quality of a dataset with its votes (items, votes) and their mean per item, in the order of the items.

    Missing values are NaN. `raters` names the raters of each item's votes; it is empty if they are unknown.
    """

    quality: Quality
    votes: Array
    means: Vector
    raters: tuple[tuple[str, ...], ...] = ()

    @property
    def rated(self) -> int:
        return int(np.isfinite(self.means).sum())

    @property
    def by_rater(self) -> Array:
        """Votes (raters, items), NaN if missing; empty if raters are unknown or there is only one."""
        names = sorted({name for raters in self.raters for name in raters})
        table = np.full((len(names) if len(names) > 1 else 0, len(self.means)), math.nan)
        if table.size:
            row = {name: index for index, name in enumerate(names)}
            for item, raters in enumerate(self.raters):
                table[[row[rater] for rater in raters], item] = self.votes[item, :len(raters)]
        return table

    @property
    def usable(self) -> bool:
        """True if a correlation is defined: at least three ratings that are not all equal."""
        rated = self.means[np.isfinite(self.means)]
        return rated.size >= 3 and bool(np.ptp(rated) > 0)


def judged(dataset: Dataset, qualities: Iterable[Quality]) -> tuple[Judged, ...]:
    """Return the votes and mean ratings of each quality, joined to the items by id.

    Means are rounded to 12 decimals, so that equal means tie whatever the order of the votes.
    """
    ratings = {(rating.item, rating.quality): rating for rating in dataset.ratings}

    def judge(quality: Quality) -> Judged:
        item_ratings = [ratings.get((item.id, quality.name), Rating(item.id, quality.name, ()))
                        for item in dataset.items]
        raters_known = all(len(rating.raters) == len(rating.votes) for rating in item_ratings)
        return Judged(quality, vote_table(rating.votes for rating in item_ratings),
                      rounded(np.array([math.fsum(rating.votes) / len(rating.votes) if rating.votes else math.nan
                                        for rating in item_ratings])),
                      tuple(rating.raters for rating in item_ratings) if raters_known else ())

    return tuple(map(judge, qualities))


def mean_ratings(points: ItemScores, entry: DatasetEntry) -> tuple[Judged, ...]:
    """Return the qualities of a dataset with the mean ratings in its results, which contain no votes."""
    qualities = {quality.name: quality for quality in entry.qualities}
    return tuple(Judged(Quality(name, qualities[name].low, qualities[name].high, qualities[name].dimension),
                        np.empty((len(means), 0)), means) for name, means in points.human.items())


@dataclass(frozen=True, slots=True)
class TargetData:
    """A target with the scores (columns, items) of every column: everything that statistics need.

    Partial correlations control for `words`, the length of each item. `conversation` numbers the conversation of each
    item if several contexts belong to the same conversation.
    """

    dataset: str
    judged: Judged
    names: tuple[ColumnKey, ...]
    scores: Array
    system: Codes
    context: Codes
    words: Vector | None = None
    conversation: Codes | None = None

    @property
    def quality(self) -> str:
        return self.judged.quality.name

    @property
    def key(self) -> Target:
        return self.dataset, self.quality

    @property
    def units(self) -> Codes:
        """Groups of items that are swapped and resampled together: contexts, or conversations."""
        return self.context if self.conversation is None else self.conversation

    def values(self, statistic: str, level: str) -> Vector | None:
        """Return the statistic of every column, NaN if undefined; None if it cannot be computed for all at once."""
        if statistic not in OF_ROWS or level != estimates.ITEMS:
            return None
        return where_known(self.judged.means, self.scores, statistic)

    def scored(self, rows: Sequence[int] | None = None) -> TargetScores:
        """Return the ratings with the scores of the given columns, by default all."""
        return TargetScores(self.dataset, self.judged.means, self.scores if rows is None else self.scores[[*rows]],
                            self.units)

    @property
    def people(self) -> Panel:
        """The ratings of all items, without scores."""
        means = self.judged.means
        return Panel(means, means, self.system, self.context, self.words, self.conversation)

    def panel(self, row: int) -> Panel:
        return self.people.with_scores(self.scores[row])


def item_scores(dataset: Dataset, qualities: Collection[Judged], scored: Mapping[tuple[str, str], Scores],
                aggregations: Iterable[str] = ("mean",)) -> ItemScores:
    """Return the ratings and every selected column of a dataset, from scores by metric label and column suffix."""
    selected, scores = frozenset(aggregations), dict[ColumnKey, Vector]()
    for (label, suffix), metric_scores in scored.items():
        aligned = _aligned(dataset, metric_scores)
        for name in aligned:
            if _is_selected(name, aligned, selected):
                scores[label, name + suffix] = aligned[name]
                for dimension in (judged.quality.dimension for judged in qualities):
                    if (for_quality := of_quality(name, dimension)) in aligned:
                        scores[label, of_quality(name + suffix, dimension)] = aligned[for_quality]
    contexts = codes(item.context or item.id for item in dataset.items)
    conversation_codes = conversations(dataset.items)
    return ItemScores(
        dataset=dataset.card.name, items=tuple(item.id for item in dataset.items),
        systems=tuple(sys.intern(item.system or "") for item in dataset.items),  # few names, many items
        words=lengths(dataset.items), contexts=contexts, scores=scores,
        human={judged.quality.name: judged.means for judged in qualities},
        conversations=None if np.array_equal(conversation_codes, contexts) else conversation_codes)


def targets(points: ItemScores, qualities: Iterable[Judged]) -> Iterator[TargetData]:
    """Yield one target per quality, with the scores of every column."""
    names = tuple(columns_for_all_qualities(points.scores))
    system, words = codes(points.systems), points.words.astype(np.float64)

    def table(dimension: str) -> Array:
        scores = [on_quality(points.scores, name, dimension) for name in names]
        return np.array(scores, dtype=np.float64).reshape(len(names), len(points.items))

    shared = table("") if len(names) == len(points.scores) else None  # no column is specific to a quality
    for judged in qualities:
        scores = table(judged.quality.dimension) if shared is None else shared
        yield TargetData(points.dataset, judged, names, scores, system, points.contexts, words, points.conversations)


def correlations(target: TargetData, statistics: Sequence[tuple[str, str]] = DEFAULT,
                 reliability: Iterable[Reliability] = (), cache: Cache | None = None) -> Iterator[Correlation]:
    """Yield every statistic at its level for every column, corrected for attenuation if the reliability is known."""
    rater_reliability = next((row.value for row in reliability if row.method == RELIABILITY), math.nan)
    compute = functools.partial(_estimates, target, statistics)
    if cache:
        key = [*target.key, *statistics,
               digest(target.judged.means, target.system, target.context, target.words, target.conversation)]
        rows = cache.rows("correlations", key, list(map(digest, target.scores)), compute)
    else:
        rows = compute(range(len(target.names)))
    for row, (metric, column) in enumerate(target.names):
        for (statistic, level), (n, value, p, low, high, epsilon) in zip(
                statistics, rows[row].reshape(-1, 6).tolist(), strict=True):
            note = estimates.estimate(target.panel(row), statistic, level, value).note if math.isnan(value) else ""
            corrected = statistic in CORRECTED and level == estimates.ITEMS
            yield Correlation(*target.key, metric, column, estimates.full_name(statistic, level), int(n), value, p, low,
                              high, note, disattenuated(value, rater_reliability) if corrected else math.nan, epsilon)


def _estimates(target: TargetData, statistics: Sequence[tuple[str, str]], columns: Sequence[int]) -> Array:
    """Return n, value, p, interval and tie threshold of each statistic: (columns, 6 x statistics)."""
    names = tuple(target.names[column] for column in columns)
    selected = replace(target, names=names, scores=target.scores[[*columns]])
    values_by_statistic = {statistic: selected.values(*statistic) for statistic in statistics}
    numbers = []
    for row in range(len(columns)):
        items = selected.panel(row)
        for statistic, values in values_by_statistic.items():
            estimate = estimates.estimate(items, *statistic, None if values is None else float(values[row]))
            numbers.append((estimate.n, estimate.value, estimate.p, estimate.low, estimate.high, estimate.epsilon))
    return np.array(numbers, dtype=np.float64).reshape(len(columns), 6 * len(statistics))


def _aligned(dataset: Dataset, scores: Scores) -> dict[str, Vector]:
    """Return the columns in the order of the dataset's items, joined by id."""
    if scores.items == tuple(item.id for item in dataset.items):
        return dict(scores.columns)
    index = {item: row for row, item in enumerate(scores.items)}
    order = [index[item.id] for item in dataset.items]
    return {item: column[order] for item, column in scores.columns.items()}


def _is_selected(column: str, columns: Collection[str], selected: frozenset[str]) -> bool:
    """Return True if a column is not aggregated or its aggregation is selected; False for COLUMN@QUALITY."""
    if split_quality(column, columns)[1]:
        return False
    plain, aggregation = split_aggregate(column, columns)
    if plain != column and aggregation in AGGREGATIONS:  # column names of other libraries may contain a colon
        return aggregation in selected
    return "mean" in selected or of_aggregate(column, "sum") not in columns


def conversations(items: Sequence[Item]) -> Codes:
    """Number the conversations of items.

    An item continues another if its context begins with the other's context and response. If an opening, such as "Hi!"
    or "Hi!" followed by "Hello!", has several continuations, each of them is a separate conversation. An item without
    context that no other item continues is a conversation of its own.
    """
    contexts = [tuple(turn.text for turn in item.context) for item in items]
    answers = [(*context, item.response.text) if item.response else () for context, item in zip(contexts, items,
                                                                                                strict=True)]
    answered = set(answers)
    continued = {context: next((start for size in range(len(context), 0, -1) if (start := context[:size]) in answered),
                               ()) for context in sorted(set(contexts) - {()}, key=len)}  # the item that it continues
    continuations = Counter(answer[:-1] for answer in set(continued.values()) if answer)
    branches = Counter(branch[:-1] for branch in {context[:len(answer) + 1] for context, answer in continued.items()})
    opening_of = dict[tuple[str, ...], tuple[str, ...]]()  # the context with which each conversation begins
    for context, answer in continued.items():
        if answer and branches[answer] > 1:
            opening_of[context] = context[:len(answer) + 1]
        else:
            is_only = answer[1:] and continuations[answer[:-1]] == 1
            opening_of[context] = opening_of[answer[:-1]] if is_only else answer or context
    openings = set(opening_of.values())
    return codes(opening_of.get(context) or (answer if answer in openings else item.id)
                 for context, answer, item in zip(contexts, answers, items, strict=True))


def detectable_difference(dataset: Dataset) -> str:
    """State the difference between correlations that can be detected on a dataset's rated items, or else all items."""
    rated = {rating.item for rating in dataset.ratings if rating.votes}
    items = [item for item in dataset.items if not rated or item.id in rated]
    return detectable_text(len(items), len(set(conversations(items).tolist())))


def lengths(items: Sequence[Item]) -> Codes:
    """Count the words of each response, or of each whole dialogue, like the metric `length`."""
    turns = (item.context if item.response is None else (item.response,) for item in items)
    return np.array([sum(len(words(turn.text, item.language)) for turn in counted)
                     for item, counted in zip(items, turns, strict=True)], dtype=np.int64)
