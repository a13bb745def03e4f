"""Entries of a report."""

import numpy as np

from benchmarks.dataset import Quality
from harness.run.correlate import Judged
from harness.run.entries import warning
from harness.statistics.reliability import vote_table


def judged(*votes: tuple[float, ...]) -> Judged:
    return Judged(Quality("kind"), vote_table(votes), np.array([float(np.mean(item)) for item in votes]))


def test_nearly_constant_votes_give_a_warning() -> None:
    assert warning(judged(*[(1.0, 1.0)] * 8, (1.0, 0.0), (1.0, 0.0))) == (
        "90 % of the votes are 1, so a constant has this accuracy; a correlation rests on the 2 of 10 items with other "
        "votes")
    for votes in ([(1.0,)] * 17 + [(0.0,)] * 3, [(1.0,)] * 9, []):
        assert warning(judged(*votes)) == ""
