"""Scores of transformers that were trained from their tokens: what is scored is read by `ENCODER+WEIGHTS`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.text.words import reply
from metrics.trained.heads.table import Rows, fill, probabilities, stable


def pair_probabilities(items: Sequence[Item], models: Models, weights: str, encoder: str, turns: int = 0) -> Column:
    """The probability of each response after the last `turns` of its context (0: all), read as one sequence.

    NaN without a context.
    """
    from metrics.training.tuned import Classifier

    head = models.trained(weights, Classifier, encoder)
    spoken = [[turn.text for turn in item.context if turn.text.strip()] for item in items]
    pairs = [(" ".join(said[-turns:]), reply(item)) for said, item in zip(spoken, items, strict=True)]

    def score(rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Column:
        chosen = [pairs[row] for row in np.flatnonzero(rows)]
        return head_probabilities(head, models.encoder(f"{encoder}+{weights}").pairs(chosen, head.pooling, head.length))

    return fill(np.array([bool(said) for said in spoken], dtype=np.bool_), score)


def head_probabilities(head: object, vectors: Vectors) -> Column:
    """The sigmoid of the head's logit of each vector, computed in double precision."""
    import torch

    network = head.cpu().double().eval()  # type: ignore[attr-defined]

    def logits(rows: Rows) -> Column:
        with torch.inference_mode():
            return np.asarray(network(torch.from_numpy(vectors[rows]).double()).numpy())

    return probabilities(stable(np.arange(len(vectors)), logits))
