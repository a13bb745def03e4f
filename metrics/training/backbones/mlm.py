"""A masked language model for metrics: the run's encoder, frozen, with low-rank adapters and a head of its own.

Sentence encoders come without the head that they were once trained with. Here a new one learns to tell masked tokens of
utterances, half of them read alone and half after the utterance before them, since metrics ask for both. Tokens are
always replaced by the mask, as they are when metrics ask; the loss is over masked tokens alone. `rank=0` is the head
without adapters, on frozen states (docs/metrics.md has what each reaches).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch.nn import functional

from metrics.errors import MetricError
from metrics.models import networks
from metrics.models.adapters import Adapted, linears
from metrics.models.encoder import Encoder, padded
from metrics.models.masked import mask_of
from metrics.models.tokens import Tokenized
from metrics.training.loop import on_device
from metrics.training.recipe import Dialogues, Objective, Recipe, Trainable, TrainingData
from metrics.training.tuned import chosen_words

SHARE = 0.15
"""Share of a text that is masked in training; at least one token is."""
TOKENS = 1_024
"""Tokens in a batch, about."""
LONGEST = 96
"""Tokens of a text in training; a longer one loses its end, or of a pair the context its beginning."""
ROWS, HELD_OUT_ROWS, CHUNK = 120_000, 1_024, 32
"""Texts to train on at most, texts held out, and the size of their batches."""
SMOOTHING = 0.1
"""Added to the count of each token."""


@dataclass(frozen=True, slots=True)
class MaskedLanguageModel(Trainable):
    """Cross entropy of the masked tokens, each over the whole vocabulary."""

    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(
        corpora=("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia"),
        steps=1_600, rate=2e-3, every=100)}
    encoder: str = ""
    rank: int = 8

    def objective(self, data: TrainingData) -> Objective:
        """Prepare the network over the encoder, texts by length, and held-out ones with one token masked in each."""
        encoder, rng = data.models.encoder(self.encoder), data.rng
        body = networks.loaded("AutoModel", encoder.weights, data.models.machine).float().requires_grad_(False).eval()
        mask = mask_of(encoder)
        texts, others = data.split(lambda dialogues, most: _texts(encoder, dialogues, most, rng), (ROWS, HELD_OUT_ROWS))
        size = max(1, min(CHUNK, len(others)))  # batches of one size, since the held-out loss is the mean over batches
        held_out = [masked(others[start : start + size], encoder, rng, 0.0)
                    for start in range(0, len(others) - size + 1, size)]
        if not texts:
            raise MetricError("mlm: the corpora hold no text to train on; take others with --corpus")
        vocabulary, width = body.get_input_embeddings().weight.shape
        config: dict[str, Any] = {"width": width, "vocabulary": vocabulary, "rank": self.rank,
                                  "linears": linears(body) if self.rank else []}
        network = Adapted(**config)
        counts = np.bincount(np.concatenate([text.ids for text in texts]), minlength=vocabulary) + SMOOTHING
        network.initialise_bias((counts / counts.sum()).astype(np.float32))

        def losses(network: Adapted, batch: Mapping[str, Any]) -> tuple[Any, Any]:
            """Return the cross entropy of each masked token, and if it is the likeliest: (masked,) each."""
            inputs = {name: part for name, part in batch.items() if name not in ("targets", "places")}
            body.to(batch["targets"].device)
            with network.masking(body, mask):
                states = body(**inputs).last_hidden_state.flatten(0, 1)[batch["places"]]
            scores = network.logits(states, body.get_input_embeddings().weight).float()  # (masked, vocabulary)
            return (functional.cross_entropy(scores, batch["targets"], reduction="none"),
                    scores.argmax(1) == batch["targets"])

        def notes(network: Adapted) -> dict[str, float | int]:
            with torch.no_grad():
                batches = [losses(network, on_device(batch, str(network.bias.device))) for batch in held_out]
            entropies, hits = (torch.cat(column) for column in zip(*batches, strict=True))
            return {"masked_tokens": len(hits), "masked_accuracy": round(hits.float().mean().item(), 4),
                    "masked_perplexity": round(entropies.double().mean().exp().item(), 2)}

        def draw(rng: np.random.Generator) -> dict[str, Any]:
            """Return a batch of texts of about one length."""
            middle = int(rng.integers(len(texts)))
            count = max(1, min(len(texts), TOKENS // len(texts[middle].ids)))
            start = min(max(0, middle - count // 2), len(texts) - count)
            return masked(texts[start : start + count], encoder, rng, SHARE)

        return Objective(network, config, draw, held_out, lambda network, batch: losses(network, batch)[0].mean(),
                         notes)


def masked(texts: Sequence[Tokenized], encoder: Encoder, rng: np.random.Generator, share: float) -> dict[str, Any]:
    """Return the texts as a batch with a share of each masked, at least one token, and the masked tokens."""
    inputs = padded(texts, encoder.tokenizer.pad)
    ids = inputs["input_ids"]
    chosen = chosen_words(ids, encoder.tokenizer, rng, share)
    tokens = {"targets": ids[chosen], "places": np.flatnonzero(chosen)}
    ids[chosen] = mask_of(encoder)
    return {name: torch.from_numpy(array) for name, array in (inputs | tokens).items()}


def _texts(encoder: Encoder, dialogues: Dialogues, most: int, rng: np.random.Generator) -> list[Tokenized]:
    """Return utterances drawn from the dialogues, every other one after the one before it, by length."""
    turns = [(dialogue, row) for dialogue in dialogues for row in range(len(dialogue.utterances))]
    singles, pairs = [], []
    for number, index in enumerate(rng.permutation(len(turns))[:most]):
        dialogue, row = turns[index]
        text = dialogue.utterances[row].text
        if number % 2 and row:
            pairs.append((dialogue.utterances[row - 1].text, text))
        else:
            singles.append(text)
    read = [*encoder.tokenizer.texts(singles, LONGEST), *encoder.tokenizer.pairs(pairs, LONGEST)]
    return sorted((text for text in read if text.positions), key=lambda text: len(text.ids))
