"""My metric keeps the contract of `harness check`; add tests with items of your own."""

from __future__ import annotations

from my_metric import MyMetric

from harness.contract import demand


def test_the_contract() -> None:
    """Check that columns are as promised, finite or NaN, for any items in any order and number."""
    demand(MyMetric())
