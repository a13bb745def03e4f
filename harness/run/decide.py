"""Statistics of single votes: decisions on columns, correlations by rater disagreement, and counts of votes by score.

A decision says whether a column may replace a rater, what it is worth, and whether it shares the first place.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.decision_rows import Decision, Disagreement, VoteCount
from harness.results.rows import ColumnKey
from harness.run.compare import STATISTIC, generator
from harness.run.correlate import TargetData
from harness.statistics.panel import Array, Codes, by_known_rows, folds, why_undefined
from harness.statistics.prediction import worth
from harness.statistics.reliability import SINGLE_VOTES, by_third, divergences, spread
from harness.statistics.reliability import parts as equal_parts
from harness.statistics.replacement import MIN_ITEMS, HeldOut, on_scale, replacement

MIN_CONTEXTS = 30
"""Minimum number of contexts for an accurate t test."""
BATCH = 1 << 18
"""Maximum number of columns times votes that are tested at once."""


def decisions(target: TargetData, epsilon: float, seed: int, cache: Cache, tied: Collection[ColumnKey] = (),
              source: str = "") -> Iterator[Decision]:
    """Yield the decision on every column; `tied` are the columns that share the first place.

    Folds are drawn with the seed, the quality and the `source` of the votes, by default the dataset's name.
    """
    if not target.names:
        return
    votes, exchangeable = _votes(target)
    divisions = folds(target.units, generator(seed, source or target.dataset, target.quality))
    key = [*target.key, epsilon, exchangeable, votes.shape,
           digest(votes, target.judged.means, target.system, target.units, divisions)]
    rows = cache.rows("decisions", key, list(map(digest, target.scores)),
                      functools.partial(_decision_rows, target, votes, divisions, epsilon, exchangeable=exchangeable))
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


def _decision_rows(target: TargetData, votes: Array, divisions: Codes, epsilon: float, columns: Sequence[int], *,
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
                values = on_scale(held_out, scores[batch][:, rows], divisions[:, rows])
                result = astuple(replacement(held_out, values, epsilon))
                numbers[batch, :8] = np.stack(np.broadcast_arrays(*result), axis=1)
            rating_worth = worth(human[rows], scores[batch][:, rows], target.system[rows], units)
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
             f"{contexts} contexts: the test is approximate below {MIN_CONTEXTS}": 0 < contexts < MIN_CONTEXTS}
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
