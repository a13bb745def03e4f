"""The results of a run as rows that can be printed, saved and drawn; pages are rendered from them alone.

`KEY` of a row names the fields that identify it. `TABLES` has the class of the rows of every table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from benchmarks.errors import plural as plural
from harness.results.cache import Cache
from harness.results.decision_rows import Decision, Disagreement, Firmness, VoteCount
from metrics.metric import line

Target: TypeAlias = tuple[str, str]
"""Dataset and quality."""

ColumnKey: TypeAlias = tuple[str, str]
"""Metric and column."""


@dataclass(frozen=True, slots=True)
class QualityEntry:
    """A quality of a dataset: its scale if known, the number of items with votes, a warning if nearly all are equal."""

    name: str
    dimension: str
    low: float | None
    high: float | None
    rated: int
    warning: str = ""


@dataclass(frozen=True, slots=True)
class BoardId:
    """A board: a split, perhaps limited to its datasets with references or in a language, or to one dimension."""

    split: str
    part: str = ""
    dimension: str = ""

    @classmethod
    def parse(cls, name: str) -> BoardId:
        """Read a name such as dev, test-references, more-zh or dev:fluency."""
        group, _, dimension = name.partition(":")
        split, _, part = group.partition("-")
        return cls(split, part, dimension)

    @property
    def group(self) -> str:
        """The name without the dimension."""
        return f"{self.split}-{self.part}" if self.part else self.split

    def __str__(self) -> str:
        return f"{self.group}:{self.dimension}" if self.dimension else self.group


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A dataset as it was in the run; `has` names the optional fields of its items: references, context, facts.

    `ratings` counts pairs of an item and a quality with a vote, `votes` all votes, 0 if unknown. `fingerprint` is the
    SHA-256 of the items, `ratings_fingerprint` that of the votes. `contexts` counts different contexts, those of one
    conversation once; if there are fewer contexts than items, rows are not independent.
    """

    KEY: ClassVar = ("name",)
    name: str
    title: str
    split: str
    level: str
    origin: str
    fingerprint: str
    items: int
    ratings: int
    qualities: tuple[QualityEntry, ...]
    licence: str
    citation: str
    notes: str = ""
    has: tuple[str, ...] = ()
    contexts: int = 0
    ratings_fingerprint: str = ""
    language: str = "en"
    votes: int = 0

    @property
    def kind(self) -> Literal["real", "sample"]:
        """`sample` or `real`, which never share a board."""
        return "sample" if self.origin == "sample" else "real"

    def on(self, board: str) -> bool:
        """Return True if the dataset is on the named board, or if the name is empty."""
        wanted = BoardId.parse(board)
        return wanted.split in ("", self.split) and wanted.part in ("", self.language, *self.has)


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """A metric as it was in the run; `signature` identifies everything its scores depend on.

    `system` compares it to its paper's system, `departures` lists differences, `fitted_on` is "", dialogues or ratings.
    `models` names the models that it uses, `pretrained_on` their corpora as far as known, `parameters` counts the
    parameters of all its networks. `learned_on` names the datasets on whose ratings its weights were fitted, `source`
    the bundle that its scores are from, if not from this run, `named` the title requested for the run. `notes` are
    those of its card.
    """

    KEY: ClassVar = ("name",)
    name: str
    title: str
    family: str
    columns: tuple[str, ...]
    needs: tuple[str, ...]
    levels: tuple[str, ...]
    paper: str
    scope: str
    trained_on: str
    signature: Mapping[str, str]
    models: tuple[str, ...] = ()
    learned_on: tuple[str, ...] = ()
    system: str = ""
    departures: tuple[str, ...] = ()
    fitted_on: str = ""
    parameters: int = 0
    pretrained_on: tuple[str, ...] = ()
    source: str = ""
    named: str = ""
    notes: str = ""

    @property
    def signed(self) -> str:
        """The signature as one line."""
        return line(self.signature)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of a composite's inputs, without options."""
        return tuple(dict.fromkeys(value for name, value in self.signature.items() if name.endswith(": metric")))

    @property
    def badge(self) -> str:
        """Its relation to its paper's system, with a warning if it was fitted on ratings or comes from a bundle."""
        return "; ".join(filter(None, (self.system, "fitted on ratings" if self.fitted_on == "ratings" else "",
                                       f"scores from {self.source}" if self.source else "")))


def fitted(metrics: Iterable[MetricEntry], datasets: Iterable[DatasetEntry]) -> set[tuple[str, str]]:
    """Return pairs of a metric and a real dataset on whose ratings it was fitted: correlations there do not count."""
    real = {entry.name for entry in datasets if entry.kind == "real"}
    return {(entry.name, name) for entry in metrics for name in entry.learned_on if name in real}


@dataclass(frozen=True, slots=True)
class EvalPoint:
    """An evaluation during training: the mean training loss since the previous one, and the validation loss."""

    step: int
    loss: float
    held_out: float


@dataclass(frozen=True, slots=True)
class TrainingEntry:
    """Trained weights that metrics of the run use, and their training; `kept` is the step at which they were saved."""

    KEY: ClassVar = ("name", "encoder", "digest")
    name: str
    metrics: tuple[str, ...]
    encoder: str
    digest: str
    corpora: tuple[str, ...]
    seed: int
    steps: int
    kept: int
    device: str
    seconds: float
    command: str
    commit: str | None
    curve: tuple[EvalPoint, ...]


@dataclass(frozen=True, slots=True)
class Correlation:
    """The correlation of a column with the ratings of a quality. `value` is NaN where `note` gives a reason.

    `p` tests against zero correlation, two-sided; `low` to `high` is the 95 % interval. `corrected` is corrected for
    rater unreliability: divided by the square root of the reliability. For a pairwise accuracy, scores that differ by
    at most `epsilon` are ties.
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
    and `rank` None. If only those on which its metric was fitted are missing, `value` is over the others, and `rank` is
    the rank there among the complete columns. `low` to `high` is the 95 % interval of the rank, bootstrapped over
    contexts and datasets; `error` is the standard error of the value, over contexts only. Columns that share one of
    `letters` are not significantly different.
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


@dataclass(frozen=True, slots=True)
class Example:
    """An item on which people and metrics disagree; ranks are scaled from 0, the lowest in its dataset, to 1.

    `people` is the rank by the ratings, `metrics` the median rank by the metrics except controls, `columns` the ranks
    by the columns that agree best with people. If `quality` is "all qualities", `people` is the mean over them, and
    `rating` the mean rating if they share a scale, else NaN. A dialogue has its last utterances as `context` and an
    empty `response`. If `metric` is named, `metrics` is the rank by this metric, which is too high or too low.
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
class Grid:
    """A table of an exhibit: strings under headings, with row names in the first column; `data` describes the data."""

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: str = ""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A square matrix of correlations, None if missing, with a label per row and column; `told` is its description."""

    title: str
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    told: str

    @classmethod
    def of(cls, title: str, labels: tuple[str, ...], values: npt.NDArray[np.float64], told: str) -> HeatMap:
        """Return the map of an array (labels, labels), with NaN for missing correlations."""
        return cls(title, labels, tuple(tuple(value if math.isfinite(value) else None for value in row)
                                        for row in values.tolist()), told)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """The result of a study, or of recomputing a paper's tables: tables, heat maps, remarks.

    `kind` is study or challenge; `command` reproduces it.
    """

    name: str
    kind: str
    title: str
    lead: str
    command: str
    grids: tuple[Grid, ...]
    maps: tuple[HeatMap, ...] = ()
    remarks: tuple[str, ...] = ()


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

    `alone` is the time that the metric would take by itself: without loading models, but with the texts that are cached
    because another metric has read them, and with the inputs of a composite.
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
    """All tables of a run, from which the pages are rendered; `cache` stores the random draws of the pages."""

    run: Run
    datasets: Sequence[DatasetEntry]
    metrics: Sequence[MetricEntry]
    correlations: Sequence[Correlation]
    ranking: Sequence[RankingRow]
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
