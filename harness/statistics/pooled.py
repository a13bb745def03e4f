"""Whether one metric agrees with people better than another over a whole board: the difference of their means.

    D     the difference of two weighted means of correlations over targets, those of a ranking rule
    se^2  sum over datasets of n / (n - 1) times the variance of the dataset's part of D over resamples of its contexts,
          n contexts; both metrics meet the same resamples, and a dataset's qualities are drawn together
    p     two-sided, of D / se as Student's t with (sum v)^2 / sum v^2 / (n - 1) degrees of freedom, v the terms of se^2
          (Welch 1947, Satterthwaite 1946); the interval is D -+ t se

`all_pairs` is PERM-BOTH (permutation.py) of the same difference, to first order: in a draw each context swaps what it
adds to the two means, on all qualities of its dataset. It assumes what PERM-BOTH does, and no distribution.

The datasets are kept: it is an answer about these, on other contexts. That of other datasets is the rank interval.
Nothing is adjusted. For a leader and its runner-up nothing need be: where all are alike, those at the top are closer
to each other than two at random (Hung & Fithian 2019, on independent ones).
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
from harness.statistics.permutation import least_p, mask_bits
from harness.statistics.rank_intervals import TargetScores, by_dataset, correlations, resampled
from harness.statistics.williams import PairTests, numbered

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of one metric less that of another, with its 95 % interval; NaN where one lacks a target."""

    value: float
    low: float
    high: float
    p: float

    @property
    def established(self) -> bool:
        """Whether the difference is not put down to chance, at 5 %."""
        return self.p < ALPHA


def weights(datasets: Sequence[str], rule: str) -> Vector:
    """What each target weighs, by its dataset: under `dev` datasets count alike, under `test` targets do."""
    counts = Counter(datasets)
    each = [1 / (len(counts) * counts[name]) if rule == "dev" else 1 / len(datasets) for name in datasets]
    return np.array(each, dtype=np.float64)


def differences(targets: Sequence[TargetScores], pairs: Iterable[tuple[int, int]], rng: np.random.Generator,
                rule: str = "dev", draws: int = 500, statistic: str = "spearman") -> list[Difference]:
    """The difference of two metrics' means for each pair of rows of the targets' scores."""
    columns, places = numbered(np.array([*pairs], dtype=np.int64).reshape(-1, 2))
    groups = [_rated(group) for group in by_dataset([replace(one, scores=one.scores[columns]) for one in targets])]
    ordered = [target for group in groups for target in group]
    weight = np.split(weights([target.dataset for target in ordered], rule),
                      np.cumsum([len(group) for group in groups])[:-1])
    whole = sum(own @ values for own, values in zip(weight, correlations(ordered, statistic), strict=True))
    drawn = [np.einsum("t,dtm->dm", own, resampled(group, draws, statistic, rng))
             for own, group in zip(weight, groups, strict=True)]
    freedom = np.array([_units(group) - 1 for group in groups])
    return [_difference(float(np.subtract(*np.take(whole, pair))), [part[:, pair] for part in drawn], freedom)
            for pair in places]


def all_pairs(targets: Sequence[TargetScores], weight: Array, rng: np.random.Generator, draws: int = 1000,
              statistic: str = "spearman", *, one_sided: bool = False, leads: int | None = None) -> list[PairTests]:
    """PERM-BOTH of every two metrics' weighted means, to first order; weights (boards, targets), a result for each.

    With `leads` only those pairs are tested of which one is among so many first metrics.

    A metric's mean is a sum over contexts, of what their rows add to each correlation to first order
    (`influence.INFLUENCE`). In a draw each context swaps the sums of two metrics, so that of all pairs are products of
    one matrix: it serves hundreds of metrics.
    """
    size, place = len(targets[0].scores), 0
    names = [target.dataset for target in targets]
    weight = weight[:, sorted(range(len(names)), key=lambda target: names.index(names[target]))]  # as by_dataset
    means, chance = np.zeros((len(weight), size)), np.zeros((len(weight), size, draws))
    contexts = np.zeros(len(weight))
    for group in by_dataset(targets):
        prepared: dict[tuple[tuple[int, ...], bytes], Influence] = {}
        signs = 2.0 * np.unpackbits(mask_bits(_units(group), draws, rng), axis=1)[:, :_units(group)].T - 1
        for target in group:
            values, sums = _by_context(target, statistic, len(signs), prepared)
            own = weight[:, place]
            means += own[:, None] * values
            chance += own[:, None, None] * (sums @ signs)
            place += 1
        contexts += len(signs) * (weight[:, place - len(group):place] != 0).any(axis=1)
    return [_tests(*each, one_sided, leads) for each in zip(means, chance, least_p(contexts, one_sided), strict=True)]


def _by_context(target: TargetScores, statistic: str, units: int,
                prepared: dict[tuple[tuple[int, ...], bytes], Influence]) -> tuple[Vector, Array]:
    """The correlation of each metric with people, and the part of it that each context adds (metrics, contexts).

    Scores are `prepared` once for all qualities of a dataset on which they are the same.
    """
    context = np.arange(units) if target.context is None else target.context
    values, sums = np.full(len(target.scores), np.nan), np.full((len(target.scores), units), np.nan)
    for rows, metrics in alike(np.isfinite(target.scores) & np.isfinite(target.human)):
        if rows.sum() >= 3:
            scores = target.scores[metrics][:, rows]
            if (key := (scores.shape, scores.tobytes())) not in prepared:
                prepared[key] = INFLUENCE[statistic](scores)
            values[metrics], parts = prepared[key].influence(target.human[rows])
            parts += values[metrics][:, None] / rows.sum()
            order = np.argsort(context[rows], kind="stable")
            present, starts = np.unique(context[rows][order], return_index=True)
            sums[metrics] = 0.0
            sums[np.ix_(metrics, present)] = np.add.reduceat(parts[:, order], starts, axis=1)
    return values, sums


def _tests(means: Vector, chance: Array, least: float, one_sided: bool, leads: int | None) -> PairTests:
    """The pairs of means by what they are in each draw (metrics, draws), with the least p that there can be."""
    tests, draws = PairTests.empty(len(means)), chance.shape[1]
    for row, own in enumerate(chance[:leads]):
        delta, apart = (means[row] - means[row:])[:, None], own - chance[row:]
        if one_sided:
            counts = (apart >= delta - TOLERANCE).sum(axis=1), (apart <= delta + TOLERANCE).sum(axis=1)
        else:
            counts = ((np.abs(apart) >= np.abs(delta) - TOLERANCE).sum(axis=1),) * 2
        delta, spread = delta[:, 0], np.sqrt(np.einsum("ij,ij->i", apart, apart) / draws)
        p = np.where(np.isnan(delta), np.nan, (np.stack(counts) + 1) / (draws + 1))
        value = np.divide(delta, spread, out=np.zeros_like(delta), where=spread > TOLERANCE)
        pairs = np.stack([np.full(len(delta), row), np.arange(row, len(means))], axis=1)
        tests.put(pairs, delta, p, 0, value, least)
    return tests


def share_reached(values: Vector, reliability: Vector, weight: Vector) -> float:
    """A weighted mean of correlations as a share of what an errorless metric has: the roots of the reliabilities.

    Over the targets whose reliability is known and above 0; NaN where there are none. It may exceed 1 by chance.
    """
    known = np.isfinite(values) & (np.nan_to_num(reliability) > 0)
    most = float(weight[known] @ np.sqrt(reliability[known]))
    return float(weight[known] @ values[known]) / most if most else math.nan


def _difference(value: float, parts: Sequence[Array], freedom: Vector) -> Difference:
    """One pair of metrics, `parts` (draws, 2) its means on the resamples of each dataset."""
    apart = [part[:, 0] - part[:, 1] for part in parts]
    known = [own[np.isfinite(own)] for own in apart]
    if math.isnan(value) or (freedom < 1).any() or any(2 * len(own) < len(one) for own, one in zip(known, apart,
                                                                                                   strict=True)):
        return Difference(value, math.nan, math.nan, math.nan)
    variance = np.array([own.var(ddof=1) for own in known]) * (freedom + 1) / freedom
    error = math.sqrt(variance.sum())
    if error < 1e-12:  # the same on every resample
        return Difference(value, value, value, 1.0 if abs(value) < 1e-12 else 0.0)
    degrees = variance.sum() ** 2 / (variance**2 / freedom).sum()
    reach = float(scipy.special.stdtrit(degrees, 1 - ALPHA / 2)) * error
    return Difference(value, value - reach, value + reach, float(2 * scipy.special.stdtr(degrees, -abs(value) / error)))


def _rated(group: Sequence[TargetScores]) -> list[TargetScores]:
    """The targets of a dataset on the items that have a rating, so that no context without one is drawn."""
    rows = np.isfinite([target.human for target in group]).any(axis=0)
    return [replace(target, human=target.human[rows], scores=target.scores[:, rows],
                    context=None if target.context is None else np.unique(target.context[rows], return_inverse=True)[1])
            for target in group]


def _units(group: Sequence[TargetScores]) -> int:
    """How many contexts are drawn."""
    context = group[0].context
    return len(group[0].human) if context is None else int(context.max(initial=-1)) + 1
