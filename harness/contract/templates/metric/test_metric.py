"""My metric keeps the contract that `harness check` tries: add what it should say of items of your own."""

from __future__ import annotations

from my_metric import MyMetric

from harness.contract import demand


def test_the_contract() -> None:
    """Columns as promised, finite or NaN, whatever the items, their order and their number."""
    demand(MyMetric())
