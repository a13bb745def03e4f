"""My metric: two heads on frozen sentence vectors, trained to find the reply to an utterance among other replies.
`harness train my-metric` trains it, for the encoder of your choice.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import reply
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

BATCH = 64
SIZE = 32


@dataclass(frozen=True, slots=True)
class MyMetric(Trainable):
    """σ(said(u) · reply(r)), of the last utterance u and the response r."""

    card: ClassVar[MetricCard] = MetricCard(
        name="my-metric", title="My metric", columns=("my-metric",), family="plug-in", needs=("context",),
        models=("encoder",), checkpoints=("my-metric",), trained_on="DailyDialog",
        notes="Probability that the response follows the last utterance.")
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(corpora=("dailydialog",), steps=400, every=50, rate=1e-3)}
    encoder: str = ""  # the weights belong to the encoder that they were trained with

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a probability, 0 to 1; NaN without a context."""
        import torch

        network, encoder = models.trained("my-metric", heads, self.encoder), models.encoder(self.encoder)
        column = np.full(len(items), np.nan)
        if scored := [row for row, item in enumerate(items) if item.context and item.context[-1].text.strip()]:
            texts = [text for row in scored for text in (items[row].context[-1].text, reply(items[row]))]
            pooled = np.hstack([encoder.sentences(texts, pool) for pool in ("mean", "max")])  # (2 · items, 2 · width)
            with torch.inference_mode():
                vectors = torch.from_numpy(pooled).to(next(network.parameters()))
                contexts, replies = network["said"](vectors[::2]), network["reply"](vectors[1::2])  # (items, SIZE)
                column[scored] = (contexts * replies).sum(1).sigmoid().float().cpu().numpy()
        return {"my-metric": column}

    def objective(self, data: TrainingData) -> Objective:
        """Train to find the reply among the replies of the batch."""
        training, held_out = _pairs(data, data.dialogues()), _pairs(data, data.held_out())
        size, held_out_size = len(training["said"]), len(held_out["said"])
        starts = range(0, held_out_size, BATCH)
        config = {"width": training["said"].shape[1], "size": SIZE}
        return Objective(
            network=heads(**config), config=config, loss=loss,
            draw=lambda rng: _rows(training, rng.integers(size, size=BATCH)),
            held_out=[_rows(held_out, np.arange(start, min(start + BATCH, held_out_size))) for start in starts],
            notes=lambda network: {"pairs": size})


def heads(width: int, size: int) -> Any:
    """Return a linear layer for the utterance and another for the reply."""
    from torch import nn

    return nn.ModuleDict({part: nn.Linear(width, size) for part in ("said", "reply")})


def loss(network: Any, batch: Any) -> Any:
    """Return the cross-entropy of finding each reply among the replies of the batch."""
    import torch

    logits = network["said"](batch["said"].float()) @ network["reply"](batch["reply"].float()).T  # (pairs, pairs)
    return torch.nn.functional.cross_entropy(logits, torch.arange(len(logits), device=logits.device))


def _pairs(data: TrainingData, dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    """Return the vectors of every utterance and of the next utterance: (pairs, 2 · width) each."""
    import torch

    turns = [pair for dialogue in dialogues for pair in itertools.pairwise(dialogue.utterances)]
    return {"said": torch.from_numpy(data.vectors([before.text for before, _ in turns])),
            "reply": torch.from_numpy(data.vectors([reply.text for _, reply in turns]))}


def _rows(vectors: dict[str, Any], rows: Any) -> dict[str, Any]:
    return {part: table[rows] for part, table in vectors.items()}
