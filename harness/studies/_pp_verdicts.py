"""How well scores tell relevant replies from irrelevant ones: threshold, confusion matrix, correlation, and tests.

A reply is taken for relevant where its score reaches the threshold. For a trained metric that is 0.5; for another the
value in 0, 0.01, ..., 1 with the least errors on the development part, relevant against random replies (the first of
several). A column that leaves 0..1 on the development part has its quantiles 0, 0.01, ..., 1 there in place of these
values: what is tried is then as fine where its scores lie, whatever their scale. The threshold found is used for all
irrelevant replies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.dailydialogpp import Kind
from harness.statistics.accuracy import AccuracyTest, chi_squared, mcnemar
from harness.statistics.coefficients import Estimate, estimate
from harness.statistics.panel import Vector, panel
from harness.statistics.significance import over_pairs
from harness.statistics.williams import all_pairs_williams
from harness.studies._pp_items import Replies

Flags: TypeAlias = npt.NDArray[np.bool_]
STEPS = np.arange(101) / 100


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where a score counts as relevant; `rule` says how it was found: fixed, grid or quantiles."""

    value: float
    rule: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Relevant replies against irrelevant ones of one kind; `missing` could not be scored and are left out."""

    negatives: Kind
    tp: int
    fn: int
    fp: int
    tn: int
    missing: int
    correlation: Estimate

    @property
    def accuracy(self) -> float:
        """The share of right answers, 0 to 1; NaN without any reply."""
        of = self.tp + self.fn + self.fp + self.tn
        return (self.tp + self.tn) / of if of else math.nan


@dataclass(frozen=True, slots=True)
class Contest:
    """Two rows, by number, on the same replies: three tests, two of them adjusted over all pairs by Holm's method."""

    first: int
    second: int
    mcnemar: AccuracyTest
    mcnemar_holm: float
    chi_squared: AccuracyTest
    delta: float
    t: float
    p: float
    p_holm: float


def threshold(scores: Vector, relevant: Flags, trained: bool) -> Threshold:
    """The threshold, from the development part; NaN without a score."""
    there = np.isfinite(scores)
    known, labels = scores[there], relevant[there]
    if not len(known):
        return Threshold(math.nan, "none")
    within = bool((known >= 0).all() and (known <= 1).all())
    if trained and within:
        return Threshold(0.5, "fixed")
    tried = STEPS if within else np.quantile(known, STEPS)
    errors = [int(((known >= one) != labels).sum()) for one in tried]
    return Threshold(float(tried[int(np.argmin(errors))]), "grid" if within else "quantiles")


def taken(scores: Vector, at: float) -> Vector:
    """1 where a reply is taken for relevant, 0 where not, NaN where there is no score."""
    return np.where(np.isfinite(scores), (scores >= at).astype(np.float64), np.nan)


def verdict(scores: Vector, given: Replies, negatives: Kind, at: float) -> Verdict:
    """Judge the relevant replies and those of one kind."""
    rows = asked(given, negatives)
    scores, relevant = scores[rows], given.kinds[rows] == "positive"
    there = np.isfinite(scores)
    said = scores[there] >= at
    truth = relevant[there]
    one = np.zeros(len(scores), np.int64)
    found = panel(scores, relevant.astype(np.float64), one, given.contexts[rows])
    return Verdict(negatives, int((said & truth).sum()), int((~said & truth).sum()), int((said & ~truth).sum()),
                   int((~said & ~truth).sum()), int((~there).sum()), estimate(found, "point-biserial"))


def accuracy(scores: Vector, given: Replies, negatives: Kind, at: float) -> float:
    """The share of right answers among the relevant replies and those of one kind, 0 to 1; NaN without any."""
    rows = asked(given, negatives) & np.isfinite(scores)
    return float(np.mean((scores[rows] >= at) == (given.kinds[rows] == "positive"))) if rows.any() else math.nan


def asked(given: Replies, negatives: Kind) -> Flags:
    """Which replies are relevant or irrelevant of this kind."""
    return np.asarray((given.kinds == "positive") | (given.kinds == negatives))


def contests(scores: Sequence[Vector], at: Sequence[float], given: Replies, negatives: Kind) -> tuple[Contest, ...]:
    """Every two rows of scores against each other."""
    if len(scores) < 2:
        return ()
    rows = asked(given, negatives)
    relevant = (given.kinds[rows] == "positive").astype(np.float64)
    table = np.stack(scores)[:, rows]
    right = [np.where(np.isfinite(line), taken(line, one) == relevant, np.nan)
             for line, one in zip(table, at, strict=True)]
    size = len(table)
    pairs = [(i, j) for i in range(size) for j in range(i + 1, size)]
    paired = {pair: mcnemar(right[pair[0]], right[pair[1]]) for pair in pairs}
    p = np.full((size, size), np.nan)
    for (i, j), test in paired.items():
        p[i, j] = p[j, i] = test.p
    both, williams = over_pairs(p), all_pairs_williams(relevant, table)
    adjusted = over_pairs(williams.p)
    return tuple(Contest(i, j, paired[i, j], float(both[i, j]), chi_squared(*_counts(right[i]), *_counts(right[j])),
                         float(williams.delta[i, j]), float(williams.t[i, j]), float(williams.p[i, j]),
                         float(adjusted[i, j])) for i, j in pairs)


def _counts(right: Vector) -> tuple[int, int]:
    return int(np.nansum(right)), int(np.isfinite(right).sum())
