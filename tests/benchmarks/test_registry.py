"""The registry: nineteen datasets with cards that say what must be known."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.storage import store
from benchmarks.storage.fetch import converter
from tests.conftest import ROOT


def test_every_card_is_complete_and_its_sources_can_be_read() -> None:
    for name, card in registry.cards().items():
        assert card.title
        assert card.licence
        assert card.citation
        assert card.homepage.startswith("http")
        assert all(source.url.startswith("http") for source in card.sources)
        assert all(source.sha256 is None or len(source.sha256) == 64 for source in card.sources)
        own = [source.form for source in card.sources if not source.by_hand and source.form != "mirror"]
        assert all(map(callable, map(converter, own)))
        assert (card.sources[0].form, card.sources[0].by_hand) == ("official", True)
        assert len({quality.name for quality in card.qualities}) == len(card.qualities) > 0
        assert all(quality.low is None or quality.low < (quality.high or 0) for quality in card.qualities)
        mirrored = any(source.form == "mirror" for source in card.sources)
        assert mirrored == (card.split == "dev" and name != "dstc6")


def test_sizes_and_qualities_agree_with_print() -> None:
    """What a card says of size, level and qualities, one of the challenge's two papers prints; often both."""
    printed: dict[str, list[tuple[str, str, int, int]]] = {}
    with (ROOT / "harness" / "published" / "datasets.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            entry = (row["split"], row["level"], int(row["turns"]), int(row["qualities"]))
            printed.setdefault(row["dataset"], []).append(entry)
    assert set(printed) == set(registry.names())
    for name, card in registry.cards().items():
        mine = (card.split, card.level, card.size, len(card.qualities))
        assert all(value in values for value, values in zip(mine, zip(*printed[name], strict=True), strict=True)), name


def test_the_home_comes_before_the_sample(home: Path) -> None:
    sample = registry.load("jsalt", home)
    assert sample.origin == "sample"
    store.save(Dataset(sample.card, sample.items[:2], (), "imported"), home)
    assert registry.load("jsalt", home).origin == "imported"


def test_cards_load_nothing_heavy() -> None:
    """`harness --help` and `harness list` read the cards alone."""
    heavy = ("pandas", "datasets", "pyarrow", "torch", "huggingface_hub", "numpy")
    code = ("import sys; from benchmarks import registry; registry.names(); "
            f"print([name for name in {heavy} if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
