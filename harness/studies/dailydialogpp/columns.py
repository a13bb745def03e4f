"""Columns of metrics on DailyDialog++: scored with references in each way, a threshold set, judged.

A metric without references is scored once. One that compares with references is scored with a single one, and with
several by the largest, the mean, and in the standard way of its paper; where the standard way is one of the others it
is not listed again, and a column that no reference moves is listed once. An exception fails only this metric.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.corpora.dailydialogpp import Context, Kind, Part
from harness.errors import ScoringFailed
from harness.scoring.progress import Progress
from harness.scoring.score import Scores
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics.panel import Vector
from harness.studies.dailydialogpp.accuracy import Confusion, Threshold, confusion, taken, threshold
from harness.studies.dailydialogpp.changes import Change
from harness.studies.dailydialogpp.replies import KINDS, Beside, Replies, make_replies
from metrics.metric import Metric, options
from metrics.models.service import Models
from metrics.registry import Chosen

Way: TypeAlias = Literal["none", "single", "max", "avg", "standard"]
"""How references are used; `none` is no reference at all."""

OPTION: dict[Way, str] = {"max": "max", "avg": "mean", "standard": "standard"}
"""The value of a metric's option `references` for each way of using several."""

NEGATIVES: tuple[Kind, ...] = ("random", "adversarial")
WEIGHTED = ("delta-bleu",)
"""Metrics that read the weights of references: only they get irrelevant ones."""
BLENDS = {"ruber", "bert-ruber"}
"""Columns of trained metrics that mix a learnt probability with a cosine."""


@dataclass(frozen=True, slots=True)
class ReferenceUse:
    """A metric with the way in which it uses references; `main` marks the way that stands for the metric."""

    label: str
    metric: Metric
    way: Way
    beside: Beside
    main: bool


@dataclass(frozen=True, slots=True)
class ScoredColumn:
    """A column in one way of using references.

    `at_best` is the accuracy at the threshold that is best on the development part, for trained metrics as well.
    `shares` is the part of the changed relevant replies that still counts as relevant; only main columns have it.
    `training` is the metric's option `negatives`, where it has one: the irrelevant replies that it was trained with.
    """

    label: str
    name: str
    column: str
    way: Way
    main: bool
    training: str | None
    threshold: Threshold
    scores: Vector
    matrices: Mapping[Kind, Confusion]
    at_best: Mapping[Kind, float]
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass
class ReplyScores:
    """The replies of both parts, and their scores from the store or anew; `skips` and `failures` say what has none."""

    contexts: Mapping[Part, Sequence[Context]]
    changes: Mapping[str, Change]
    seed: int
    models: Models
    store: ScoreStore
    progress: Progress
    skips: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    _made: dict[tuple[str, ...], Replies] = field(default_factory=dict)

    def replies(self, part: Part, beside: Beside, kinds: Sequence[Kind] = KINDS, change: str = "unchanged") -> Replies:
        """The replies of these kinds with these references."""
        key = (part, beside, *kinds, change)
        if key not in self._made:
            name = f"dailydialogpp {part}" + (f" {change}" if change != "unchanged" else "")
            self._made[key] = make_replies(name, self.contexts[part], beside, self.seed, kinds, self.changes[change])
        return self._made[key]

    def scores(self, use: ReferenceUse, replies: Replies) -> Scores | None:
        """The scores of the replies, in their order; None where there are none, with the reason noted."""
        if use.label in self.skips or use.label in self.failures:
            return None
        self.progress.show(f"{replies.dataset.card.name} {use.label}")
        result = Scorer(replies.dataset, self.models, self.store).attempt(use.metric)
        if isinstance(result, ScoringFailed):
            self.failures[use.label] = str(result)
            self.progress.line(f"{use.label} crashed: {result}")
        elif isinstance(result, Exception):
            self.skips[use.label] = str(result)
        else:
            return result
        return None


def columns(chosen: Chosen, scores: ReplyScores) -> list[ScoredColumn]:
    """Every column of a metric in every way; none where it cannot be scored, and then `scores` knows why."""
    rows: list[ScoredColumn] = []
    shares: dict[str, dict[str, float]] = {}
    for use in uses(chosen):
        own = _scored(use, chosen, scores)
        if use.main and own:
            shares = _shares(use, own, scores)
        rows += own
    if chosen.label in scores.skips or chosen.label in scores.failures:
        return []
    return [row for column in chosen.metric.card.columns
            for row in _distinct([row for row in rows if row.column == column], shares.get(column, {}))]


def uses(chosen: Chosen) -> Iterator[ReferenceUse]:
    """The ways in which a metric is scored, the main one last."""
    metric = chosen.metric
    has = options(metric)
    if not ("references" in metric.card.needs or has.get("against") == "references"
            or ("references" in has and "against" not in has)):
        yield ReferenceUse(chosen.label, metric, "none", "none", main=True)
        return
    if metric.card.name in WEIGHTED:
        yield ReferenceUse(chosen.label, metric, "standard", "weighted", main=True)
        return
    value = getattr(metric, "references", "")
    ways = [way for way in OPTION if value in OPTION.values()]
    if "references=" in chosen.suffix:
        ways = [way for way in ways if OPTION[way] == value]
    yield ReferenceUse(chosen.label, metric, "single", "single", main=not ways)
    for way in ways:
        own = dataclasses.replace(metric, references=OPTION[way])  # type: ignore[type-var]
        yield ReferenceUse(chosen.label, own, way, "several", main=way == ways[-1])


def _scored(use: ReferenceUse, chosen: Chosen, scores: ReplyScores) -> list[ScoredColumn]:
    """Scores on both parts, thresholds from the first, confusion matrices on the second."""
    whole = use.metric.card.scope == "dataset"  # then the other replies matter, and should be as in the test
    tuning = scores.replies("dev", use.beside, KINDS if whole else ("positive", "random"))
    test = scores.replies("test", use.beside)
    before, after = scores.scores(use, tuning), scores.scores(use, test)
    if before is None or after is None:
        return []
    tuned, relevant = tuning.kinds != "adversarial", tuning.kinds == "positive"
    rows = []
    for column in use.metric.card.columns:
        own = before.columns[column][tuned], relevant[tuned]
        probability = column not in BLENDS and not column.endswith(("-referenced", "-mlm"))
        at = threshold(*own, use.metric.card.family == "trained" and probability)
        best = threshold(*own, trained=False)
        values = after.columns[column]
        rows.append(ScoredColumn(
            use.label, column + chosen.suffix, column, use.way, False, getattr(use.metric, "negatives", None), at,
            values, {kind: confusion(values, test, kind, at.value) for kind in NEGATIVES},
            {kind: confusion(values, test, kind, best.value).accuracy for kind in NEGATIVES}))
    return rows


def _shares(use: ReferenceUse, own: Sequence[ScoredColumn], scores: ReplyScores) -> dict[str, dict[str, float]]:
    """For each column and change the share that still counts as relevant, of the replies that have a score."""
    shares: dict[str, dict[str, float]] = {row.column: {} for row in own}
    for change in scores.changes:
        changed = None
        if change != "unchanged":
            changed = scores.scores(use, scores.replies("test", use.beside, ("positive",), change))
            if changed is None:
                continue
        for row in own:
            values = (changed.columns[row.column] if changed is not None else
                      row.scores[scores.replies("test", use.beside).kinds == "positive"])
            relevant = taken(values, row.threshold.value)
            shares[row.column][change] = float(np.nanmean(relevant)) if np.isfinite(relevant).any() else np.nan
    return shares


def _distinct(own: list[ScoredColumn], shares: Mapping[str, float]) -> list[ScoredColumn]:
    """The ways of a column; without the standard way where it is one of the others, which is then the main one.

    A column that has the same scores in every way takes no reference.
    """
    if not own:
        return []
    if len(own) > 1 and all(np.array_equal(row.scores, own[0].scores, equal_nan=True) for row in own):
        return [dataclasses.replace(own[-1], way="none", main=True, shares=shares)]
    last = own[-1]
    same = next((row for row in own[:-1] if row.way != "single"
                 and np.array_equal(row.scores, last.scores, equal_nan=True)), None)
    main = same or last
    return [dataclasses.replace(row, main=True, shares=shares) if row is main else row
            for row in (own[:-1] if same else own)]
