"""My dataset reads, and the converter makes its table of what was published."""

from __future__ import annotations

from pathlib import Path

import my_dataset
from my_dataset.convert import convert

HERE = Path(my_dataset.__file__).parent


def test_the_dataset_reads() -> None:
    """Every item has its own id, and every quality three rated items or more."""
    dataset = my_dataset.dataset.load()
    assert len({item.id for item in dataset.items}) == len(dataset.items)
    for quality in dataset.card.qualities:
        rated = [rating.votes for rating in dataset.ratings if rating.quality == quality.name and rating.votes]
        assert len(rated) >= 3
        assert all(quality.takes(vote) for votes in rated for vote in votes)


def test_what_was_published_becomes_the_table(tmp_path: Path) -> None:
    """The table in the package is what the converter writes."""
    convert(HERE / "raw.jsonl", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == (HERE / "my-dataset.csv").read_bytes()
