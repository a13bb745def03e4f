"""Random: a pseudorandom number per item, the floor of every board."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models


@dataclass(frozen=True, slots=True)
class Random:
    """Uniform on [0, 1), derived from item id and seed, so independent of the order of the items."""

    card: ClassVar[MetricCard] = MetricCard(
        name="random", title="Random", columns=("random",), family="control",
        notes="Derived from the item's id and the run's seed; shows what chance achieves.", system="control",
    )
    seed: int = 0

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return one number per item, 0 to 1."""
        digests = (hashlib.blake2b(f"{self.seed}\0{item.id}".encode(), digest_size=8).digest() for item in items)
        return {"random": np.array([(int.from_bytes(digest) >> 11) / (1 << 53) for digest in digests])}
