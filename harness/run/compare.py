"""Comparisons of columns on a target, the agreement of its raters, and decisions on columns.

A decision says whether a column may replace a rater, what it is worth, and how it depends on rater disagreement.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from typing import TypeAlias

import numpy as np

from benchmarks.dataset import Dataset
from harness.results.cache import Cache, digest
from harness.results.decision_rows import Decision, Disagreement, VoteCount
from harness.results.item_scores import labels
from harness.results.rows import ColumnKey, Comparisons, Reliability, Target
from harness.run import correlate
from harness.run.correlate import TargetData
from harness.statistics import pooled
from harness.statistics import reliability as rater_agreement
from harness.statistics.coefficients import spearmans
from harness.statistics.panel import Array, Codes, by_known_rows, folds, why_undefined
from harness.statistics.permutation import refined_p
from harness.statistics.pooled import ALPHA, Swapped, all_pairs, swapped, weights
from harness.statistics.pooled import generator as generator
from harness.statistics.prediction import worth
from harness.statistics.reliability import SINGLE_VOTES, by_third, divergences, spread
from harness.statistics.reliability import parts as equal_parts
from harness.statistics.replacement import MIN_ITEMS, HeldOut, on_scale, replacement
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


MIN_CONTEXTS = 30
"""Minimum number of contexts for an accurate t test."""
BATCH = 1 << 20
"""Maximum number of columns times votes that are tested at once."""


def decisions(target: TargetData, epsilon: float, seed: int, cache: Cache,
              tied: Collection[ColumnKey] = ()) -> Iterator[Decision]:
    """Yield the decision on every column; `tied` are the columns that share the first place."""
    if not target.names:
        return
    votes, exchangeable = _votes(target)
    fold = folds(target.units, generator(seed, *target.key))
    key = [*target.key, epsilon, exchangeable, votes.shape,
           digest(votes, target.judged.means, target.system, target.units, fold)]
    rows = cache.rows("decisions", key, list(map(digest, target.scores)),
                      functools.partial(_decision_rows, target, votes, fold, epsilon, exchangeable=exchangeable))
    for row, (metric, column) in enumerate(target.names):
        rho, rater_rho, constant_rho, rate, passes, replaces, items, raters, worth_value, low, high = rows[row].tolist()
        yield Decision(*target.key, metric, column, rho, rater_rho, constant_rho, rate, bool(passes), bool(replaces),
                       worth_value, low, high, (metric, column) in tied, epsilon, int(items), int(raters),
                       _note(target, row, votes, exchangeable=exchangeable))


def _votes(target: TargetData) -> tuple[Array, bool]:
    """Return the votes (raters, items), NaN if missing, and whether they must be treated as exchangeable."""
    table = target.judged.by_rater
    known = np.isfinite(table)
    if ((known & (known.sum(axis=0) > 1)).sum(axis=1) >= MIN_ITEMS).sum() > 1:
        return table, False
    return target.judged.votes.T, True


def _decision_rows(target: TargetData, votes: Array, fold: Codes, epsilon: float, columns: Sequence[int], *,
                   exchangeable: bool) -> Array:
    """Return 11 numbers per column: the eight fields of `Replacement`, and the worth with its interval."""
    scores, human = target.scores[[*columns]], target.judged.means
    numbers = np.full((len(columns), 11), np.nan)
    numbers[:, 4:8] = 0
    for rows, group in by_known_rows(np.isfinite(scores) & np.isfinite(human)):
        units = target.units[rows]
        held_out = HeldOut.from_votes(votes[:, rows], units, exchangeable=exchangeable)
        size = max(1, BATCH // max(1, len(held_out.item)))
        for batch in np.split(group, range(size, len(group), size)) if rows.sum() > 2 else ():
            if len(held_out.item):
                values = on_scale(held_out, scores[batch][:, rows], fold[rows])
                result = astuple(replacement(held_out, values, epsilon))
                numbers[batch, :8] = np.stack(np.broadcast_arrays(*result), axis=1)
            rating_worth = worth(human[rows], scores[batch][:, rows], target.system[rows], units, fold[rows])
            numbers[batch, 8:] = np.stack([rating_worth.value, rating_worth.low, rating_worth.high], axis=1)
    return numbers


def _note(target: TargetData, row: int, votes: Array, *, exchangeable: bool) -> str:
    """Return the caveats of a decision and the reasons for missing numbers."""
    shared = np.isfinite(votes).sum(axis=0) > 1
    contexts = len(np.unique(target.units[shared]))
    cause = ("raters are unknown" if not target.judged.raters else
             f"fewer than two raters share {MIN_ITEMS} items with others")
    values = votes[:, shared][np.isfinite(votes[:, shared])]
    undefined_because = why_undefined(target.panel(row))
    notes = {undefined_because: True, SINGLE_VOTES: not shared.any(),
             "all votes on items with several votes are equal":
                 values.size > 0 and np.ptp(values) == 0 and undefined_because != "every rating is the same",
             f"{cause}, so votes are treated as exchangeable": exchangeable and shared.any(),
             "2 raters: each is compared with only one other": len(votes) == 2 and shared.any(),
             f"{contexts} contexts: the test is rough below {MIN_CONTEXTS}": 0 < contexts < MIN_CONTEXTS}
    return "; ".join(note for note, applies in notes.items() if note and applies)


FIFTHS, MAX_VALUES = 5, 7
"""Number of score bins, and the maximum number of distinct votes that are not binned."""


def disagreement(target: TargetData) -> Iterator[Disagreement]:
    """Yield each column's correlation by third of rater spread, and its divergence from the votes, if either exists."""
    votes = target.judged.votes.T
    spreads = spread(votes)
    column_divergences = divergences(votes, target.scores).tolist()
    if not np.isfinite([*spreads, *column_divergences]).any():
        return
    items = np.bincount(equal_parts(spreads, 3)[np.isfinite(spreads)], minlength=3).tolist()
    thirds = by_third(target.judged.means, target.scores, spreads).tolist()
    for name, values, divergence in zip(target.names, thirds, column_divergences, strict=True):
        yield Disagreement(*target.key, *name, *values, *items, divergence)  # type: ignore[call-arg]  # lists of three


def vote_counts(target: TargetData, fitted: Collection[tuple[str, str]]) -> Iterator[VoteCount]:
    """Count the votes by fifth of the scores, for the best column that was not fitted on these ratings."""
    values = target.values(STATISTIC, "items")
    unfitted = [index for index, (metric, _) in enumerate(target.names) if (metric, target.dataset) not in fitted]
    if values is None or not np.isfinite(values[unfitted]).any():
        return
    best = unfitted[int(np.nanargmax(values[unfitted]))]
    scores, votes = target.scores[best], target.judged.votes.T
    known = np.isfinite(votes)
    ratings = votes[known]
    if len(np.unique(ratings)) > MAX_VALUES:  # replace votes with the midpoints of equal-width bins
        edges = np.linspace(ratings.min(), ratings.max(), FIFTHS + 1)
        ratings = ((edges[1:] + edges[:-1]) / 2)[np.searchsorted(edges[1:-1], ratings, side="right")]
    fifth_of_item = equal_parts(np.where(np.isfinite(target.judged.means), scores, np.nan), FIFTHS)
    fifth_of_vote = np.broadcast_to(fifth_of_item, votes.shape)[known]
    for fifth in range(FIFTHS):
        in_fifth = scores[fifth_of_item == fifth]
        for rating in np.unique(ratings).tolist() if len(in_fifth) else ():
            count = int(((fifth_of_vote == fifth) & (ratings == rating)).sum())
            yield VoteCount(*target.key, *target.names[best], fifth + 1, float(in_fifth.min()), float(in_fifth.max()),
                            rating, count)
