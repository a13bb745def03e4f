"""The results of a run as rows that can be printed, saved and drawn; the leaderboard reads nothing else.

`harness.results.files` writes them to disk and reads them back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from harness.results.cache import Cache


@dataclass(frozen=True, slots=True)
class QualityEntry:
    """A quality of a dataset: its scale where known, and how many of the items have votes on it."""

    name: str
    dimension: str
    low: float | None
    high: float | None
    rated: int


@dataclass(frozen=True, slots=True)
class BoardId:
    """The identity of a board: a split, or those of its datasets with references, in a language or of a dimension."""

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
    """A dataset as it was in the run; `has` names what its items come with: references, context, facts.

    `ratings` counts pairs of an item and a quality with a vote, `votes` all votes, 0 where that is not known.
    `fingerprint` is the SHA-256 of the items, `ratings_fingerprint` that of the votes. Where `contexts`, the number of
    different contexts, those of one conversation as one, is below the number of items, rows are not independent.
    """

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
    def kind(self) -> str:
        """Sample or real, which never share a board."""
        return "sample" if self.origin == "sample" else "real"

    def on(self, board: str) -> bool:
        """Return True if the dataset is on the board of a name, or if the name is empty."""
        wanted = BoardId.parse(board)
        return wanted.split in ("", self.split) and wanted.part in ("", self.language, *self.has)


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """A metric as it was in the run; `signature` says everything its scores depend on.

    `system` says how it stands to its paper's system, `departures` where it differs, `fitted_on` what its weights or
    those of its inputs were fitted on: nothing, dialogues or ratings. `models` names the models whose numbers the
    scores are made of, none for a metric without, `pretrained_on` what those that are known by name had read before,
    and `parameters` how many these and its own networks have. `learned_on` names the datasets that it is scored on with
    weights that were learned on their ratings, `source` the bundle that its scores are from, if not of this run.
    """

    name: str
    title: str
    family: str
    columns: tuple[str, ...]
    needs: tuple[str, ...]
    levels: tuple[str, ...]
    paper: str
    scope: str
    trained_on: str
    signature: str
    models: tuple[str, ...] = ()
    learned_on: tuple[str, ...] = ()
    system: str = ""
    departures: tuple[str, ...] = ()
    fitted_on: str = ""
    parameters: int = 0
    pretrained_on: tuple[str, ...] = ()
    source: str = ""

    @property
    def badge(self) -> str:
        """How it stands to its paper's system, whether it was fitted on ratings, and which bundle its scores are of."""
        return "; ".join(filter(None, (self.system, "fitted on ratings" if self.fitted_on == "ratings" else "",
                                       f"scores from {self.source}" if self.source else "")))


def fitted(metrics: Iterable[MetricEntry], datasets: Iterable[DatasetEntry]) -> set[tuple[str, str]]:
    """The metrics with the datasets on whose real ratings their weights were learned: no correlation there counts."""
    real = {entry.name for entry in datasets if entry.kind == "real"}
    return {(entry.name, name) for entry in metrics for name in entry.learned_on if name in real}


@dataclass(frozen=True, slots=True)
class Look:
    """An evaluation during training: the mean training loss since the last one, and the loss over what is held out."""

    step: int
    loss: float
    held_out: float


@dataclass(frozen=True, slots=True)
class TrainingEntry:
    """Trained weights that metrics of the run read, and how they were made; `kept`: the step they are from."""

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
    curve: tuple[Look, ...]


@dataclass(frozen=True, slots=True)
class Correlation:
    """How well one column agrees with people on one quality. `value` is NaN where `note` says why.

    `p` is two-sided, for no correlation; `low` to `high` is the 95 % interval. `corrected` is the correlation corrected
    for rater unreliability: divided by the root of the reliability. Scores that differ by at most `epsilon` are ties of
    a pairwise accuracy.
    """

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
    """Which of two columns agrees better with people on one quality, and how sure that is.

    `delta` is the difference of their correlations, 0 or more; `value` the test's statistic where it has one. `p` is
    two-sided; `holm` and `bh` are adjusted over all pairs of columns on the quality.
    """

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
    """The comparisons on one quality by one statistic and test, an array for each field of `Comparison`.

    `better` and `worse` are places in `names`. Iterating gives the rows.
    """

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

    def __len__(self) -> int:
        """How many pairs of columns were compared."""
        return len(self.p)

    def __iter__(self) -> Iterator[Comparison]:
        """Row by row."""
        columns = [[self.names[place] for place in places.tolist()] for places in (self.better, self.worse)]
        numbers = [part.tolist() for part in (self.n, self.delta, self.value, self.p, self.holm, self.bh)]
        for row in zip(*columns, *numbers, strict=True):
            yield Comparison(self.dataset, self.quality, self.statistic, self.test, *row)

    def at(self, rows: npt.NDArray[np.bool_]) -> Comparisons:
        """Some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in (
            "better", "worse", "n", "delta", "value", "p", "holm", "bh")})


@dataclass(frozen=True, slots=True)
class Reliability:
    """How far the people themselves agree on one quality; NaN where `note` says why."""

    dataset: str
    quality: str
    method: str
    value: float
    items: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class RankingRow:
    """A column's place on a board under a ranking rule.

    `board` is dev or test, dev-references or test-references for the datasets that have some, more-zh for those of one
    language, dev:fluency for one dimension; `origin` is sample or real, which never share an average. `value` is NaN
    and `rank` None where the column has no correlation on some target of the board; it has one on `covered` of
    `targets`. `low` to `high` is the 95 % interval of the rank, on other contexts and datasets, where it was computed;
    `error` is the standard error of the value on other contexts of these datasets. `letters`: columns that share one
    cannot be distinguished by the draws.
    """

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


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """The ratings and scores of one dataset, item by item.

    `human` has the mean rating of each quality, `scores` the scores of each column (metric, column), with
    COLUMN@DIMENSION for a column of its own on a quality; NaN where there is none. All are float64 (items,).
    `words` counts those of the response, or of the whole dialogue; a system that is not known is "". Items with one
    number in `contexts` answer the same context; `conversations` is where contexts continue each other, and is drawn.
    """

    dataset: str
    items: tuple[str, ...]
    systems: tuple[str, ...]
    words: npt.NDArray[np.int64]
    contexts: npt.NDArray[np.int64]
    human: Mapping[str, npt.NDArray[np.float64]]
    scores: Mapping[tuple[str, str], npt.NDArray[np.float64]]
    conversations: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """An item on which people and metrics disagree: places are from 0, the lowest of its dataset, to 1, the highest.

    `metrics` is the median place over the metrics but the controls, `columns` the place by those that agree best with
    people. Where `quality` is "all qualities", `people` is the mean place over them, and `rating` the mean rating where
    they share a scale, else NaN. A whole dialogue has its last utterances as `context` and an empty `response`. Where
    `metric` is named, it is one that this metric alone places too high or too low, and `metrics` is its place.
    """

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
    """A table of an exhibit: texts under headings, the first column naming the row; `data` says what it is on."""

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: str = ""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A square of correlations, null where there is none, with a label for each row and column; `told` describes it."""

    title: str
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    told: str

    @classmethod
    def of(cls, title: str, labels: tuple[str, ...], values: npt.NDArray[np.float64], told: str) -> HeatMap:
        """The map of an array, (labels, labels), NaN where there is no correlation."""
        return cls(title, labels, tuple(tuple(value if math.isfinite(value) else None for value in row)
                                        for row in values.tolist()), told)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """The result of a study, or of recomputing a paper's tables: tables, heat maps, remarks.

    `kind` is study or challenge; `command` is what makes it again.
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
    """A dataset that a metric did not score, for a reason that the metric declares."""

    dataset: str
    metric: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A dataset on which a metric failed, with the exception."""

    dataset: str
    metric: str
    error: str


@dataclass(frozen=True, slots=True)
class Timing:
    """What it took to score one dataset with one metric, when it was scored.

    `alone` is without loading models, and with what another metric had read before; of a composition with its inputs.
    `day` is when that was, in ISO form.
    """

    dataset: str
    metric: str
    items: int
    seconds: float
    alone: float | None = None
    day: str = ""

    @property
    def cost(self) -> float:
        """The seconds by which metrics are compared."""
        return self.seconds if self.alone is None else self.alone


@dataclass(frozen=True, slots=True)
class Run:
    """What must be known to repeat the run; `command` is without the folders of this machine."""

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
    """Everything that a run writes. Pages are drawn from this alone."""

    run: Run
    datasets: tuple[DatasetEntry, ...]
    metrics: tuple[MetricEntry, ...]
    correlations: Sequence[Correlation]
    ranking: Sequence[RankingRow]
    skips: tuple[Skip, ...] = ()
    failures: tuple[Failure, ...] = ()
    comparisons: Sequence[Comparisons] = ()
    reliability: Sequence[Reliability] = ()
    trainings: tuple[TrainingEntry, ...] = ()
    examples: Sequence[Example] = ()
    points: Sequence[ItemScores] = field(default=(), compare=False)
    exhibits: tuple[Exhibit, ...] = field(default=(), compare=False)
    timings: Sequence[Timing] = field(default=(), compare=False)
    cache: Cache | None = field(default=None, compare=False)
    """Where what pages draw at random is kept; without it they draw anew."""
