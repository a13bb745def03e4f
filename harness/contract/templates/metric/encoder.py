"""My metric: the similarity of the response to the nearest utterance of the context."""

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
        models=("encoder",), notes="Similarity of the response to the nearest utterance of the context.")
    encoder: str = ""  # empty: the encoder of the run (harness run --encoder); its digest is in the signature

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a cosine, −1 to 1; NaN without a context."""
        encoder = models.encoder(self.encoder)
        contexts = [[turn.text for turn in item.context if turn.text.strip()] for item in items]
        texts = [text for utterances in contexts for text in utterances]
        utterance_vectors = encoder.sentences(texts)  # (utterances, width)
        reply_vectors = encoder.sentences([reply(item) for item in items])  # (items, width)
        ends = np.cumsum([len(utterances) for utterances in contexts])
        column = np.full(len(items), np.nan)
        for row, (end, utterances) in enumerate(zip(ends, contexts, strict=True)):
            if utterances:
                column[row] = cosines(utterance_vectors[end - len(utterances) : end], reply_vectors[[row]]).max()
        return {"my-metric": column}
