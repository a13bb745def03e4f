"""Correlations by degree of rater disagreement, and vote counts by score of the best column."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from harness.results.decision_rows import Disagreement, VoteCount
from harness.run.correlate import TargetData
from harness.run.intervals import STATISTIC
from harness.statistics.reliability import by_third, divergences, parts, spread

FIFTHS, MAX_VALUES = 5, 7
"""Number of score bins, and the maximum number of distinct votes that are not binned."""


def disagreement(target: TargetData) -> Iterator[Disagreement]:
    """Yield each column's correlation by third of rater spread, and its divergence from the votes, if either exists."""
    votes = target.judged.votes.T
    spreads = spread(votes)
    column_divergences = divergences(votes, target.scores).tolist()
    if not np.isfinite([*spreads, *column_divergences]).any():
        return
    items = np.bincount(parts(spreads, 3)[np.isfinite(spreads)], minlength=3).tolist()
    thirds = by_third(target.judged.means, target.scores, spreads).tolist()
    for name, values, divergence in zip(target.names, thirds, column_divergences, strict=True):
        yield Disagreement(*target.key, *name, *values, *items, divergence)  # type: ignore[call-arg]  # lists of three


def vote_counts(target: TargetData, fitted: Collection[tuple[str, str]]) -> Iterator[VoteCount]:
    """Count the votes by fifth of the scores, for the best column that was not fitted on these ratings."""
    values = target.values(STATISTIC, "items")
    unseen = [index for index, (metric, _) in enumerate(target.names) if (metric, target.dataset) not in fitted]
    if values is None or not np.isfinite(values[unseen]).any():
        return
    best = unseen[int(np.nanargmax(values[unseen]))]
    scores, votes = target.scores[best], target.judged.votes.T
    known = np.isfinite(votes)
    ratings = votes[known]
    if len(np.unique(ratings)) > MAX_VALUES:  # replace votes with the midpoints of equal-width bins
        edges = np.linspace(ratings.min(), ratings.max(), FIFTHS + 1)
        ratings = ((edges[1:] + edges[:-1]) / 2)[np.searchsorted(edges[1:-1], ratings, side="right")]
    fifth = parts(np.where(np.isfinite(target.judged.means), scores, np.nan), FIFTHS)
    fifth_of_vote = np.broadcast_to(fifth, votes.shape)[known]
    for number in range(FIFTHS):
        within = scores[fifth == number]
        for rating in np.unique(ratings).tolist() if len(within) else ():
            count = int(((fifth_of_vote == number) & (ratings == rating)).sum())
            yield VoteCount(*target.key, *target.names[best], number + 1, float(within.min()), float(within.max()),
                            rating, count)
