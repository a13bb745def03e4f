"""My metric: how near the response comes to anything that was said, as the cosine of sentence vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.similarity import cosines
from metrics.text.words import reply


@dataclass(frozen=True, slots=True)
class MyMetric:
    """max over the utterances u of the context of cos(response, u)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="my-metric", title="My metric", columns=("my-metric",), family="plug-in", needs=("context",),
        models=("encoder",), notes="How near the response comes to anything that was said.")
    encoder: str = ""  # empty: the encoder of the run (harness run --encoder); its digest is in the signature

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A cosine, −1 to 1; NaN without a context."""
        encoder = models.encoder(self.encoder)
        said = [[turn.text for turn in item.context if turn.text.strip()] for item in items]
        others = encoder.sentences([text for texts in said for text in texts])  # (utterances, width)
        replies = encoder.sentences([reply(item) for item in items])  # (items, width)
        ends = np.cumsum([len(texts) for texts in said])
        column = np.full(len(items), np.nan)
        for row, (end, texts) in enumerate(zip(ends, said, strict=True)):
            if texts:
                column[row] = cosines(others[end - len(texts) : end], replies[[row]]).max()
        return {"my-metric": column}
