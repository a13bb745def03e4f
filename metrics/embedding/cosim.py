"""CoSim (Xu et al., 2018, a baseline of DynaEval): the mean cosine of adjacent utterances.

A response is scored as the last utterance of its dialogue so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.embedding.cosine import pair_cosines
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models


@dataclass(frozen=True, slots=True)
class CoSim:
    """1/(n−1) · Σ cos(e(u_i), e(u_{i+1})) over the utterances u_1 ... u_n."""

    card: ClassVar[MetricCard] = MetricCard(
        name="cosim", title="CoSim", columns=("cosim",), family="embedding", levels=("dialogue", "turn"),
        models=("encoder",), paper="https://aclanthology.org/2021.acl-long.441",
        notes="For a response: the mean over its context and itself.", system="same method, smaller model",
        departures=("Vectors come from the run's encoder, whereas DynaEval uses a RoBERTa adapted to dialogue.",),
    )
    encoder: str = ""
    pooling: Literal["mean", "cls", "max"] = "mean"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the mean cosine of adjacent utterances, −1 to 1; NaN if there is only one utterance."""
        adjacent = [list(pairwise(turn.text for turn in item.utterances)) for item in items]
        pairs = (pair for pairs in adjacent for pair in pairs)
        cosines = pair_cosines(pairs, models.encoder(self.encoder), self.pooling)
        means = [np.mean([cosines[pair] for pair in pairs]) if pairs else np.nan for pairs in adjacent]
        return {"cosim": np.array(means, dtype=np.float64)}
