"""Scores of transformers that were trained from their tokens: what is scored is read by `ENCODER+WEIGHTS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.text.words import reply
from metrics.trained.heads.table import Rows, fill, in_blocks, probabilities, stable


def pair_probabilities(items: Sequence[Item], models: Models, weights: str, encoder: str, turns: int = 0,
                       kind: Callable[..., Any] | None = None,
                       beside: Callable[[Rows], Any] | None = None) -> Column:
    """The probability of each response after the last `turns` of its context (0: all), read as one sequence.

    NaN without a context. `kind` is the head, else a classifier; `beside` gives what it takes besides of some items.
    """
    spoken = [[turn.text for turn in item.context if turn.text.strip()] for item in items]
    pairs = [(" ".join(said[-turns:]), reply(item)) for said, item in zip(spoken, items, strict=True)]
    return text_pair_probabilities(pairs, models, weights, encoder, kind, beside)


def text_pair_probabilities(pairs: Sequence[tuple[str, str]], models: Models, weights: str, encoder: str,
                            kind: Callable[..., Any] | None = None,
                            beside: Callable[[Rows], Any] | None = None) -> Column:
    """The probability of each pair of texts, read as one sequence; NaN where the first is empty."""
    from metrics.training.tuned import Classifier

    head = models.trained(weights, kind or Classifier, encoder)

    def score(rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Column:
        chosen = np.flatnonzero(rows)
        vectors = models.encoder(f"{encoder}+{weights}").pairs([pairs[int(row)] for row in chosen],
                                                               head.pooling, head.length)
        return head_probabilities(head, vectors, beside and (lambda block: beside(chosen[block])))

    return fill(np.array([bool(first) for first, _ in pairs], dtype=np.bool_), score)


def response_probabilities(items: Sequence[Item], models: Models, weights: str, encoder: str,
                           kind: Callable[..., Any] | None = None) -> Column:
    """The probability of each response, read alone."""
    from metrics.training.tuned import Classifier

    head, texts = models.trained(weights, kind or Classifier, encoder), [reply(item) for item in items]
    return head_probabilities(head, models.encoder(f"{encoder}+{weights}").sentences(texts, head.pooling))


def head_probabilities(head: Any, vectors: Vectors, beside: Callable[[Rows], Any] | None = None) -> Column:
    """The sigmoid of the head's logit of each vector, and of what stands beside it, computed in double precision."""
    import torch

    network = head.cpu().double().eval()

    def logits(block: Rows) -> Any:
        return network(torch.from_numpy(vectors[block]).double(), *([beside(block)] if beside else []))

    return probabilities(stable(np.arange(len(vectors)), lambda rows: in_blocks(rows, logits)))
