"""Bootstrap intervals equal scipy's on the same resamples; the fast way equals the plain one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.statistics import bootstrap as boot
from harness.statistics.bootstrap import bootstrap, by_annotator
from harness.statistics.coefficients import MEASURES
from harness.statistics.levels import within
from harness.statistics.panel import Panel, panel

FAST = [name for name, measure in MEASURES.items() if measure.resampled]
SPEARMAN = MEASURES["spearman"].value


def made(rows: int, seed: int = 7, values: int = 5) -> Panel:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, values + 1, size=rows).astype(float)
    metric = np.round(human + rng.normal(scale=2, size=rows), 1)
    return panel(metric, human, np.arange(rows) % 3, np.arange(rows) // 4)


def pearson_of(human: np.ndarray, metric: np.ndarray) -> float:
    return float(stats.pearsonr(human, metric)[0])


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_equals_scipy_on_the_same_resamples(method: str) -> None:
    given = made(40)
    oracle = stats.bootstrap((given.human, given.metric), pearson_of, paired=True, vectorized=False, n_resamples=300,
                             method=method, random_state=np.random.default_rng(7))
    draws = np.asarray(oracle.bootstrap_distribution)
    left_out = np.array([MEASURES["pearson"].value(given.take(np.arange(40) != row)) for row in range(40)])
    value = MEASURES["pearson"].value(given)
    found = boot.percentile(draws) if method == "percentile" else boot.bca(value, draws, left_out)
    assert found == pytest.approx(tuple(oracle.confidence_interval), abs=1e-12)


@pytest.mark.parametrize("by", ["row", "context"])
@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("rows", [5, 30, 200])
def test_the_fast_way_equals_the_plain_one(name: str, by: boot.Unit, rows: int) -> None:
    """Few rows give resamples that are constant on one side; both ways leave those out."""
    given, measure = made(rows, values=3), MEASURES[name]
    plain, fast = (bootstrap(given, measure.value, np.random.default_rng(1), by=by, draws=200, resampled=way)
                   for way in (None, measure.resampled))
    assert fast.draws == pytest.approx(plain.draws, abs=1e-11)
    assert fast.note == plain.note
    assert (fast.low, fast.high) == pytest.approx((plain.low, plain.high), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", FAST)
def test_an_outlier_costs_no_digits(name: str) -> None:
    """Resamples without the outlier have a millionth of the panel's spread."""
    given = made(30)
    given.metric[3] = 1e7
    plain, fast = (bootstrap(given, MEASURES[name].value, np.random.default_rng(1), resampled=way).draws
                   for way in (None, MEASURES[name].resampled))
    assert fast == pytest.approx(plain, abs=1e-11)


def test_same_seed_same_bytes() -> None:
    one, other = (bootstrap(made(50), SPEARMAN, np.random.default_rng(3)).draws.tobytes() for _ in range(2))
    assert one == other


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def draws() -> bytes:
        return bootstrap(made(50), SPEARMAN, np.random.default_rng(3), method="percentile",
                         resampled=MEASURES["spearman"].resampled).draws.tobytes()
    whole = draws()
    monkeypatch.setattr(boot, "CELLS", 333)
    assert draws() == whole


def test_contexts_go_together_and_apart() -> None:
    """Each of two contexts is drawn whole, and drawn twice counts as two contexts."""
    human, metric = np.array([1.0, 2, 3, 3, 1, 2]), np.array([1.0, 2, 3, 1, 2, 4])
    given = panel(metric, human, np.zeros(6, int), np.repeat([0, 1], 3))
    seen = []

    def watched(part: Panel) -> float:
        seen.append((part.n, len(np.unique(part.context))))
        return within(SPEARMAN, "context")(part)

    found = bootstrap(given, watched, np.random.default_rng(7), by="context", method="percentile", draws=50)
    first, second = (SPEARMAN(given.take(given.context == context)) for context in (0, 1))
    assert set(seen) == {(6, 2)}
    assert sorted(set(found.draws.round(12))) == pytest.approx(sorted({first, (first + second) / 2, second}))


def test_perfect_agreement_has_no_width() -> None:
    given = panel(np.arange(20.0), np.arange(20.0), np.zeros(20, int), np.arange(20))
    found = bootstrap(given, SPEARMAN, np.random.default_rng(7))
    assert (found.value, found.low, found.high) == (1, 1, 1)


def test_where_there_is_no_interval_the_reason_is_said(rng: np.random.Generator) -> None:
    given = made(30)
    constant = panel(np.zeros(30), given.human, given.system, given.context)
    one = panel(given.metric, given.human, given.system, np.zeros(30, int))
    rare = panel((np.arange(30) == 3) * 1.0, given.human, given.system, (np.arange(30) == 3) * 1)
    for found, reason in (
        (bootstrap(constant, SPEARMAN, rng), "the statistic does not exist on the panel"),
        (bootstrap(one, SPEARMAN, rng, by="context"), "1 unit to resample"),
        (bootstrap(rare, within(SPEARMAN, "system"), rng, method="percentile"), "resamples left out"),
        (by_annotator(given.human[:, None], given, SPEARMAN, rng), "1 unit to resample"),
    ):
        assert reason in found.note
        assert np.isnan(found.low) or "left out" in found.note


def test_blocks_estimate_the_same_acceleration(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Of means of an exponential sample: skewness / (6 sqrt(n)), here 2 / (6 sqrt(n))."""
    values = rng.exponential(size=4000)
    monkeypatch.setattr(boot, "MOST", 500)
    blocks = boot.acceleration(np.array([values[kept].mean() for kept in boot._left_out(4000)]))
    assert blocks == pytest.approx(2 / (6 * 4000**0.5), rel=0.3)


def test_annotators_by_hand() -> None:
    """Two annotators, one right and one wrong: drawn twice each gives 1 or -1, together no spread at all."""
    scores = np.array([1.0, 2, 3, 4])
    given = panel(scores, scores, np.zeros(4, int), np.arange(4))
    votes = np.stack([scores, np.array([4.0, 3, 2, np.nan])], axis=1)
    found = by_annotator(votes, given, SPEARMAN, np.random.default_rng(7), draws=80)
    # together: 2.5, 2.5, 2.5, 4; ranks 2, 2, 2, 4 against 1, 2, 3, 4
    assert found.value == pytest.approx(3 / 15**0.5)
    assert sorted(set(found.draws.round(12))) == pytest.approx([-1, 3 / 15**0.5, 1])


def test_coverage() -> None:
    """A 90 % interval of r covers the true 0.6 in about 90 of 100 samples."""
    rng, covered = np.random.default_rng(7), 0
    for _ in range(100):
        human, noise = rng.normal(size=(2, 60))
        given = panel(0.6 * human + 0.8 * noise, human, np.zeros(60, int), np.arange(60))
        found = bootstrap(given, MEASURES["pearson"].value, rng, draws=300, level=0.9,
                          resampled=MEASURES["pearson"].resampled)
        covered += found.low <= 0.6 <= found.high
    assert 80 <= covered <= 98
