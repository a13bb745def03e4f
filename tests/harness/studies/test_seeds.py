"""`harness study seeds`: means and spread by hand; tests/harness/learning/test_train.py trains."""

from __future__ import annotations

from harness.studies.seeds import SeedResult, findings


def test_spread_is_over_seeds_of_means_over_datasets() -> None:
    values = {("a", "x"): (0.1, 0.3), ("a", "y"): (0.3, 0.5), ("b", "x"): (0.6, 0.6)}
    results = [SeedResult(seed, "m", "m", "real", *target, value)
               for target, some in values.items() for seed, value in enumerate(some)]
    (grid,) = findings(results).tables
    assert grid.head == ("column", "mean", "a", "b")
    assert grid.rows == (("m", "0.450 ± 0.071", "0.300 ± 0.141", "0.600 ± 0.000"),)
