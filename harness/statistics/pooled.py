"""The difference of two metrics' mean correlations over a whole board.

    D     the difference of two means of correlations over targets, with the weights of a ranking rule
    se^2  sum over datasets of n / (n - 1) times the variance of the dataset's part of D over resamples of its contexts,
          n contexts; both metrics have the same resamples, and a dataset's qualities are drawn together
    p     two-sided, of D / se as Student's t with (sum v)^2 / sum v^2 / (n - 1) degrees of freedom, v the terms of se^2
          (Welch 1947, Satterthwaite 1946); the interval is D -+ t se

`all_pairs` is PERM-BOTH (permutation.py) of the same difference, to first order: in a draw each context swaps its
influence on the two means, on all qualities of its dataset. Its assumptions are those of PERM-BOTH; it assumes no
distribution.

The datasets are fixed: results generalise to other contexts of the same datasets, whereas rank intervals also cover
other datasets. No p is adjusted for multiple tests. A leader and its runner-up need no adjustment: if all metrics are
equally good, the top two are closer to each other than two random ones (Hung & Fithian 2019, for independent ones).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from harness.statistics.influence import INFLUENCE, Influence
from harness.statistics.mixtures import TOLERANCE
from harness.statistics.panel import Array, Vector, alike
from harness.statistics.permutation import below_draws, least_p, mask_bits
from harness.statistics.rank_intervals import TargetScores, by_dataset, correlations, resampled
from harness.statistics.significance import holm
from harness.statistics.williams import PairTests, numbered

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of one metric minus that of another, with its 95 % interval; NaN if either lacks a target."""

    value: float
    low: float
    high: float
    p: float

    @property
    def established(self) -> bool:
        """Return True if the difference is significant at 5 %."""
        return self.p < ALPHA


def weights(datasets: Sequence[str], rule: str) -> Vector:
    """Return the weight of each target by its dataset; `dev` weighs datasets equally, `test` targets."""
    counts = Counter(datasets)
    return np.array([1 / (len(counts) * counts[name]) if rule == "dev" else 1 / len(datasets) for name in datasets],
                    dtype=np.float64)


def differences(targets: Sequence[TargetScores], pairs: Iterable[tuple[int, int]], rng: np.random.Generator,
                rule: str = "dev", draws: int = 500, statistic: str = "spearman") -> list[Difference]:
    """Return the difference of two metrics' means for each pair of rows of the targets' scores."""
    columns, positions = numbered(np.array([*pairs], dtype=np.int64).reshape(-1, 2))
    groups = [_rated(group) for group in by_dataset(
        [replace(target, scores=target.scores[columns]) for target in targets])]
    ordered = [target for group in groups for target in group]
    weight = np.split(weights([target.dataset for target in ordered], rule),
                      np.cumsum([len(group) for group in groups])[:-1])
    means = sum(part @ values for part, values in zip(weight, correlations(ordered, statistic), strict=True))
    drawn = [np.einsum("t,dtm->dm", part, resampled(group, draws, statistic, rng))
             for part, group in zip(weight, groups, strict=True)]
    freedom = np.array([units_of(group[0]) - 1 for group in groups])
    return [_difference(float(np.subtract(*np.take(means, pair))), [np.subtract(*part[:, pair].T) for part in drawn],
                        freedom) for pair in positions]


def all_pairs(targets: Sequence[TargetScores], weight: Array, rng: np.random.Generator, draws: int = 1000,
              statistic: str = "spearman", *, one_sided: bool = False, leads: int | None = None) -> list[PairTests]:
    """Return PERM-BOTH of every two metrics' weighted means, to first order, for each row of weights (boards, targets).

    With `leads`, only pairs that include one of the first `leads` metrics are tested.

    A metric's mean is a sum over contexts of their influence on each correlation (influence.py). A draw swaps the sums
    of two metrics in random contexts, so one matrix product serves all pairs, even of hundreds of metrics.
    """
    size, names = len(targets[0].scores), [target.dataset for target in targets]
    means, chance = np.zeros((len(weight), size)), np.zeros((len(weight), size, draws))
    contexts = np.zeros(len(weight))
    for dataset in dict.fromkeys(names):
        chosen = [index for index, name in enumerate(names) if name == dataset]
        prepared: dict[tuple[tuple[int, ...], bytes], Influence] = {}
        units = units_of(targets[chosen[0]])
        signs = 2.0 * np.unpackbits(mask_bits(units, draws, rng), axis=1)[:, :units].T - 1
        for index in chosen:
            values, sums = contributions(targets[index], statistic, units, prepared)
            means += weight[:, index, None] * values
            chance += weight[:, index, None, None] * (sums @ signs)
        contexts += units * (weight[:, chosen] != 0).any(axis=1)
    return [_tests(*board, one_sided, leads) for board in zip(means, chance, least_p(contexts, one_sided), strict=True)]


def contributions(target: TargetScores, statistic: str, units: int,
                prepared: dict[tuple[tuple[int, ...], bytes], Influence]) -> tuple[Vector, Array]:
    """Return the correlation of each metric, and the contribution of each context to it (metrics, contexts).

    Scores are `prepared` once for all qualities of a dataset with the same rows.
    """
    context = np.arange(units) if target.context is None else target.context
    values, sums = np.full(len(target.scores), np.nan), np.full((len(target.scores), units), np.nan)
    for rows, metrics in alike(np.isfinite(target.scores) & np.isfinite(target.human)):
        if rows.sum() >= 3:
            scores = target.scores[metrics][:, rows]
            if (key := (scores.shape, scores.tobytes())) not in prepared:
                prepared[key] = INFLUENCE[statistic](scores)
            values[metrics], parts = prepared[key].of(target.human[rows])
            parts += values[metrics][:, None] / rows.sum()
            order = np.argsort(context[rows], kind="stable")
            present, starts = np.unique(context[rows][order], return_index=True)
            sums[metrics] = 0.0
            sums[np.ix_(metrics, present)] = np.add.reduceat(parts[:, order], starts, axis=1)
    return values, sums


def behind(means: Vector, sums: Array, rng: np.random.Generator, draws: int = 1000) -> Vector:
    """Return p of the lead of the first metric over each, by PERM-BOTH, adjusted by Holm.

    `sums` are the contributions of contexts to the means (metrics, contexts).
    """
    signs = 2.0 * rng.integers(2, size=(sums.shape[1], draws)) - 1
    tests = _tests(means, sums @ signs, float(least_p(sums.shape[1], one_sided=False)), False, 1)
    return holm(below_draws(tests, draws)[0, 1:])


def _tests(means: Vector, chance: Array, least: float, one_sided: bool, leads: int | None) -> PairTests:
    """Test all pairs of means by their values in each draw (metrics, draws)."""
    tests, draws = PairTests.empty(len(means)), chance.shape[1]
    for row, drawn in enumerate(chance[:leads]):
        delta, swapped = (means[row] - means[row:])[:, None], drawn - chance[row:]
        if one_sided:
            counts = (swapped >= delta - TOLERANCE).sum(axis=1), (swapped <= delta + TOLERANCE).sum(axis=1)
        else:
            counts = ((np.abs(swapped) >= np.abs(delta) - TOLERANCE).sum(axis=1),) * 2
        delta, spread = delta[:, 0], np.sqrt(np.einsum("ij,ij->i", swapped, swapped) / draws)
        p = np.where(np.isnan(delta), np.nan, (np.stack(counts) + 1) / (draws + 1))
        value = np.divide(delta, spread, out=np.zeros_like(delta), where=spread > TOLERANCE)
        pairs = np.stack([np.full(len(delta), row), np.arange(row, len(means))], axis=1)
        tests.put(pairs, delta, p, 0, value, least)
    return tests


def share_reached(values: Vector, reliability: Vector, weight: Vector) -> float:
    """Return a weighted mean of correlations as a share of the mean of an errorless metric, √reliability per target.

    Only targets with a reliability above 0 count; NaN if there are none. It may exceed 1 by chance.
    """
    reliable = np.isfinite(values) & (np.nan_to_num(reliability) > 0)
    errorless = float(weight[reliable] @ np.sqrt(reliability[reliable]))
    return float(weight[reliable] @ values[reliable]) / errorless if errorless else math.nan


def _difference(value: float, parts: Sequence[Vector], freedom: Vector) -> Difference:
    """Test one pair by its differences on the resamples of each dataset."""
    finite = [part[np.isfinite(part)] for part in parts]
    most_exist = all(2 * len(values) >= len(part) for values, part in zip(finite, parts, strict=True))
    if math.isnan(value) or (freedom < 1).any() or not most_exist:
        return Difference(value, math.nan, math.nan, math.nan)
    variance = np.array([part.var(ddof=1) for part in finite]) * (freedom + 1) / freedom
    error = math.sqrt(variance.sum())
    if error < 1e-12:  # the same on every resample
        return Difference(value, value, value, 1.0 if abs(value) < 1e-12 else 0.0)
    degrees = variance.sum() ** 2 / (variance**2 / freedom).sum()
    reach = float(scipy.special.stdtrit(degrees, 1 - ALPHA / 2)) * error
    return Difference(value, value - reach, value + reach, float(2 * scipy.special.stdtr(degrees, -abs(value) / error)))


def _rated(group: Sequence[TargetScores]) -> list[TargetScores]:
    """Restrict the targets of a dataset to rated items, so that every drawn context has a rating."""
    rows = np.isfinite([target.human for target in group]).any(axis=0)
    return [replace(target, human=target.human[rows], scores=target.scores[:, rows],
                    context=None if target.context is None else np.unique(target.context[rows], return_inverse=True)[1])
            for target in group]


def units_of(target: TargetScores) -> int:
    """Return the number of contexts."""
    return len(target.human) if target.context is None else int(target.context.max(initial=-1)) + 1
