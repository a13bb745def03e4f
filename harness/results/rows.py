"""The results of a run as rows that can be printed, saved and drawn; pages are rendered from them alone.

`KEY` of a row names the fields that identify it. `TABLES` has the class of the rows of every table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from benchmarks.errors import plural as plural
from harness.results.cache import Cache
from harness.results.decision_rows import Decision, Disagreement, Firmness, VoteCount
from harness.results.entries import DatasetEntry, MetricEntry, TrainingEntry
from harness.results.exhibits import Exhibit

Target: TypeAlias = tuple[str, str]
"""Dataset and quality."""

ColumnKey: TypeAlias = tuple[str, str]
"""Metric and column."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """The correlation of a column with the ratings of a quality. `value` is NaN where `note` gives a reason.

    `p` tests against zero correlation, two-sided; `low` to `high` is the 95 % interval. `corrected` is corrected for
    rater unreliability: divided by the square root of the reliability; NaN except for correlations over items. For a
    pairwise accuracy, scores that differ by at most `epsilon` are ties.
    """

    KEY: ClassVar = ("dataset", "quality", "metric", "column", "statistic")
    dataset: str
    quality: str
    metric: str
    column: str
    statistic: str
    n: int
    value: float
    p: float
    low: float
    high: float
    note: str = ""
    corrected: float = math.nan
    epsilon: float = math.nan


@dataclass(frozen=True, slots=True)
class Comparison:
    """A test of the difference between two columns' correlations on a quality.

    `delta` is the difference, 0 or more; `value` is the test statistic if there is one. `p` is two-sided; `holm` and
    `bh` are adjusted over all pairs of columns on the quality.
    """

    KEY: ClassVar = ("dataset", "quality", "statistic", "test", "better", "worse")
    dataset: str
    quality: str
    statistic: str
    test: str
    better: str
    worse: str
    n: int
    delta: float
    value: float
    p: float
    holm: float
    bh: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """The comparisons on a quality by a statistic and test, as arrays; `better` and `worse` index `names`."""

    dataset: str
    quality: str
    statistic: str
    test: str
    names: tuple[str, ...]
    better: npt.NDArray[np.int64]
    worse: npt.NDArray[np.int64]
    n: npt.NDArray[np.int64]
    delta: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]
    p: npt.NDArray[np.float64]
    holm: npt.NDArray[np.float64]
    bh: npt.NDArray[np.float64]

    KEY: ClassVar = ("dataset", "quality", "statistic", "test")
    SIDES: ClassVar = ("better", "worse")
    NUMBERS: ClassVar = ("n", "delta", "value", "p", "holm", "bh")

    def __len__(self) -> int:
        return len(self.p)

    def __iter__(self) -> Iterator[Comparison]:
        columns = [[self.names[index] for index in getattr(self, side).tolist()] for side in self.SIDES]
        for row in zip(*columns, *(getattr(self, name).tolist() for name in self.NUMBERS), strict=True):
            yield Comparison(self.dataset, self.quality, self.statistic, self.test, *row)

    def at(self, rows: npt.NDArray[np.bool_]) -> Comparisons:
        return replace(self, **{name: getattr(self, name)[rows] for name in (*self.SIDES, *self.NUMBERS)})


@dataclass(frozen=True, slots=True)
class Reliability:
    """The agreement among raters on a quality; NaN if `note` gives a reason."""

    KEY: ClassVar = ("dataset", "quality", "method")
    dataset: str
    quality: str
    method: str
    value: float
    items: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RankingRow:
    """A column on a board under a ranking rule.

    `board` is a `BoardId` as a string: dev, test-references, more-zh, dev:fluency; `origin` is sample or real, which
    never share an average. The column has correlations on `covered` of `targets`. If some are missing, `value` is NaN
    and `rank` None. If only targets on which its metric was fitted are missing, `value` is over the others, and `rank`
    is its rank there among the complete columns. `low` to `high` is the 95 % interval of the rank, bootstrapped over
    contexts and datasets; `error` is the standard error of the value, over contexts only. Columns that share one of
    `letters` are not significantly different. All four are missing with fewer than six contexts.
    """

    KEY: ClassVar = ("board", "origin", "rule", "statistic", "metric", "column")
    board: str
    origin: str
    rule: str
    statistic: str
    metric: str
    column: str
    value: float
    rank: int | None
    covered: int
    targets: int
    low: float = math.nan
    high: float = math.nan
    letters: str = ""
    error: float = math.nan

    @property
    def complete(self) -> bool:
        """True if the value is over all targets."""
        return self.rank is not None and 0 < self.targets <= self.covered and math.isfinite(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """The ratings and scores of one dataset, item by item.

    `human` has the mean ratings by quality, `scores` the scores by metric and column, where COLUMN@DIMENSION is for one
    quality; float64 (items,), NaN if missing. `words` counts the words of the response or dialogue; an unknown system
    is "". Items with the same number in `contexts` answer the same context; `conversations` numbers the conversations
    if one context can continue another.
    """

    KEY: ClassVar = ("dataset",)
    dataset: str
    items: tuple[str, ...]
    systems: tuple[str, ...]
    words: npt.NDArray[np.int64]
    contexts: npt.NDArray[np.int64]
    human: Mapping[str, npt.NDArray[np.float64]]
    scores: Mapping[ColumnKey, npt.NDArray[np.float64]]
    conversations: npt.NDArray[np.int64] | None = None

    @property
    def units(self) -> npt.NDArray[np.int64]:
        """Groups of items that depend on each other: contexts, or conversations."""
        return self.contexts if self.conversations is None else self.conversations


@dataclass(frozen=True, slots=True)
class Example:
    """An item on which people and metrics disagree; ranks are scaled from 0, the lowest in its dataset, to 1.

    `people` is the rank by the ratings, `metrics` the median rank by the metrics except controls, `columns` the ranks
    by the columns that agree best with people. If `quality` is "all qualities", `people` is the mean over them, and
    `rating` the mean rating if they share a scale, else NaN. A dialogue has its last utterances as `context` and an
    empty `response`. If `metric` is set, `metrics` is the rank by that metric, which is too high or too low.
    """

    KEY: ClassVar = ("dataset", "quality", "item")
    dataset: str
    quality: str
    item: str
    system: str
    context: tuple[str, ...]
    response: str
    rating: float
    people: float
    metrics: float
    columns: tuple[tuple[str, float], ...]
    metric: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """A dataset that a metric did not score, with the reason."""

    KEY: ClassVar = ("dataset", "metric")
    dataset: str
    metric: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A dataset on which a metric failed, with the exception."""

    KEY: ClassVar = ("dataset", "metric")
    dataset: str
    metric: str
    error: str


@dataclass(frozen=True, slots=True)
class Timing:
    """The time that scoring a dataset with a metric took; `day` is the date in ISO format.

    `items` is 0 if a judge's answers were already stored, so that the time says nothing about scoring.

    `alone` is the time that the metric would take by itself: without loading models, but reusing texts that another
    metric has cached, and including the inputs of a composite.
    """

    KEY: ClassVar = ("dataset", "metric")
    dataset: str
    metric: str
    items: int
    seconds: float
    alone: float | None = None
    day: str = ""

    @property
    def cost(self) -> float:
        """The seconds by which metrics are compared: `alone` if known."""
        return self.seconds if self.alone is None else self.alone


@dataclass(frozen=True, slots=True)
class Run:
    """The facts needed to repeat the run; `command` omits local folders."""

    version: str
    commit: str | None
    seed: int
    device: str
    options: Mapping[str, Any]
    python: str
    platform: str
    packages: Mapping[str, str]
    command: str = "harness run --all"


@dataclass(frozen=True, slots=True)
class Results:
    """All tables of a run, from which the pages are rendered; `cache` stores statistics that the pages compute."""

    run: Run
    datasets: Sequence[DatasetEntry]
    metrics: Sequence[MetricEntry] = ()
    correlations: Sequence[Correlation] = ()
    ranking: Sequence[RankingRow] = ()
    skips: Sequence[Skip] = ()
    failures: Sequence[Failure] = ()
    comparisons: Sequence[Comparisons] = ()
    reliability: Sequence[Reliability] = ()
    firmness: Sequence[Firmness] = ()
    disagreement: Sequence[Disagreement] = ()
    vote_counts: Sequence[VoteCount] = ()
    decisions: Sequence[Decision] = ()
    trainings: Sequence[TrainingEntry] = ()
    examples: Sequence[Example] = ()
    points: Sequence[ItemScores] = field(default=(), compare=False)
    timings: Sequence[Timing] = field(default=(), compare=False)
    exhibits: tuple[Exhibit, ...] = field(default=(), compare=False)
    cache: Cache | None = field(default=None, compare=False)


TABLES: Mapping[str, type[Any]] = {name: get_args(hint)[0] for name, hint in get_type_hints(Results).items()
                                   if get_origin(hint) is Sequence}
"""Every table of the results, with the class of its rows."""


def tables_by(*fields: str) -> tuple[str, ...]:
    """Return the tables with one of these fields in the key of their rows."""
    return tuple(name for name, kind in TABLES.items() if {*fields} & {*kind.KEY})
