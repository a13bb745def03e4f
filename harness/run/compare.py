"""Comparisons of columns on a target, and the agreement of its raters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.item_scores import labels
from harness.results.rows import Comparisons, Reliability
from harness.run import correlate
from harness.run.correlate import TargetData
from harness.run.plan import Draws
from harness.statistics import reliability as among_people
from harness.statistics.coefficients import spearmans
from harness.statistics.panel import Array
from harness.statistics.permutation import all_pairs_by_permutation, below_draws
from harness.statistics.significance import benjamini_hochberg, holm
from harness.statistics.williams import PairTests, all_pairs_by_formula

STATISTICS = ("spearman", "pearson")


def comparisons(target: TargetData, draws: Draws, cache: Cache) -> Iterator[Comparisons]:
    """Test every pair of columns by Williams' test and, with draws, by PERM-BOTH over contexts for Spearman."""
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
           digest(target.judged.means, target.scores, target.units)]
    shape = (len(target.names), len(target.names))
    delta, value, p, n, least = (np.array(table).reshape(shape) for table in cache.get("perm-both", key, drawn))
    return PairTests(delta, value, p, np.full(p.shape, np.nan), n, least)


def reliability(target: TargetData, draws: Draws, cache: Cache) -> tuple[Reliability, ...]:
    """Return the agreement of the raters: one against the others, half against half, and Krippendorff's alpha."""
    votes, rated = among_people.votes(target.judged.votes), by_rater(target)

    def drawn() -> list[list[object]]:
        by_method = {
            "leave-one-out": among_people.leave_one_out(votes, spearmans, generator(draws.seed, *target.key)),
            **({"leave-one-rater-out": among_people.leave_one_rater_out(rated, spearmans)} if rated.size else {}),
            correlate.RELIABILITY: among_people.split_half(votes, spearmans, generator(draws.seed, *target.key)),
            "alpha-ordinal": among_people.alpha(votes, "ordinal"),
            "alpha-interval": among_people.alpha(votes, "interval"),
        }
        return [[method, agreement.value, agreement.items, agreement.note] for method, agreement in by_method.items()]

    key = [*target.key, draws.seed, votes.table.shape, rated.shape, digest(votes.table, rated)]
    return tuple(Reliability(*target.key, *row) for row in cache.get("reliability", key, drawn))


def by_rater(target: TargetData) -> Array:
    """Return the votes as (raters, items), NaN if missing; empty where raters are unknown or there is only one."""
    names = sorted({name for raters in target.judged.raters for name in raters})
    table = np.full((len(names) if len(names) > 1 else 0, len(target.judged.means)), np.nan)
    if table.size:
        row = {name: index for index, name in enumerate(names)}
        for item, (raters, votes) in enumerate(zip(target.judged.raters, target.judged.votes, strict=True)):
            for rater, vote in zip(raters, votes, strict=True):
                table[row[rater], item] = vote
    return table


def generator(seed: int, dataset: str, quality: str) -> np.random.Generator:
    """Return a generator for a target, independent of other targets."""
    digest_of_target = hashlib.sha256(f"{dataset}\0{quality}".encode()).digest()[:8]
    return np.random.default_rng([seed, int.from_bytes(digest_of_target, "big")])


def compared(dataset: str, quality: str, names: Sequence[str], statistic: str, test: str,
             tests: PairTests, permutations: int = 0) -> Comparisons:
    """Return the tests of all pairs of columns with p adjusted over the pairs; a pair without p is left out."""
    first, second = np.triu_indices(len(names), 1)
    tested = np.isfinite(tests.p[first, second])
    first, second = first[tested], second[tested]
    ahead = tests.delta[first, second] >= 0
    pairs = better, worse = np.where(ahead, first, second), np.where(ahead, second, first)
    p = (below_draws(tests, permutations) if permutations else tests.p)[pairs]
    return Comparisons(dataset, quality, statistic, test, tuple(names), better, worse, tests.n[pairs],
                       tests.delta[pairs], tests.value[pairs], tests.p[pairs], holm(p), benjamini_hochberg(p))
