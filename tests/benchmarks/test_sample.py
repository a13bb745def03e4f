"""The cards of the collection and the bundled sample: complete, plausible, reproducible."""

import csv
import json
from collections import defaultdict
from pathlib import Path

from benchmarks import registry
from benchmarks.formats import official
from tests.conftest import ROOT
from tools.sample.make import DATA, make


def test_making_the_sample_reproduces_the_committed_files(tmp_path: Path) -> None:
    made = {path.name: path.read_bytes() for path in make(tmp_path)}
    assert made == {path.name: path.read_bytes() for path in DATA.iterdir()}
    assert (len(made), sum(map(len, made.values())) < 1_000_000) == (19, True)
    for path in DATA.iterdir():
        card = registry.card(path.name.removesuffix("_eval.json").removesuffix("_clean"))
        assert len(official.parse(path, card, "sample").items) == len(json.loads(path.read_bytes())) >= 21


def test_every_card_is_complete_and_its_sources_have_converters() -> None:
    for name, card in registry.cards().items():
        assert all((card.title, card.licence, card.citation, card.homepage.startswith("http")))
        assert all(source.url.startswith("http") for source in card.sources)
        assert all(source.sha256 is None or len(source.sha256) == 64 for source in card.sources)
        organisers = (card.sources[0].form, card.sources[0].by_hand) == ("official", True)
        assert organisers == (card.split in ("dev", "test"))
        forms = {source.form for source in card.sources if not source.by_hand}
        assert ("mirror" in forms) == (card.split == "dev" and name != "dstc6")
        assert len({quality.name for quality in card.qualities}) == len(card.qualities) > 0
        assert all(quality.low is None or quality.low < (quality.high or 0) for quality in card.qualities)


def test_sizes_and_qualities_agree_with_the_papers() -> None:
    """The challenge's two papers report the size, level and qualities of each dataset."""
    printed = defaultdict(list)
    with (ROOT / "harness" / "published" / "datasets.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            printed[row["dataset"]].append((row["split"], row["level"], int(row["turns"]), int(row["qualities"])))
    challenge = {card.name: card for card in registry.cards().values() if card.split in ("dev", "test")}
    assert printed.keys() == challenge.keys()
    for name, card in challenge.items():
        ours = (card.split, card.level, card.size, len(card.qualities))
        assert all(value in values for value, values in zip(ours, zip(*printed[name], strict=True), strict=True)), name
