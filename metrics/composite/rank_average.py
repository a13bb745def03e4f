"""Rank averaging: the mean of an item's ranks under other metrics, from 0 to 1.

It learns nothing and needs no common scale, but an item's score depends on the other items of its dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composition import Composite, InputScores
from metrics.evidence import Evidence
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class RankAverage(Composite):
    """The mean rank among the items of a dataset."""

    card: ClassVar[MetricCard] = MetricCard(
        name="rank-average", title="Rank average", columns=("rank-average",), family="composite", scope="dataset",
        notes="The mean of the ranks under each input, among the items of the dataset.",
    )
    inputs: str = "deb+usr-dr-c+usl-h-nup+mme-rm+cosine+distinct-1"

    @property
    def learns(self) -> bool:
        return False

    def scaled(self, table: InputScores, evidence: Evidence) -> InputScores:
        """Return each input's ranks, divided by the number of items that it scored; ties share their mean rank."""
        import scipy

        counts = np.isfinite(table).sum(axis=1, keepdims=True)
        return np.asarray(scipy.stats.rankdata(table, axis=1, nan_policy="omit") / np.maximum(counts, 1))
