"""Accuracy of scores in telling relevant replies from irrelevant ones: threshold, confusion matrix, and tests.

A reply counts as relevant if its score reaches the threshold: 0.5 for a trained metric; for any other, the first of 0,
0.01, ..., 1 with the fewest errors on the relevant and random replies of the development part. If scores on it are
outside 0 to 1, their quantiles 0, 0.01, ..., 1 are tried instead, so that the steps are equally fine on any scale. The
same threshold is used for all kinds of irrelevant replies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.dailydialogpp import Kind
from harness.statistics.estimates import Estimate, estimate
from harness.statistics.panel import Vector, panel
from harness.statistics.significance import chi_squared, holm, mcnemar, over_pairs
from harness.statistics.williams import all_pairs_by_formula
from harness.studies.dailydialogpp.replies import Replies

Flags: TypeAlias = npt.NDArray[np.bool_]
GRID = np.arange(101) / 100


@dataclass(frozen=True, slots=True)
class Threshold:
    """The score from which a reply counts as relevant; `rule` is fixed, grid, quantiles or none."""

    value: float
    rule: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """Relevant replies against irrelevant ones of one kind; `missing` replies have no score and are left out."""

    tp: int
    fn: int
    fp: int
    tn: int
    missing: int
    correlation: Estimate

    @property
    def accuracy(self) -> float:
        """The share of correct answers, 0 to 1; NaN without any reply."""
        total = self.tp + self.fn + self.fp + self.tn
        return (self.tp + self.tn) / total if total else math.nan


def threshold(scores: Vector, relevant: Flags, trained: bool) -> Threshold:
    """Return the threshold set on scores of the development part; NaN if all scores are missing."""
    finite = np.isfinite(scores)
    known, labels = scores[finite], relevant[finite]
    if not len(known):
        return Threshold(math.nan, "none")
    in_unit_range = bool((known >= 0).all() and (known <= 1).all())
    if trained and in_unit_range:
        return Threshold(0.5, "fixed")
    candidates = GRID if in_unit_range else np.quantile(known, GRID)
    errors = [int(((known >= value) != labels).sum()) for value in candidates]
    return Threshold(float(candidates[int(np.argmin(errors))]), "grid" if in_unit_range else "quantiles")


def classify(scores: Vector, threshold: float) -> Vector:
    """Return 1 if a reply counts as relevant, else 0; NaN without a score."""
    return np.where(np.isfinite(scores), (scores >= threshold).astype(np.float64), np.nan)


def confusion(scores: Vector, replies: Replies, negatives: Kind, threshold: float) -> Confusion:
    rows = _rows(replies, negatives)
    scores, relevant = scores[rows], replies.kinds[rows] == "positive"
    answers = classify(scores, threshold)
    tp, fn, fp, tn = (int(((answers == answer) & (relevant == truth)).sum())
                      for answer, truth in ((1, True), (0, True), (1, False), (0, False)))
    data = panel(scores, relevant.astype(np.float64), np.zeros(len(scores), np.int64), replies.contexts[rows])
    return Confusion(tp, fn, fp, tn, int(np.isnan(answers).sum()), estimate(data, "point-biserial"))


def _rows(replies: Replies, negatives: Kind) -> Flags:
    return np.asarray((replies.kinds == "positive") | (replies.kinds == negatives))


def compare_pairs(scores: Sequence[Vector], thresholds: Sequence[float], replies: Replies, negatives: Kind,
                  ) -> list[dict[str, Any]]:
    """Compare each pair of columns on the same replies by three tests, two of them adjusted over all pairs (Holm)."""
    rows = _rows(replies, negatives)
    relevant = (replies.kinds[rows] == "positive").astype(np.float64)
    table = np.stack(scores)[:, rows]
    correct = [np.where(np.isfinite(column), classify(column, value) == relevant, np.nan)
               for column, value in zip(table, thresholds, strict=True)]
    counts = [(int(np.nansum(column)), int(np.isfinite(column).sum())) for column in correct]
    pairs = list(itertools.combinations(range(len(table)), 2))
    paired, independent = ([mcnemar(correct[i], correct[j]) for i, j in pairs],
                           [chi_squared(*counts[i], *counts[j]) for i, j in pairs])
    williams, p_holm = all_pairs_by_formula(relevant, table), holm([test.p for test in paired])
    adjusted = over_pairs(williams.p)
    return [{"first": i, "second": j, "accuracy": test.first, "accuracy_second": test.second,
             "mcnemar": test.statistic, "mcnemar_method": test.method, "mcnemar_p": test.p,
             "mcnemar_p_holm": float(p), "chi_squared": squared.statistic, "chi_squared_p": squared.p,
             "r_difference": float(williams.delta[i, j]), "williams_t": float(williams.value[i, j]),
             "williams_p": float(williams.p[i, j]), "williams_p_holm": float(adjusted[i, j])}
            for (i, j), test, squared, p in zip(pairs, paired, independent, p_holm, strict=True)]
