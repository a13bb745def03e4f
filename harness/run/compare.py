"""Comparisons of columns on a target, and the agreement of its raters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from benchmarks.dataset import Dataset
from harness.results.cache import Cache, digest
from harness.results.item_scores import labels
from harness.results.rows import ColumnKey, Comparisons, Reliability, Target
from harness.run import correlate
from harness.run.correlate import TargetData
from harness.statistics import pooled
from harness.statistics import reliability as rater_agreement
from harness.statistics.coefficients import spearmans
from harness.statistics.permutation import refined_p
from harness.statistics.pooled import ALPHA, Swapped, all_pairs, swapped, weights
from harness.statistics.pooled import generator as generator
from harness.statistics.significance import Better, benjamini_hochberg, holm
from harness.statistics.williams import PairTests

Verdicts: TypeAlias = Callable[[tuple[Target, ...], tuple[ColumnKey, ...], str], Better]
"""Maps targets, columns and a rule to better[i, j]: True if column i has a significantly higher mean than column j."""
STATISTIC = "spearman"
"""The statistic of rank intervals, significant differences and firmness."""


def contributions(target: TargetData, seed: int, draws: int, fitted: Collection[str] = (), statistic: str = STATISTIC,
                  ) -> Swapped:
    """Return the contribution of each context to each correlation; NaN for metrics fitted on the ratings."""
    unfitted = np.array([metric not in fitted for metric, _ in target.names])
    target_scores = replace(target.scored(), scores=np.where(unfitted[:, None], target.scores, np.nan))
    return swapped(target_scores, seed, draws, statistic)


def comparisons(target: TargetData, parts: Swapped, statistic: str = STATISTIC, *, one_sided: bool = False,
                ) -> Comparisons:
    """Test every pair of columns by PERM-BOTH on ranks, or on standardised values for Pearson."""
    is_known = np.isfinite(target.scores) & np.isfinite(target.judged.means)
    tests = replace(all_pairs([parts], np.ones(1), one_sided=one_sided), n=is_known.astype(np.int64) @ is_known.T)
    return adjust_tests(*target.key, labels(target.names), statistic, "perm-both", tests, parts.drawn.shape[1])


def tied_first(target: TargetData, parts: Swapped, tests: Comparisons) -> set[ColumnKey]:
    """Return the column with the highest correlation and all columns that are not significantly below it."""
    if np.isnan(parts.values).all():
        return set()
    below = tests.worse[(tests.better == np.nanargmax(parts.values)) & (tests.bh < ALPHA)]
    return {name for row, name in enumerate(target.names) if np.isfinite(parts.values[row]) and row not in below}


def verdicts(targets: Sequence[TargetData], parts: Mapping[Target, Swapped]) -> Verdicts:
    """Return a cached function that compares columns on some of these targets under a ranking rule."""
    names = {target.key: target.names for target in targets}

    @functools.cache
    def better(keys: tuple[Target, ...], columns: tuple[ColumnKey, ...], rule: str) -> Better:
        selected = [parts[key].take([names[key].index(column) for column in columns]) for key in keys]
        return pooled.better(selected, weights([dataset for dataset, _ in keys], rule))

    return better


def source(dataset: Dataset) -> str:
    """Return the name that seeds draws from a dataset's votes; a user's table may be renamed, so use its digest."""
    return dataset.fingerprint if dataset.card.split == "own" else dataset.card.name


def reliability(target: TargetData, seed: int, cache: Cache | None, source: str = "") -> tuple[Reliability, ...]:
    """Return the agreement of the raters: leave-one-out, split-half and Krippendorff's alpha.

    Random draws are seeded by the seed, the quality and the `source` of the votes, by default the dataset's name.
    """
    origin = source or target.dataset, target.quality
    votes, by_rater = rater_agreement.multiply_rated(target.judged.votes), target.judged.by_rater

    def compute() -> list[list[object]]:
        by_method = {
            "leave-one-out": rater_agreement.leave_one_out(votes, spearmans, generator(seed, *origin)),
            **({"leave-one-rater-out": rater_agreement.leave_one_rater_out(by_rater, spearmans)}
               if by_rater.size else {}),
            correlate.RELIABILITY: rater_agreement.split_half(votes, spearmans, generator(seed, *origin)),
            "alpha-ordinal": rater_agreement.alpha(votes, "ordinal"),
            "alpha-interval": rater_agreement.alpha(votes, "interval"),
        }
        return [[method, agreement.value, agreement.items, agreement.note] for method, agreement in by_method.items()]

    key = [*origin, seed, votes.shape, by_rater.shape, digest(votes, by_rater)]
    rows = cache.get("reliability", key, compute) if cache else compute()
    return tuple(Reliability(*target.key, *row) for row in rows)


def adjust_tests(dataset: str, quality: str, names: Sequence[str], statistic: str, test: str,
                 tests: PairTests, permutations: int = 0) -> Comparisons:
    """Return the tests of all pairs of columns, with p adjusted over the pairs; pairs without p are left out."""
    first, second = np.triu_indices(len(names), 1)
    has_p = np.isfinite(tests.p[first, second])
    first, second = first[has_p], second[has_p]
    ahead = tests.delta[first, second] >= 0
    pairs = better, worse = np.where(ahead, first, second), np.where(ahead, second, first)
    p = (refined_p(tests, permutations) if permutations else tests.p)[pairs]
    return Comparisons(dataset, quality, statistic, test, tuple(names), better, worse, tests.n[pairs],
                       tests.delta[pairs], tests.value[pairs], tests.p[pairs], holm(p), benjamini_hochberg(p))
