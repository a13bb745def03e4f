"""A masked language model for metrics: the run's encoder, frozen, with low-rank adapters and a new head.

Sentence encoders are published without their pretraining head. A new head is trained on utterances, half of them
alone and half after the preceding utterance, since metrics use both. Chosen tokens are always replaced by the mask, as
in scoring; the loss covers only masked tokens. `rank=0` trains the head without adapters, on frozen states
(docs/metrics.md compares the two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from metrics.errors import MetricError
from metrics.models import networks
from metrics.models.adapters import AdaptersWithHead, linears
from metrics.models.encoder import Encoder, padded
from metrics.models.masked import mask_of
from metrics.models.tokens import Tokenized
from metrics.training.loop import on_device
from metrics.training.recipe import Dialogues, Objective, Trainable, TrainingData, recipes_of
from metrics.training.tuned import chosen_words

MASKED_SHARE = 0.15
"""Share of a text's tokens masked in training, at least one."""
BATCH_TOKENS = 1_024
"""Approximate number of tokens in a batch."""
MAX_TEXT_TOKENS = 96
"""Maximum number of tokens of a training text; texts are truncated at the end, pairs at the start of the context."""
ROWS, HELD_OUT_ROWS, HELD_OUT_BATCH = 120_000, 1_024, 32
"""Maximum number of training texts and of held-out texts, and the size of held-out batches."""
SMOOTHING = 0.1
"""Pseudo-count added to each token's count when the bias is initialised."""


@dataclass(frozen=True, slots=True)
class MaskedLanguageModel(Trainable):
    """Cross entropy of the masked tokens over the whole vocabulary."""

    recipes = recipes_of("mlm")
    encoder: str = ""
    rank: int = 8

    def objective(self, data: TrainingData) -> Objective:
        encoder, rng = data.models.encoder(self.encoder), data.rng
        body = networks.load("AutoModel", encoder.weights, data.models.machine).float().requires_grad_(False).eval()
        mask = mask_of(encoder)
        texts, held_out_texts = data.split(
            lambda dialogues, limit: _texts(encoder, dialogues, limit, rng), (ROWS, HELD_OUT_ROWS))
        size = max(1, min(HELD_OUT_BATCH, len(held_out_texts)))  # of all batches, since the loss is their mean
        held_out = [masked(held_out_texts[start : start + size], encoder, rng, 0.0)  # one token of each text
                    for start in range(0, len(held_out_texts) - size + 1, size)]
        if not texts:
            raise MetricError("mlm: the corpora contain no text to train on; choose others with --corpus")
        vocabulary, width = body.get_input_embeddings().weight.shape
        config: dict[str, Any] = {"width": width, "vocabulary": vocabulary, "rank": self.rank,
                                  "linears": linears(body) if self.rank else []}
        network = AdaptersWithHead(**config)
        counts = np.bincount(np.concatenate([text.ids for text in texts]), minlength=vocabulary) + SMOOTHING
        network.initialise_bias((counts / counts.sum()).astype(np.float32))

        def losses(network: AdaptersWithHead, batch: Mapping[str, Any]) -> tuple[Any, Any]:
            """Return the cross entropy of each masked token, and whether it is predicted: (masked,) each."""
            inputs = {name: tensor for name, tensor in batch.items() if name not in ("targets", "positions")}
            body.to(batch["targets"].device)
            with network.masking(body, mask):
                states = body(**inputs).last_hidden_state.flatten(0, 1)[batch["positions"]]
            scores = network.logits(states, body.get_input_embeddings().weight).float()  # (masked, vocabulary)
            return (functional.cross_entropy(scores, batch["targets"], reduction="none"),
                    scores.argmax(1) == batch["targets"])

        def notes(network: AdaptersWithHead) -> dict[str, float | int]:
            with torch.no_grad():
                batches = [losses(network, on_device(batch, str(network.bias.device))) for batch in held_out]
            entropies, hits = (torch.cat(column) for column in zip(*batches, strict=True))
            return {"masked_tokens": len(hits), "masked_accuracy": round(hits.float().mean().item(), 4),
                    "masked_perplexity": round(entropies.double().mean().exp().item(), 2)}

        def draw(rng: np.random.Generator) -> dict[str, Any]:
            """Return a batch of texts of similar length; `texts` is sorted by length."""
            middle = int(rng.integers(len(texts)))
            count = max(1, min(len(texts), BATCH_TOKENS // len(texts[middle].ids)))
            start = min(max(0, middle - count // 2), len(texts) - count)
            return masked(texts[start : start + count], encoder, rng, MASKED_SHARE)

        return Objective(network, config, draw, held_out, lambda network, batch: losses(network, batch)[0].mean(),
                         notes)


def masked(texts: Sequence[Tokenized], encoder: Encoder, rng: np.random.Generator, share: float) -> dict[str, Any]:
    """Return a batch of the texts with a share of each masked, at least one token, and the masked tokens."""
    inputs = padded(texts, encoder.tokenizer.pad)
    ids = inputs["input_ids"]
    chosen = chosen_words(ids, encoder.tokenizer, rng, share)
    tokens = {"targets": ids[chosen], "positions": np.flatnonzero(chosen)}
    ids[chosen] = mask_of(encoder)
    return {name: torch.from_numpy(array) for name, array in (inputs | tokens).items()}


def _texts(encoder: Encoder, dialogues: Dialogues, limit: int, rng: np.random.Generator) -> list[Tokenized]:
    """Return random utterances, about half of them after the preceding utterance, sorted by length."""
    turns = [(dialogue, row) for dialogue in dialogues for row in range(len(dialogue.utterances))]
    singles, pairs = [], []
    for position, index in enumerate(rng.permutation(len(turns))[:limit]):
        dialogue, row = turns[index]
        text = dialogue.utterances[row].text
        if position % 2 and row:
            pairs.append((dialogue.utterances[row - 1].text, text))
        else:
            singles.append(text)
    tokenized = [*encoder.tokenizer.texts(singles, MAX_TEXT_TOKENS), *encoder.tokenizer.pairs(pairs, MAX_TEXT_TOKENS)]
    return sorted((text for text in tokenized if text.positions), key=lambda text: len(text.ids))
