"""Comparisons of columns on a target, how far people agree on it, and how certain the ranks are."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.results.item_scores import labels
from harness.results.rows import Comparisons, Correlation, RankingRow, Reliability
from harness.run import correlate
from harness.run.cache import Cache
from harness.run.correlate import TargetData
from harness.run.plan import Draws
from harness.statistics import rank_intervals
from harness.statistics import reliability as among_people
from harness.statistics.coefficients import spearmans
from harness.statistics.panel import Array, Codes
from harness.statistics.permutation import all_pairs_by_permutation, below_draws
from harness.statistics.significance import benjamini_hochberg, holm
from harness.statistics.williams import PairTests, all_pairs_by_formula

STATISTICS = ("spearman", "pearson")
RELIABILITY = "split-half"
"""The ceiling that corrects a correlation for attenuation: it is of the mean of all votes, as the panels are."""


@dataclass(frozen=True, slots=True)
class TargetResults:
    """The rows of one target."""

    correlations: tuple[Correlation, ...]
    comparisons: tuple[Comparisons, ...]
    reliability: tuple[Reliability, ...]


def on_target(target: TargetData, draws: Draws, cache: Cache) -> TargetResults:
    """The correlations, comparisons and reliability of a target; what is drawn at random is kept in the cache."""
    if draws.quick:
        return TargetResults(tuple(correlate.correlations(target)), (), ())
    agreement = reliability(target, draws, cache)
    correlations = corrected(correlate.correlations(target), agreement)
    return TargetResults(tuple(correlations), tuple(_comparisons(target, draws, cache)), agreement)


def _comparisons(target: TargetData, draws: Draws, cache: Cache) -> Iterator[Comparisons]:
    """Every pair of columns by Williams' test and, with draws, by PERM-BOTH over contexts for Spearman."""
    human, names = target.judged.means, labels(target.names)
    for statistic in STATISTICS:
        tests = all_pairs_by_formula(human, target.scores, statistic)
        yield compared(target.dataset, target.quality, names, statistic, "williams", tests)
    if draws.permutations:
        tests = _permuted(target, draws, cache)
        yield compared(target.dataset, target.quality, names, "spearman", "perm-both", tests, draws.permutations)


def _permuted(target: TargetData, draws: Draws, cache: Cache) -> PairTests:
    def drawn() -> list[list[list[float]]]:
        tests = all_pairs_by_permutation(target.judged.means, target.scores, "spearman", draws.permutations,
                                         rng=generator(draws.seed, target.dataset, target.quality),
                                         context=target.units)
        return [table.tolist() for table in (tests.delta, tests.value, tests.p, tests.n, tests.least)]

    key = [target.dataset, target.quality, draws.seed, draws.permutations,
           _digest(target.judged.means, target.scores, target.units)]
    shape = (len(target.names), len(target.names))
    delta, value, p, n, least = (np.array(table).reshape(shape) for table in cache.get("perm-both", key, drawn))
    return PairTests(delta, value, p, np.full(p.shape, np.nan), n, least)


def reliability(target: TargetData, draws: Draws, cache: Cache) -> tuple[Reliability, ...]:
    """How far the people agree: one against the others, half against half, and Krippendorff's alpha."""
    votes = among_people.votes(target.judged.votes)
    place = (target.dataset, target.quality)

    def drawn() -> list[list[object]]:
        by_method = {
            "leave-one-out": among_people.leave_one_out(votes, spearmans, generator(draws.seed, *place)),
            RELIABILITY: among_people.split_half(votes, spearmans, generator(draws.seed, *place)),
            "alpha-ordinal": among_people.alpha(votes, "ordinal"),
            "alpha-interval": among_people.alpha(votes, "interval"),
        }
        return [[method, agreement.value, agreement.items, agreement.note] for method, agreement in by_method.items()]

    key = [*place, draws.seed, votes.table.shape, _digest(votes.table)]
    return tuple(Reliability(*place, *row) for row in cache.get("reliability", key, drawn))


def corrected(rows: Iterable[Correlation], reliability: Sequence[Reliability]) -> Iterator[Correlation]:
    """The correlations on a target, corrected for rater unreliability where that is known."""
    (split_half,) = [row for row in reliability if row.method == RELIABILITY]
    for row in rows:
        yield replace(row, corrected=among_people.disattenuated(row.value, split_half.value))


def _scores(target: TargetData, columns: Sequence[int]) -> rank_intervals.TargetScores:
    return rank_intervals.TargetScores(target.dataset, target.judged.means, target.scores[list(columns)],
                                       target.units)


class Samples:
    """Every column's correlations on resamples of each dataset's contexts, made when a board first asks for them."""

    def __init__(self, targets: Sequence[TargetData], draws: Draws) -> None:
        self._targets, self._draws = targets, draws
        self._made: dict[str, Array] = {}

    def drawn(self, targets: Sequence[TargetData], names: Sequence[tuple[str, str]]) -> rank_intervals.Drawn:
        """Those of a board's targets and columns."""
        datasets = list(dict.fromkeys(target.dataset for target in targets))
        chosen = {(target.dataset, target.quality) for target in targets}
        parts = []
        for dataset in datasets:
            every = [target for target in self._targets if target.dataset == dataset]
            own = [place for place, target in enumerate(every) if (dataset, target.quality) in chosen]
            columns = [every[0].names.index(name) for name in names]
            parts.append(self._resampled(dataset, every)[:, own][:, :, columns])
        return rank_intervals.Drawn(parts, rank_intervals.jointly(
            len(parts), self._draws.ranks, np.random.default_rng(self._draws.seed)))

    def _resampled(self, dataset: str, targets: Sequence[TargetData]) -> Array:
        if dataset not in self._made:
            self._made[dataset] = rank_intervals.resampled(
                [_scores(target, range(len(target.names))) for target in targets], self._draws.ranks, "spearman",
                generator(self._draws.seed, dataset, ""))
        return self._made[dataset]


def ranked(rows: Sequence[RankingRow], targets: Sequence[TargetData], draws: Draws, cache: Cache, samples: Samples,
           ) -> Iterator[RankingRow]:
    """The ranking of one board, those by Spearman with the 95 % interval of each rank and letters."""
    intervals: dict[tuple[str, str, str], tuple[float, float, str, float]] = {}
    complete = sorted({(row.metric, row.column) for row in rows if row.statistic == "spearman" and row.rank})
    if draws.ranks and len(complete) > 1:
        scores = [_scores(target, [target.names.index(name) for name in complete]) for target in targets]
        resampled = functools.cache(lambda: samples.drawn(targets, complete))
        observed = functools.cache(lambda: rank_intervals.correlations(scores))
        for rule in dict.fromkeys(row.rule for row in rows):
            def drawn(rule: str = rule) -> list[list[object]]:
                whole = VECTORISED[rule](observed())
                ranks = rank_intervals.ranked(whole, resampled().values(VECTORISED[rule]))
                return [ranks.low.tolist(), ranks.high.tolist(), list(ranks.letters),
                        resampled().error(VECTORISED[rule]).tolist()]

            key = [rule, draws.seed, draws.ranks, complete,
                   [[target.dataset, target.quality, _digest(one.human, one.scores, target.units)]
                    for one, target in zip(scores, targets, strict=True)]]
            rows_of = zip(*cache.get("ranks", key, drawn), strict=True)
            intervals |= {(rule, *name): row for name, row in zip(complete, rows_of, strict=True)}
    for row in rows:
        interval = intervals.get((row.rule, row.metric, row.column)) if row.statistic == "spearman" else None
        if interval is None:
            yield row
        else:
            low, high, letters, error = interval
            yield replace(row, low=low, high=high, letters=letters, error=error)


def generator(seed: int, dataset: str, quality: str) -> np.random.Generator:
    """Randomness of a target's own, the same whatever other targets there are."""
    own = hashlib.sha256(f"{dataset}\0{quality}".encode()).digest()[:8]
    return np.random.default_rng([seed, int.from_bytes(own, "big")])


def compared(dataset: str, quality: str, names: Sequence[str], statistic: str, test: str,
             tests: PairTests, permutations: int = 0) -> Comparisons:
    """The tests of every two columns, p adjusted over all pairs of the target; pairs without p are left out."""
    first, second = np.triu_indices(len(names), 1)
    known = np.isfinite(tests.p[first, second])
    first, second = first[known], second[known]
    ahead = tests.delta[first, second] >= 0
    pairs = better, worse = np.where(ahead, first, second), np.where(ahead, second, first)
    fine = (below_draws(tests, permutations) if permutations else tests.p)[pairs]
    return Comparisons(dataset, quality, statistic, test, tuple(names), better, worse, tests.n[pairs],
                       tests.delta[pairs], tests.value[pairs], tests.p[pairs], holm(fine), benjamini_hochberg(fine))


VECTORISED: Mapping[str, rank_intervals.Rule] = {
    "dev": lambda datasets: np.asarray(np.mean([targets.mean(axis=0) for targets in datasets], axis=0)),
    "test": lambda datasets: np.asarray(np.vstack(datasets).mean(axis=0)),
}
"""The rules of `rank.RULES` for all columns at once."""


def _digest(*tables: Array | Codes) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(table).tobytes() for table in tables)).hexdigest()
