"""Reliability of ratings, by hand and by simulation; correlations by the raters' spread; divergence from votes."""

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from harness.statistics import reliability
from harness.statistics.coefficients import pearsons, spearmans
from harness.statistics.panel import Array
from harness.statistics.reliability import (
    PeopleAgreement,
    alpha,
    by_third,
    divergences,
    multiply_rated,
    parts,
    spread,
    vote_table,
)


def votes(rows: Sequence[Sequence[float]]) -> Array:
    return multiply_rated(vote_table(rows))


KRIPPENDORFF = [(1, 1, 1), (2, 2, 3, 2), (3, 3, 3, 3), (3, 3, 3, 3), (2, 2, 2, 2), (1, 2, 3, 4), (4, 4, 4, 4),
                (1, 1, 2, 1), (2, 2, 2, 2), (5, 5, 5), (1, 1), (3,)]
"""Four observers, twelve units, missing data: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, C."""


def test_krippendorffs_own_table() -> None:
    for scale, value in (("ordinal", 0.815), ("interval", 0.849)):
        agreement = alpha(votes(KRIPPENDORFF), scale)
        assert (agreement.value, agreement.items) == (pytest.approx(value, abs=5e-4), 11)
        assert alpha(votes([(1, 1), (4, 4, 4), (2, 2)]), scale).value == pytest.approx(1)
    with pytest.raises(ValueError, match="ordinal"):
        alpha(votes(KRIPPENDORFF), "ratio")


@settings(max_examples=50)
@given(st.lists(st.lists(st.integers(1, 5), max_size=4).map(tuple), min_size=2, max_size=9))
def test_interval_alpha_equals_its_definition(table: list[tuple[int, ...]]) -> None:
    agreement = alpha(votes(table))
    units = [unit for unit in table if len(unit) > 1]
    flat = [vote for unit in units for vote in unit]
    if len(set(flat)) < 2:
        assert np.isnan(agreement.value)
        assert agreement.note
        return
    observed = sum(sum((a - b) ** 2 for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / len(flat)
    expected = np.mean([(a - b) ** 2 for a, b in permutations(flat, 2)])
    assert agreement.value == pytest.approx(1 - observed / expected)


def test_split_half_by_hand(rng: np.random.Generator) -> None:
    """With two votes per item that agree, r is 1 and stays 1 however votes are split."""
    agreed = votes([(1, 1), (2, 2), (5, 5)])
    assert reliability.split_half(agreed, pearsons, rng) == PeopleAgreement(pytest.approx(1), 3)
    # Spearman and Brown: 0.6 between halves is 2 * 0.6 / 1.6 for all votes
    assert reliability.stepped_up(PeopleAgreement(0.6, 9), 2).value == pytest.approx(0.75)
    assert np.isnan(reliability.stepped_up(PeopleAgreement(-1.0, 9), 2).value)
    first, again = (reliability.split_half(votes(KRIPPENDORFF), pearsons, np.random.default_rng(7)) for _ in range(2))
    assert first == again


def simulated(counts: list[int], items: int, rng: np.random.Generator) -> list[tuple[float, ...]]:
    """Return votes with item and error variance 1: reliability is 1/2 for a vote, k / (k + 1) for a mean of k."""
    return [tuple(truth + rng.normal(size=counts[item % len(counts)]))
            for item, truth in enumerate(rng.normal(size=items))]


def test_simulated_votes_have_their_true_reliability(rng: np.random.Generator) -> None:
    """A vote against three: covariance 1, variances 2 and 1 + 1/3, r = 1 / sqrt(8/3). A vote: reliability 1/2."""
    for counts in ([2], [3], [3, 5]):
        halves = reliability.split_half(votes(simulated(counts, 4000, rng)), pearsons, rng, draws=5)
        assert halves.value == pytest.approx(np.mean(counts) / (np.mean(counts) + 1), abs=0.03)
    truth = rng.normal(size=4000)
    table = votes([tuple(row) for row in truth[:, None] + rng.normal(size=(4000, 4))])
    assert reliability.leave_one_out(table, pearsons, rng, draws=5).value == pytest.approx((3 / 8) ** 0.5, abs=0.03)
    assert alpha(table).value == pytest.approx(0.5, abs=0.03)
    (r,) = pearsons(table.mean(axis=1), (0.6 * truth + 0.8 * rng.normal(size=4000))[None])
    halves = reliability.split_half(table, pearsons, rng, draws=5)
    assert reliability.disattenuated(r, halves.value) == pytest.approx(0.6, abs=0.03)


def test_the_unit_of_votes_does_not_matter(rng: np.random.Generator) -> None:
    whole = np.clip(np.rint(3 + rng.normal(size=(60, 1)) + rng.normal(size=(60, 4))), 1, 5)
    for table, others in ((whole, (whole / 10, whole * 0.1 + 0.3, whole / 3, whole * 1e-30)),
                          (1.0 * (whole > 3), (np.where(whole > 3, 0.3, 0.1),))):
        for other in others:
            for one, unit in zip(*([
                reliability.leave_one_out(rows, spearmans, np.random.default_rng(1)).value,
                reliability.split_half(rows, spearmans, np.random.default_rng(1)).value,
                reliability.leave_one_rater_out(rows.T, spearmans).value,
            ] for rows in (table, other)), strict=True):
                assert one == pytest.approx(unit, abs=1e-12)


def test_single_votes_have_no_reliability(rng: np.random.Generator) -> None:
    single = votes([(1,), (2,), ()])
    for agreement in (reliability.leave_one_out(single, pearsons, rng), reliability.split_half(single, pearsons, rng),
                      alpha(single)):
        assert np.isnan(reliability.disattenuated(0.5, agreement.value))
        assert (agreement.items, agreement.note) == (0, reliability.SINGLE_VOTES)
    assert votes([(1,), (1, 2), (3, 4)]).tolist() == [[1, 2], [3, 4]]


def test_leave_one_rater_out_by_hand() -> None:
    """The first rater against the mean of the others: 1, 2, 3 with 1.5, 2, 4; the third shares only two items."""
    table = np.array([[1, 2, 3, 4], [1, 2, 4, np.nan], [2, np.nan, 4, np.nan]], dtype=float)
    first = np.corrcoef([1, 2, 3], [1.5, 2, 4])[0, 1]
    second = np.corrcoef([1, 2, 4], [1.5, 2, 3.5])[0, 1]
    agreement = reliability.leave_one_rater_out(table, pearsons)
    assert agreement.value == pytest.approx((first + second) / 2)
    assert agreement.items == 3
    assert np.isnan(reliability.leave_one_rater_out(table[2:], pearsons).value)


def test_spread_is_that_of_the_votes_on_an_item() -> None:
    missing = math.nan
    votes = np.array([[1, 2, 5, missing], [3, 2, missing, missing], [4, missing, missing, missing]])
    assert spread(votes) == pytest.approx([np.std([1, 3, 4]), 0, math.nan, math.nan], nan_ok=True)


def test_equal_values_stay_in_one_part() -> None:
    assert parts(np.array([0.0, 0, 0, 0, 1, 2, math.nan]), 3).tolist() == [0, 0, 0, 0, 2, 2, -1]
    assert parts(np.arange(9.0), 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert parts(np.zeros(5), 3).tolist() == [0] * 5
    assert parts(np.full(2, math.nan), 3).tolist() == [-1, -1]


def test_a_metric_can_fail_only_where_raters_disagree(rng: np.random.Generator) -> None:
    quality, noise = rng.normal(size=900), np.repeat([0.1, 0.5, 2.0], 300)
    votes = quality[:, None] + noise[:, None] * rng.normal(size=(900, 4))
    scores = np.array([quality, np.where(noise > 1, rng.normal(size=900), quality), np.full(900, math.nan)])
    values = by_third(votes.mean(axis=1), scores, spread(votes.T))
    assert values[0, 0] > values[0, 1] > values[0, 2] > 0.4
    assert abs(values[1, 2]) < 0.2 < values[1, 1]
    assert np.isnan(values[2]).all()


def test_divergence_equals_scipys(rng: np.random.Generator) -> None:
    votes = rng.integers(2, size=(4, 10)).astype(float)
    share = votes.mean(axis=0)
    score = rng.uniform(size=10)
    expected = np.mean([jensenshannon([1 - s, s], [1 - q, q], base=2) ** 2 for s, q in zip(score, share, strict=True)])
    values = divergences(votes, np.array([score, share, score + 1]))
    assert values == pytest.approx([expected, 0, math.nan], nan_ok=True)
    assert np.isnan(divergences(np.arange(3.0)[None], np.array([[0.1, 0.2, 0.3]]))).all()
