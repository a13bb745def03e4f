"""Which datasets a score file can be for: those that are named, or all; the real ones apart from the sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.dataset import Dataset


def at_hand(home: Path, names: Sequence[str], split: str | None = None) -> tuple[list[Dataset], list[Dataset]]:
    """The real datasets and those of the bundled sample, of the named ones or of all, of one split or of both."""
    from benchmarks import registry

    wanted = dict.fromkeys(registry.card(name.casefold()).name for name in names) or registry.names()
    datasets = [registry.load(name, home) for name in wanted if split in (None, registry.card(name).split)]
    sample = [dataset for dataset in datasets if dataset.origin == "sample"]
    return [dataset for dataset in datasets if dataset.origin != "sample"], sample


def listed(datasets: Sequence[Dataset]) -> str:
    """Their names, for a message."""
    return ", ".join(one.card.name for one in datasets)
