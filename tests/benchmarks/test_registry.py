"""The registry: nineteen datasets with cards that say what must be known."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.errors import UnknownDataset
from benchmarks.storage import store
from tests.conftest import ROOT


def test_nineteen_in_the_order_of_the_challenge() -> None:
    assert registry.names() == registry.ORDER
    assert len(registry.names("dev")) == 14
    assert len(registry.names("test")) == 5


@pytest.mark.parametrize("name", registry.ORDER)
def test_a_card_is_complete(name: str) -> None:
    card = registry.card(name)
    assert card.title
    assert card.licence
    assert card.citation
    assert card.size > 0
    assert card.sources
    assert all(source.url.startswith("http") for source in card.sources)
    assert all(source.sha256 is None or len(source.sha256) == 64 for source in card.sources)
    assert len({quality.name for quality in card.qualities}) == len(card.qualities) > 0
    assert all(quality.low is None or quality.low < (quality.high or 0) for quality in card.qualities)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownDataset, match="did you mean 'fed-turn'"):
        registry.card("fed-turns")


def test_the_home_comes_before_the_sample(home: Path) -> None:
    sample = registry.load("jsalt", home)
    assert sample.origin == "sample"
    store.save(Dataset(sample.card, sample.items[:2], (), "imported"), home)
    assert registry.load("jsalt", home).origin == "imported"


def test_sizes_and_qualities_agree_with_print() -> None:
    """What a card says of size, level and qualities, one of the challenge's two papers prints; often both."""
    printed: dict[str, list[tuple[str, str, int, int]]] = {}
    with (ROOT / "harness" / "published" / "datasets.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            entry = (row["split"], row["level"], int(row["turns"]), int(row["qualities"]))
            printed.setdefault(row["dataset"], []).append(entry)
    assert set(printed) == set(registry.names())
    for name in registry.names():
        card = registry.card(name)
        mine = (card.split, card.level, card.size, len(card.qualities))
        assert all(value in values for value, values in zip(mine, zip(*printed[name], strict=True), strict=True)), name
