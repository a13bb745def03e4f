"""A masked language model: the likelihood of each token of a text given all the others.

Each token is masked in turn and predicted from the others (pseudo-log-likelihood, Salazar et al. 2020), after a context
or alone; only tokens of the text itself are masked. If a text has more than `copies` tokens, each copy has every
`copies`-th token masked, so that the cost grows linearly with the length (docs/metrics.md compares the settings). By
default, there are 2 to 8 copies, but more than two only if all copies with their contexts have at most MAX_TOKENS.

All likelihoods are natural logarithms. An overlong text is truncated at its end, a context at its start (readings.py).
The weights are the checkpoint `mlm` (metrics/training/backbones), merged into a copy of the encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.column import Column
from metrics.errors import BadOption
from metrics.models import networks
from metrics.models.batches import Batches, Forward, Positions
from metrics.models.causal import LOGITS_BYTES
from metrics.models.counters import COUNTERS
from metrics.models.encoder import Encoder, padded
from metrics.models.memory import ArrayCache, Vectors
from metrics.models.tokens import Tokenized
from metrics.text.words import reply

if TYPE_CHECKING:
    from metrics.models.adapters import AdaptersWithHead

BY_LENGTH = 0
"""Value of `copies` with which short texts have more copies than long ones."""
MIN_COPIES, MAX_COPIES, MAX_TOKENS = 2, 8, 64
"""Minimum and maximum number of copies of a text, and the maximum of their tokens if there are over MIN_COPIES.
With eight copies, one token in eight is masked, close to the share in training."""

FEW_COPIES = ("Long replies are read twice, with half of their tokens masked each time; shorter ones up to eight "
              f"times, as long as all copies together have at most {MAX_TOKENS} tokens.")
"""How the metrics that use these likelihoods depart from their papers."""

Pair = tuple[str, str]
Copy = tuple[int, int]
"""The index of a text, and of its first masked token."""


class MaskedModel:
    """An encoder that predicts each token of a text from all the others."""

    def __init__(self, encoder: Encoder, head: AdaptersWithHead, weights: str, memory: ArrayCache) -> None:
        self.encoder = encoder
        self._head = head
        self._weights = weights
        self._memory = memory

    @cached_property
    def mask(self) -> int:
        return mask_of(self.encoder)

    @cached_property
    def networks(self) -> list[Any]:
        from metrics.models.adapters import Merged

        machine = self.encoder.machine
        with COUNTERS.count_loading():
            body = networks.load("AutoModel", self.encoder.weights, machine).to(machine.devices[0])
            return networks.place(Merged(self._head, body, self.mask), machine)

    def log_likelihoods(self, pairs: Sequence[Pair], copies: int = BY_LENGTH) -> list[Vectors]:
        """Return log p of each token of each pair's second text, given its other tokens and the first text: (tokens,).

        Fewer `copies` are faster but less accurate.
        """
        if copies < 0:
            raise BadOption(f"copies={copies}: must be at least 1, or 0 to choose by length")
        key = (self.encoder.weights.identity, self._weights, "masked", copies)
        return self._memory.get_all(key, pairs, lambda missing: self._read(self._tokenized(missing), copies))

    @cached_property
    def _batches(self) -> Batches:
        machine = self.encoder.machine
        scores = 4 * len(self._head.bias) * len(networks.workers(self.networks, machine))
        shortest = sum(self.encoder.tokenizer.frame) + 1  # a copy of this length has one token to score
        tokens = max(1, min(machine.tokens, shortest * LOGITS_BYTES[machine.kind] // scores))
        return Batches(tokens, equal_lengths=machine.kind == "cpu")

    def _tokenized(self, pairs: Sequence[Pair]) -> list[Tokenized]:
        tokenizer = self.encoder.tokenizer
        single = iter(tokenizer.texts([text for context, text in pairs if not context]))
        after = iter(tokenizer.pairs([pair for pair in pairs if pair[0]]))
        return [next(after if context else single) for context, _ in pairs]

    def _read(self, texts: Sequence[Tokenized], copies: int) -> list[Vectors]:
        """Return log p of each token of each text, special tokens and context excluded; each copy is one row."""
        counts = [copies or max(MIN_COPIES, min(MAX_COPIES, MAX_TOKENS // len(tokens.ids))) for tokens in texts]
        rows = [(text, first) for text, (tokens, count) in enumerate(zip(texts, counts, strict=True))
                for first in range(min(count, len(tokens.positions)))]
        forwards = [self._forward_on(*worker, texts, rows, counts)
                    for worker in networks.workers(self.networks, self.encoder.machine)]
        lengths = [len(texts[text].ids) for text, _ in rows]
        likelihoods = [np.empty(len(tokens.positions), np.float32) for tokens in texts]
        for (text, first), values in zip(rows, self._batches.run(lengths, forwards), strict=True):
            likelihoods[text][first::counts[text]] = values
        return likelihoods

    def _forward_on(self, network: Any, device: str, texts: Sequence[Tokenized], rows: Sequence[Copy],
            copies: Sequence[int]) -> Forward[Vectors]:
        import torch

        def forward(batch: Positions) -> list[Vectors]:
            batch_rows = [rows[position] for position in batch]
            inputs = padded([texts[text] for text, _ in batch_rows], self.encoder.tokenizer.pad)
            positions = [np.asarray(texts[text].positions[first::copies[text]]) for text, first in batch_rows]
            inputs["rows"] = np.repeat(np.arange(len(batch_rows)), list(map(len, positions)))
            inputs["positions"] = np.concatenate(positions)
            at_masked = inputs["rows"], inputs["positions"]
            targets = inputs["input_ids"][at_masked]
            inputs["input_ids"][at_masked] = self.mask
            with torch.inference_mode():
                states = network(**{name: torch.from_numpy(array).to(device) for name, array in inputs.items()})
                values = networks.log_likelihoods(network.decoder, states, torch.arange(len(targets), device=device),
                                                  torch.from_numpy(targets).to(device)).cpu().numpy()
            return [part.copy() for part in np.split(values, np.cumsum(list(map(len, positions)))[:-1])]

        return forward


def mask_of(encoder: Encoder) -> int:
    """Return the id of an encoder's mask token, or raise BadOption if it has none."""
    token = encoder.tokenizer.wrapped.mask_token_id
    if token is None:
        raise BadOption(f"encoder {encoder.name} cannot be used as a masked language model: its tokenizer has no mask "
                        "token; choose an encoder that was trained as one")
    return int(token)


def log_likelihoods(items: Sequence[Item], model: MaskedModel, context: Literal["none", "last"] = "none",
                    copies: int = BY_LENGTH) -> list[Vectors]:
    """Return log p of each token of each response, alone or after the last utterance of its context, if any."""
    contexts = [item.context[-1].text.strip() if context == "last" and item.context else "" for item in items]
    pairs = [(text, reply(item).strip()) for text, item in zip(contexts, items, strict=True)]
    return model.log_likelihoods(pairs, copies)


def mean_log_likelihoods(items: Sequence[Item], model: MaskedModel) -> Column:
    """Return the mean log p per token of each response after the last utterance, at most 0; NaN without tokens."""
    return np.array([values.mean(dtype=np.float64) if values.size else np.nan
                     for values in log_likelihoods(items, model, "last")], dtype=np.float64)
