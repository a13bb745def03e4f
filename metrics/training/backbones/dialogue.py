"""A dialogue encoder: low-rank adapters that bring a context and its reply together, among the replies of others.

Trained end to end as a bi-encoder on the run's encoder: both sides are read by themselves, the mean of their token
states is compared by cosine (the loss of Henderson et al. 2017, both ways). A context is the last one to three
utterances; adversarial replies of the corpus are among the false ones. The result is an encoder like any other, for
cosines and for heads: `--encoder NAME+dialogue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch.nn import functional

from metrics.training.examples import FIVE, answered, drawn, exchanges
from metrics.training.objectives import both_ways, objective
from metrics.training.recipe import Dialogues, Objective, Recipe, Trainable, TrainingData
from metrics.training.tuned import built

TURNS = 3
"""Utterances that are read before a reply, at most."""
SHARPNESS = 20.0
"""Logit scale of cosines."""


@dataclass(frozen=True, slots=True)
class DialogueEncoder(Trainable):
    """Cross entropy of finding the own reply in the batch, and the own context."""

    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(
        (*FIVE, "dailydialog_pp"), steps=450, rate=5e-4, every=50, patience=9, batch=32, length=64, rank=16,
        architecture="bi-encoder")}
    encoder: str = ""

    def objective(self, data: TrainingData) -> Objective:
        def batch(examples: Sequence[tuple[str, str, str]], rng: np.random.Generator) -> tuple[Any, Any, Any]:
            contexts, replies, hard = zip(*examples, strict=True)
            candidates = [*replies, *filter(None, hard)]
            same = [[candidate == reply and column != row for column, candidate in enumerate(candidates)]
                    for row, reply in enumerate(replies)]  # they do not count as wrong
            return *(built(data).inputs(side, rng)[0] for side in (contexts, candidates)), torch.tensor(same)

        def cosines(network: Any, batch: Any) -> Any:
            *sides, same = batch
            contexts, replies = (functional.normalize(network.pooled(side), dim=-1) for side in sides)
            return (SHARPNESS * contexts @ replies.T).masked_fill(same, -torch.inf)

        def hits(network: Any, batch: Any) -> dict[str, Any]:
            logits = cosines(network, batch)
            return {"replies found": logits.argmax(1) == torch.arange(len(logits), device=logits.device)}

        return objective(data, data.split(lambda dialogues: examples(dialogues, data.rng)), batch,
                         lambda network, batch: both_ways(cosines(network, batch)), hits, lambda row: ())


def examples(dialogues: Dialogues, rng: np.random.Generator) -> list[tuple[str, str, str]]:
    """Return contexts of one to three turns, a good reply to each, and an adversarial one or an empty text."""
    rows: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = [
        (tuple(before), (text,), ("",)) for _, before, text in exchanges(dialogues)]
    rows += [(row.turns, row.good, row.hard or ("",)) for row in answered(dialogues)]
    return [(" ".join(turns[-int(rng.integers(1, TURNS + 1)):]), drawn(good, rng), drawn(hard, rng))
            for turns, good, hard in rows]
