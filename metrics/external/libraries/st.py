"""`st:MODEL`: the cosine of sentence embeddings (Reimers and Gurevych, 2019), made by sentence-transformers itself.

It is the package's `encode`, with the model's own pooling, normalisation and prompt; what a model without such a
description says is the mean over its tokens. An empty response has the embedding that the model gives to no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from metrics.external.libraries.pairs import BATCH, OfPairs, Pair
from metrics.metric import Column, Metric, MetricCard
from metrics.models.memory import Vectors
from metrics.models.networks import quiet
from metrics.models.service import Models
from metrics.text.similarity import cosines


@dataclass(frozen=True, slots=True)
class SentenceCosine(OfPairs):
    """cos(e(response), e(other)), −1 to 1."""

    card: ClassVar[MetricCard] = MetricCard(
        name="st", title="Cosine of sentence embeddings", columns=("st",), family="sentence-transformers",
        needs=("context",), paper="https://aclanthology.org/D19-1410",
        notes="Embedded by the package sentence-transformers, with the model's own pooling and normalisation.",
    )

    def values(self, pairs: Sequence[Pair], models: Models) -> Column:
        """The cosine of each pair; each distinct text is read once in a run."""
        vectors = self._vectors(list(dict.fromkeys(text for pair in pairs for text in pair)), models)
        return cosines(np.stack([vectors[other] for other, _ in pairs]), np.stack([vectors[text] for _, text in pairs]))

    def _vectors(self, texts: Sequence[str], models: Models) -> dict[str, Vectors]:
        key = self.depends(models)
        known = {text: vector for text in texts if (vector := models.memory.get((*key, text))) is not None}
        if missing := [text for text in texts if text not in known]:
            network = self.loaded("SentenceTransformer", models)
            with quiet():
                read = network.encode(missing, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)
            for text, vector in zip(missing, read, strict=True):
                known[text] = np.array(vector, dtype=np.float32)
                models.memory.put((*key, text), known[text])
        return known


def metric_class(model: str) -> type[Metric]:
    """The metric of one sentence encoder."""
    return cast("type[Metric]", SentenceCosine.named(f"st:{model}", model))
