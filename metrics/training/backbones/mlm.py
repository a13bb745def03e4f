"""A masked language model for metrics: the run's encoder, frozen, with low-rank adapters and a head of its own.

Sentence encoders come without the head that they were once trained with. Here a new one learns to tell masked tokens of
utterances, half of them read alone and half after the utterance before them, since metrics ask for both. Tokens are
always replaced by the mask, as they are when metrics ask; the loss is over masked tokens alone. `rank=0` is the head
without adapters, on frozen states (docs/metrics.md has what each reaches).

The adapters are 30 lines of our own (adapters.py): they are merged before anything is scored, so that a library would
be needed for the training only, and would have its own names in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models import networks
from metrics.models.encoder import Encoder, padded
from metrics.models.masked import mask_of
from metrics.models.tokens import Tokenized
from metrics.training.loop import on_device
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

if TYPE_CHECKING:
    from metrics.models.adapters import Adapted

SHARE = 0.15
"""How much of a text is masked in training; at least one token is."""
TOKENS = 1_024
"""How many tokens a batch holds, about."""
LONGEST = 96
"""Tokens of a text in training; what is longer loses its end, or of a pair the context its beginning."""
ROWS, HELD_OUT_ROWS, CHUNK = 120_000, 1_024, 32
"""Texts to train on at most, texts held out, and how many of them are a batch."""
SMOOTHING = 0.1
"""What a token counts before it was seen."""


@dataclass(frozen=True, slots=True)
class MaskedLanguageModel(Trainable):
    """Cross entropy of the masked tokens, each over the whole vocabulary."""

    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(
        corpora=("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia"),
        steps=1_600, rate=2e-3, every=100)}
    encoder: str = ""
    rank: int = 8

    def objective(self, data: TrainingData) -> Objective:
        """Prepare the network over the encoder, texts by length, and as many held out with one token masked in each."""
        from torch.nn import functional

        encoder, rng = data.models.encoder(self.encoder), data.rng
        body = networks.loaded("AutoModel", encoder.weights, data.models.machine).float().requires_grad_(False).eval()
        mask = mask_of(encoder)
        texts = _texts(encoder, data.dialogues(), ROWS, rng)
        others = _texts(encoder, data.held_out(), HELD_OUT_ROWS, rng)
        many = max(1, min(CHUNK, len(others)))  # batches of one size, since the held-out loss is the mean over batches
        held_out = [masked(others[start : start + many], encoder, rng, 0.0)
                    for start in range(0, len(others) - many + 1, many)]
        network, config = self._network(body, texts)

        def scores(network: Adapted, batch: Mapping[str, Any]) -> Any:
            return _scores(network, body, batch, mask)

        return Objective(
            network=network, config=config, held_out=held_out,
            loss=lambda network, batch: functional.cross_entropy(scores(network, batch), batch["targets"]),
            draw=lambda rng: masked(_drawn(texts, rng), encoder, rng, SHARE),
            notes=lambda network: _told(lambda batch: scores(network, batch), held_out, network.bias.device))

    def _network(self, body: Any, texts: Sequence[Tokenized]) -> tuple[Adapted, dict[str, Any]]:
        """A fresh network over an encoder, and its arguments; it begins with the tokens' frequencies in the texts."""
        from metrics.models.adapters import Adapted, linears

        if not texts:
            raise MetricError("mlm: the corpora hold no text to train on; take others with --corpus")
        vocabulary, width = body.get_input_embeddings().weight.shape
        config: dict[str, Any] = {"width": width, "vocabulary": vocabulary, "rank": self.rank,
                                  "linears": linears(body) if self.rank else []}
        network = Adapted(**config)
        counts = np.bincount(np.concatenate([text.ids for text in texts]), minlength=vocabulary) + SMOOTHING
        network.expect((counts / counts.sum()).astype(np.float32))
        return network, config


def masked(texts: Sequence[Tokenized], encoder: Encoder, rng: np.random.Generator, share: float) -> dict[str, Any]:
    """The texts as a batch with a share of each masked, at least one token, and the tokens that were there."""
    import torch

    from metrics.training.tuned import chosen_words

    inputs = padded(texts, encoder.tokenizer.pad)
    ids = inputs["input_ids"]
    chosen = chosen_words(ids, encoder.tokenizer, rng, share)
    masked_tokens = {"targets": ids[chosen], "places": np.flatnonzero(chosen)}
    ids[chosen] = mask_of(encoder)
    return {name: torch.from_numpy(array) for name, array in (inputs | masked_tokens).items()}


def _texts(encoder: Encoder, dialogues: Sequence[Dialogue], many: int, rng: np.random.Generator) -> list[Tokenized]:
    """Utterances drawn from the dialogues, every other one after the one before it, by length."""
    turns = [(dialogue, place) for dialogue in dialogues for place in range(len(dialogue.utterances))]
    alone, after = [], []
    for number, row in enumerate(rng.permutation(len(turns))[:many]):
        dialogue, place = turns[row]
        text = dialogue.utterances[place].text
        if number % 2 and place:
            after.append((dialogue.utterances[place - 1].text, text))
        else:
            alone.append(text)
    read = [*encoder.tokenizer.texts(alone, LONGEST), *encoder.tokenizer.pairs(after, LONGEST)]
    return sorted((row for row in read if row.own), key=lambda row: len(row.ids))


def _drawn(texts: Sequence[Tokenized], rng: np.random.Generator) -> Sequence[Tokenized]:
    """Texts of about one length, as many as a batch holds."""
    middle = int(rng.integers(len(texts)))
    many = max(1, min(len(texts), TOKENS // len(texts[middle].ids)))
    start = min(max(0, middle - many // 2), len(texts) - many)
    return texts[start : start + many]


def _scores(network: Adapted, body: Any, batch: Mapping[str, Any], mask: int) -> Any:
    """The scores over the vocabulary for every masked token: (masked, vocabulary)."""
    inputs = {name: part for name, part in batch.items() if name not in ("targets", "places")}
    body.to(batch["targets"].device)
    with network.masking(body, mask):
        states = body(**inputs).last_hidden_state
    return network.logits(states.flatten(0, 1)[batch["places"]], body.get_input_embeddings().weight)


def _told(scores: Callable[[Mapping[str, Any]], Any], held_out: Sequence[Mapping[str, Any]],
          device: Any) -> dict[str, float | int]:
    """Accuracy and perplexity where one token of each text is masked."""
    import torch
    from torch.nn import functional

    losses: list[float] = []
    right: list[bool] = []
    with torch.no_grad():
        for batch in held_out:
            here = on_device(batch, device)
            guesses = scores(here).float()
            losses += functional.cross_entropy(guesses, here["targets"], reduction="none").tolist()
            right += (guesses.argmax(1) == here["targets"]).tolist()
    return {"masked_tokens": len(losses), "masked_accuracy": round(float(np.mean(right)), 4),
            "masked_perplexity": round(float(np.exp(np.mean(losses))), 2)}
