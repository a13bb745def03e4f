"""From scores and ratings to correlations: one panel per quality and column, one estimate per statistic.

    Scores, Judged  --item_scores-->  ItemScores  --targets-->  TargetData  --correlations-->  Correlation

The results keep the `ItemScores`, so the same targets can be made of them later, without a metric running.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.dataset import Dataset, Item, Quality
from harness.results.cache import Cache, digest
from harness.results.item_scores import on_quality, plain
from harness.results.rows import Correlation, DatasetEntry, ItemScores, Reliability
from harness.scoring.score import AGGREGATIONS, Scores
from harness.statistics import estimates
from harness.statistics.panel import Array, Codes, Panel, Vector, alike, codes, panel
from harness.statistics.reliability import disattenuated
from metrics.column import of_quality, split_quality

DEFAULT = tuple((name, estimates.ITEMS) for name in estimates.DEFAULT)
"""The statistics of every run, each with its level."""
RELIABILITY = "split-half"
"""The ceiling that corrects a correlation for attenuation: it is of the mean of all votes, as the panels are."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A quality of a dataset with its votes and their mean per item, in the order of the items; NaN where none."""

    quality: Quality
    votes: tuple[tuple[float, ...], ...]
    means: Vector

    @property
    def rated(self) -> int:
        """How many items have votes."""
        return int(np.isfinite(self.means).sum())

    @property
    def usable(self) -> bool:
        """Whether any metric could correlate: three ratings that are not all the same."""
        rated = self.means[np.isfinite(self.means)]
        return rated.size >= 3 and bool(np.ptp(rated) > 0)


def judged(dataset: Dataset, wanted: Iterable[Quality]) -> tuple[Judged, ...]:
    """The mean ratings of each wanted quality, joined to the items by id."""
    votes = {(rating.item, rating.quality): rating.votes for rating in dataset.ratings}
    by_quality = {quality: tuple(votes.get((item.id, quality.name), ()) for item in dataset.items)
                  for quality in wanted}
    return tuple(Judged(quality, each, np.array([float(np.mean(own)) if own else np.nan for own in each]))
                 for quality, each in by_quality.items())


def rated(points: ItemScores, entry: DatasetEntry) -> tuple[Judged, ...]:
    """The mean ratings of a dataset from its results, which keep no votes."""
    known = {quality.name: quality for quality in entry.qualities}
    return tuple(Judged(Quality(name, known[name].low, known[name].high, known[name].dimension), (), means)
                 for name, means in points.human.items())


@dataclass(frozen=True, slots=True)
class TargetData:
    """One quality of a dataset with the scores (columns, items) of every column: all that statistics need.

    `words` is how long each item is, which a partial correlation holds constant; `conversation` is of each item, where
    some contexts are of the same one.
    """

    dataset: str
    judged: Judged
    names: tuple[tuple[str, str], ...]
    scores: Array
    system: Codes
    context: Codes
    words: Vector | None = None
    conversation: Codes | None = None

    @property
    def quality(self) -> str:
        """The quality's name."""
        return self.judged.quality.name

    @property
    def key(self) -> tuple[str, str]:
        """Dataset and quality."""
        return self.dataset, self.quality

    @property
    def units(self) -> Codes:
        """Which items are swapped and drawn as one: those of a context, or of a conversation."""
        return self.context if self.conversation is None else self.conversation

    def values(self, statistic: str, level: str) -> Vector | None:
        """The statistic of every column where it is known for many at once; NaN where a column has none."""
        of_rows = estimates.STATISTICS[statistic].of_rows
        if of_rows is None or level != estimates.ITEMS:
            return None
        values = np.full(len(self.names), np.nan)
        for rows, columns in alike(np.isfinite(self.scores) & np.isfinite(self.judged.means)):
            values[columns] = of_rows(self.judged.means[rows], self.scores[columns][:, rows])
        return values

    def panel(self, row: int) -> Panel:
        """The panel of one column."""
        return panel(self.scores[row], self.judged.means, self.system, self.context, self.words,
                     self.conversation)


def item_scores(dataset: Dataset, qualities: Collection[Judged], scored: Mapping[tuple[str, str], Scores],
                aggregations: Iterable[str] = ("mean",)) -> ItemScores:
    """The ratings and every selected column of a dataset; `scored` has metric label and column suffix as its key."""
    ways, scores = frozenset(aggregations), dict[tuple[str, str], Vector]()
    for (label, suffix), own in scored.items():
        aligned = _aligned(dataset, own)
        for name in aligned:
            if _wanted(name, aligned, ways):
                scores[label, name + suffix] = aligned[name]
                for dimension in (one.quality.dimension for one in qualities):
                    if of_quality(name, dimension) in aligned:
                        scores[label, of_quality(name + suffix, dimension)] = aligned[of_quality(name, dimension)]
    contexts, of_conversations = codes(item.context for item in dataset.items), conversations(dataset.items)
    return ItemScores(
        dataset=dataset.card.name, items=tuple(item.id for item in dataset.items),
        systems=tuple(sys.intern(item.system or "") for item in dataset.items),  # some hundred thousand times few names
        words=lengths(dataset.items),
        contexts=contexts, human={one.quality.name: one.means for one in qualities}, scores=scores,
        conversations=None if np.array_equal(of_conversations, contexts) else of_conversations)


def targets(points: ItemScores, qualities: Iterable[Judged]) -> Iterator[TargetData]:
    """One target per quality, with the scores of every column for it."""
    names = tuple(plain(points.scores))
    system, words = codes(points.systems), points.words.astype(np.float64)

    def table(dimension: str) -> Array:
        scores = [on_quality(points.scores, name, dimension) for name in names]
        return np.array(scores, dtype=np.float64).reshape(len(names), len(points.items))

    shared = table("") if len(names) == len(points.scores) else None  # no column has scores of its own for a quality
    for one in qualities:
        scores = table(one.quality.dimension) if shared is None else shared
        yield TargetData(points.dataset, one, names, scores, system, points.contexts, words, points.conversations)


def correlations(target: TargetData, statistics: Sequence[tuple[str, str]] = DEFAULT,
                 reliability: Iterable[Reliability] = (), cache: Cache | None = None) -> Iterator[Correlation]:
    """Every statistic, each at its level, for every column; corrected for rater unreliability where that is known."""
    ceiling = next((row.value for row in reliability if row.method == RELIABILITY), math.nan)
    make = functools.partial(_estimates, target, statistics)
    if cache:
        judged = digest(target.judged.means, target.system, target.context, target.words, target.conversation)
        rows = cache.rows("correlations", [*target.key, *statistics, judged], list(map(digest, target.scores)), make)
    else:
        rows = make(range(len(target.names)))
    for row, (metric, column) in enumerate(target.names):
        for (statistic, level), own in zip(statistics, rows[row].reshape(-1, 6).tolist(), strict=True):
            n, value, p, low, high, epsilon = own
            note = estimates.estimate(target.panel(row), statistic, level, value).note if math.isnan(value) else ""
            yield Correlation(target.dataset, target.quality, metric, column, estimates.full_name(statistic, level),
                              int(n), value, p, low, high, note, disattenuated(value, ceiling), epsilon)


def _estimates(target: TargetData, statistics: Sequence[tuple[str, str]], columns: Sequence[int]) -> Array:
    """The numbers of some columns: n, value, p, interval and threshold of each statistic, one after the other."""
    own = replace(target, names=tuple(target.names[place] for place in columns), scores=target.scores[list(columns)])
    known = [(*one, own.values(*one)) for one in statistics]
    made = [[estimates.estimate(items, statistic, level, None if values is None else float(values[row]))
             for statistic, level, values in known] for row, items in enumerate(map(own.panel, range(len(columns))))]
    return np.array([[number for one in row for number in (one.n, one.value, one.p, one.low, one.high, one.epsilon)]
                     for row in made], dtype=np.float64)


def _aligned(dataset: Dataset, scores: Scores) -> dict[str, Vector]:
    """The columns in the order of the dataset's items, joined by id."""
    if scores.items == tuple(item.id for item in dataset.items):
        return dict(scores.columns)
    place = {name: number for number, name in enumerate(scores.items)}
    order = [place[item.id] for item in dataset.items]
    return {name: column[order] for name, column in scores.columns.items()}


def _wanted(column: str, columns: Collection[str], ways: frozenset[str]) -> bool:
    """Whether a column was selected: turns together in one of the ways, or scores that are of no turns."""
    if split_quality(column, columns)[1]:
        return False  # it stands for the plain one on its quality
    plain, _, way = column.rpartition(":")
    if way in AGGREGATIONS and plain in columns:  # a column of another library can be named so by itself
        return way in ways
    return "mean" in ways or f"{column}:sum" not in columns


def conversations(items: Sequence[Item]) -> Codes:
    """Which conversation each item is of: one whose context begins with another's context and response continues it."""
    contexts = [tuple(turn.text for turn in item.context) for item in items]
    answered = {(*own, item.response.text) for own, item in zip(contexts, items, strict=True) if item.response}
    first = dict[tuple[str, ...], tuple[str, ...]]()  # the context with which the conversation of each begins
    for own in sorted(set(contexts), key=len):
        earlier = next((own[:size - 1] for size in range(len(own), 0, -1) if own[:size] in answered), own)
        first[own] = first.get(earlier, own)
    return codes(first[own] for own in contexts)


def lengths(items: Sequence[Item]) -> Codes:
    """How many words each item has."""
    return np.fromiter(map(_words, items), dtype=np.int64, count=len(items))


def _words(item: Item) -> int:
    """Words of the response, as the metric `length` counts them, or of the whole dialogue."""
    from metrics.text.words import words

    turns = item.context if item.response is None else (item.response,)
    return sum(len(words(turn.text, item.language)) for turn in turns)
