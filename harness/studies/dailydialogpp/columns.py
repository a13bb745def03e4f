"""Columns of metrics on DailyDialog++, scored with each use of references, with their thresholds and accuracies.

A metric without references is scored once. A metric with references is scored with a single reference and with several,
combined by their maximum, their mean and the method of its paper; the paper's method is omitted if it gives the same
scores as another. A column that ignores references is listed once. If a metric raises an exception, only that metric
fails.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from benchmarks.corpora.dailydialogpp import Context, Kind, Part
from harness.errors import ScoringFailed
from harness.scoring.progress import Progress
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics.panel import Vector
from harness.studies.dailydialogpp.accuracy import Confusion, Threshold, classify, confusion, threshold
from harness.studies.dailydialogpp.replies import KINDS, Change, References, Replies, make_replies
from metrics.metric import Metric, options
from metrics.models.service import Models
from metrics.registry import Chosen

ReferenceMode: TypeAlias = Literal["none", "single", "max", "avg", "standard"]
"""The use of references; `none` means that no reference is used."""

OPTION_VALUES: dict[ReferenceMode, str] = {"max": "max", "avg": "mean", "standard": "standard"}
"""The value of a metric's option `references` for each mode that uses several references."""

NEGATIVES: tuple[Kind, ...] = ("random", "adversarial")
WEIGHTED_METRICS = ("delta-bleu",)  # metrics that use the weights of references; only these get irrelevant references
BLENDS = {"ruber", "bert-ruber"}  # columns of trained metrics that mix a learnt probability with a cosine


class ReferenceUse(NamedTuple):
    """A metric, how it combines references, and which references it gets."""

    metric: Metric
    mode: ReferenceMode
    references: References


@dataclass(frozen=True, slots=True)
class ScoredColumn:
    """A column with one use of references.

    `best_accuracies` are at the best threshold on the development part, for trained metrics as well. `main` marks
    the use that represents the metric; only such columns have `shares`, the shares of changed relevant replies that
    still count as relevant. `negatives` is the metric's option of that name, the irrelevant replies of its training.
    """

    label: str
    name: str
    column: str
    mode: ReferenceMode
    negatives: str | None
    threshold: Threshold
    scores: Vector
    matrices: Mapping[Kind, Confusion]
    best_accuracies: Mapping[Kind, float]
    main: bool = False
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass
class ReplyScores:
    """The replies of both parts and their scores; `skips` and `failures` hold the reasons for missing scores."""

    contexts: Mapping[Part, Sequence[Context]]
    changes: Mapping[str, Change]
    seed: int
    models: Models
    store: ScoreStore
    progress: Progress
    skips: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    _replies: dict[tuple[str, ...], Replies] = field(default_factory=dict)

    def replies(self, part: Part, references: References, kinds: Sequence[Kind] = KINDS, change: str = "unchanged",
                ) -> Replies:
        key = (part, references, *kinds, change)
        if key not in self._replies:
            name = f"dailydialogpp {part}" + (f" {change}" if change != "unchanged" else "")
            self._replies[key] = make_replies(name, self.contexts[part], references, self.seed, kinds,
                                              self.changes[change])
        return self._replies[key]

    def scores(self, label: str, metric: Metric, replies: Replies) -> Mapping[str, Vector]:
        """Return the columns of a metric on the replies; if it fails, record the reason and return no columns."""
        if self.is_missing(label):
            return {}
        self.progress.show(f"{replies.dataset.card.name} {label}")
        result = Scorer(replies.dataset, self.models, self.store).attempt(metric)
        if not isinstance(result, Exception):
            return result.columns
        if isinstance(result, ScoringFailed):
            self.failures[label] = str(result)
            self.progress.line(f"{label} crashed: {result}")
        else:
            self.skips[label] = str(result)
        return {}

    def is_missing(self, label: str) -> bool:
        return label in self.skips or label in self.failures


def columns(chosen: Chosen, scores: ReplyScores) -> list[ScoredColumn]:
    *others, main = uses(chosen)
    rows = [row for use in others for row in _score_use(use, chosen, scores)]
    rows += (scored := _score_use(main, chosen, scores))
    shares = _shares(chosen.label, main, scored, scores) if scored else {}
    if scores.is_missing(chosen.label):
        return []
    return [row for column in chosen.metric.card.columns
            for row in _distinct([row for row in rows if row.column == column], shares.get(column, {}))]


def uses(chosen: Chosen) -> Iterator[ReferenceUse]:
    """Yield the uses of references with which a metric is scored, the main one last."""
    metric = chosen.metric
    option_values = options(metric)
    if not ("references" in metric.card.needs or option_values.get("against") == "references"
            or ("references" in option_values and "against" not in option_values)):
        yield ReferenceUse(metric, "none", "none")
        return
    if metric.card.name in WEIGHTED_METRICS:
        yield ReferenceUse(metric, "standard", "weighted")
        return
    value = option_values.get("references", "")
    modes = [mode for mode in OPTION_VALUES if value in OPTION_VALUES.values()]
    if "references=" in chosen.suffix:
        modes = [mode for mode in modes if OPTION_VALUES[mode] == value]
    yield ReferenceUse(metric, "single", "single")
    for mode in modes:
        variant = dataclasses.replace(metric, references=OPTION_VALUES[mode])  # type: ignore[type-var]
        yield ReferenceUse(variant, mode, "several")


def _score_use(use: ReferenceUse, chosen: Chosen, scores: ReplyScores) -> list[ScoredColumn]:
    card = use.metric.card
    whole_dataset = card.scope == "dataset"  # scores depend on all replies, so both parts need the same kinds
    tuning = scores.replies("dev", use.references, KINDS if whole_dataset else ("positive", "random"))
    test = scores.replies("test", use.references)
    dev_scores, test_scores = (scores.scores(chosen.label, use.metric, replies) for replies in (tuning, test))
    if scores.is_missing(chosen.label):
        return []
    tuned, relevant = tuning.kinds != "adversarial", tuning.kinds == "positive"
    rows = []
    for column in card.columns:
        probability = column not in BLENDS and not column.endswith(("-referenced", "-mlm"))
        known, labels, values = dev_scores[column][tuned], relevant[tuned], test_scores[column]
        chosen_threshold = threshold(known, labels, card.family == "trained" and probability)
        best = threshold(known, labels, trained=False)
        rows.append(ScoredColumn(
            chosen.label, column + chosen.suffix, column, use.mode, options(use.metric).get("negatives"),
            chosen_threshold, values,
            {kind: confusion(values, test, kind, chosen_threshold.value) for kind in NEGATIVES},
            {kind: confusion(values, test, kind, best.value).accuracy for kind in NEGATIVES}))
    return rows


def _shares(label: str, use: ReferenceUse, rows: Sequence[ScoredColumn], scores: ReplyScores,
            ) -> dict[str, dict[str, float]]:
    shares: dict[str, dict[str, float]] = {row.column: {} for row in rows}
    positive = scores.replies("test", use.references).kinds == "positive"
    for change in scores.changes:
        values = {row.column: row.scores[positive] for row in rows} if change == "unchanged" else scores.scores(
            label, use.metric, scores.replies("test", use.references, ("positive",), change))
        for row in rows if values else ():
            relevant = classify(values[row.column], row.threshold.value)
            shares[row.column][change] = float(np.nanmean(relevant)) if np.isfinite(relevant).any() else np.nan
    return shares


def _distinct(rows: list[ScoredColumn], shares: Mapping[str, float]) -> list[ScoredColumn]:
    """Drop the standard mode if another mode with several references has equal scores; that mode becomes the main one.

    A column with the same scores in every mode uses no reference.
    """
    if not rows:
        return []
    *others, standard = rows
    equal = [row for row in others if np.array_equal(row.scores, standard.scores, equal_nan=True)]
    if others and len(equal) == len(others):
        return [dataclasses.replace(standard, mode="none", main=True, shares=shares)]
    substitute = next((row for row in equal if row.mode != "single"), None)
    return [dataclasses.replace(row, main=True, shares=shares) if row is (substitute or standard) else row
            for row in (others if substitute else rows)]
