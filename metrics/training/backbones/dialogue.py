"""A dialogue encoder: low-rank adapters that move the vector of a context close to that of its reply.

It is trained end to end as a bi-encoder on the run's encoder: both sides are encoded separately, and the means of their
token states are compared by cosine (the loss of Henderson et al. 2017, in both directions). A context is the last one
to three utterances; a corpus's adversarial replies serve as additional negatives. Use it as `--encoder NAME+dialogue`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from metrics.training.examples import exchanges, labelled_contexts, pick
from metrics.training.objectives import objective, on_diagonal, symmetric_cross_entropy
from metrics.training.recipe import Dialogues, Objective, Trainable, TrainingData, recipes_of
from metrics.training.tuned import network_of

TURNS = 3
"""Maximum number of utterances in a context."""
LOGIT_SCALE = 20.0
"""Logit scale of cosines."""


@dataclass(frozen=True, slots=True)
class DialogueEncoder(Trainable):
    """Cross entropy of finding the reply to each context within the batch, and the context of each reply."""

    recipes = recipes_of("dialogue")
    encoder: str = ""

    def objective(self, data: TrainingData) -> Objective:
        def batch(examples: Sequence[tuple[str, str, str]], rng: np.random.Generator) -> tuple[Any, Any, Any]:
            contexts, replies, hard = zip(*examples, strict=True)
            candidates = [*replies, *filter(None, hard)]
            equal = [[candidate == reply and column != row for column, candidate in enumerate(candidates)]
                     for row, reply in enumerate(replies)]  # equal replies are not negatives
            return *(network_of(data).inputs(side, rng)[0] for side in (contexts, candidates)), torch.tensor(equal)

        def cosines(network: Any, batch: Any) -> Any:
            *sides, equal = batch
            contexts, replies = (functional.normalize(network.pooled(side), dim=-1) for side in sides)
            return (LOGIT_SCALE * contexts @ replies.T).masked_fill(equal, -torch.inf)

        return objective(data, data.split(lambda dialogues: examples(dialogues, data.rng)), batch,
                         lambda network, batch: symmetric_cross_entropy(cosines(network, batch)),
                         lambda network, batch: {"replies found": on_diagonal(cosines(network, batch))}, lambda row: ())


def examples(dialogues: Dialogues, rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """Return contexts of one to three turns, each with a good reply and an adversarial reply or an empty string."""
    rows: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = [
        (tuple(context), (text,), ("",)) for _, context, text in exchanges(dialogues)]
    rows += [(row.turns, row.good, row.hard or ("",)) for row in labelled_contexts(dialogues)]
    return [(" ".join(turns[-int(rng.integers(1, TURNS + 1)):]), pick(good, rng), pick(hard, rng))
            for turns, good, hard in rows]
