"""An encoder: texts to vectors.

Each distinct text is encoded once per run, in batches of bounded size (batches.py). The states of its tokens stay in a
cache of bounded size (memory.py), so that other poolings can reuse them. States include the special tokens, since
sentence-transformers averages over them too. A text without tokens has the zero vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from metrics.errors import BadOption
from metrics.models import networks
from metrics.models.batches import Batches, Forward, Positions
from metrics.models.device import Machine
from metrics.models.memory import ArrayCache, Vectors, length
from metrics.models.tokens import Reading, Tokenized, Tokenizer
from metrics.models.weights import Weights

Pooling: TypeAlias = Literal["mean", "max", "cls", "mean and max"]
_POOLINGS: dict[str, Callable[[Vectors], Vectors]] = {
    "mean": lambda states: states.mean(axis=0),
    "max": lambda states: states.max(axis=0),
    "cls": lambda states: states[0].copy(),
    "mean and max": lambda states: np.concatenate([states.mean(axis=0), states.max(axis=0)]),
}
_COUNT_FROM_PAD = {"camembert", "longformer", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta",
                   "xlm-roberta-xl"}
"""Model types whose positions start after the padding id."""
Element = TypeVar("Element")
BLOCK_CHARACTERS = 1 << 18
"""Characters to encode at a time if only pooled vectors are kept: about four thousand utterances."""


class Encoder:
    """A transformer that encodes texts; `layer` counts from 1, 0 is the last."""

    def __init__(self, weights: Weights, machine: Machine, memory: ArrayCache, layer: int = 0) -> None:
        self.weights = weights
        self.machine = machine
        self.layer = layer
        self._memory = memory
        self._batches = Batches(machine.tokens, equal_lengths=machine.kind == "cpu")

    @property
    def name(self) -> str:
        return self.weights.name

    @cached_property
    def networks(self) -> list[Any]:
        loaded = networks.transformer("AutoModel", self.weights, self.machine, self.layer or None)
        if loaded[0].config.is_encoder_decoder:
            raise BadOption(f"encoder {self.name} has an encoder and a decoder; --encoder needs an encoder-only model")
        return loaded

    @cached_property
    def tokenizer(self) -> Tokenizer:
        config = self.networks[0].config
        unused = (config.pad_token_id or 0) + 1 if config.model_type in _COUNT_FROM_PAD else 0
        return Tokenizer(self.weights, networks.positions(config) - unused)

    @property
    def width(self) -> int:
        return int(self.networks[0].config.hidden_size)

    def states(self, readings: Sequence[Reading], limit: int | None = None) -> list[Vectors]:
        """Return the states of the tokens of each reading, including special tokens: (tokens, width)."""
        separator = int(self.networks[0].config.vocab_size) - 1
        return self._memory.get_all((self.weights.identity, self.layer, limit), readings, lambda missing: self._forward(
            self.tokenizer.readings(missing, separator, limit)))

    def sentences(self, texts: Sequence[str], pooling: Pooling = "mean") -> Vectors:
        """Return one vector per text: (texts, width); zeros for a text without tokens."""
        return self.readings(texts, pooling)

    def means_and_maxima(self, texts: Sequence[str]) -> Vectors:
        """Return the mean and the maximum of each text's states: (texts, 2 · width)."""
        return self.readings(texts, "mean and max")

    def readings(self, readings: Sequence[Reading], pooling: Pooling, limit: int | None = None) -> Vectors:
        """Return one vector per reading, each encoded as one sequence of up to `limit` tokens: (readings, width).

        Each utterance of a dialogue ends with the vocabulary's last token.
        """
        specials = sum(self.tokenizer.frame) if readings and isinstance(readings[0], str) else 0

        def pooled(missing: list[Reading]) -> list[Vectors]:
            return [_POOLINGS[pooling](states if len(states) > specials else np.zeros((1, self.width), np.float32))
                    for states in self.states(missing, limit)]

        key = self.weights.identity, self.layer, limit, pooling
        by_reading: dict[Reading, Vectors] = {}
        for block in blocks(dict.fromkeys(readings), length):
            by_reading |= zip(block, self._memory.get_all(key, block, pooled), strict=True)
        width = self.width * (2 if pooling == "mean and max" else 1)
        return np.stack([by_reading[reading] for reading in readings]) if readings else np.zeros((0, width), np.float32)

    def embeddings(self) -> Vectors:
        return np.asarray(self.networks[0].get_input_embeddings().weight.detach().float().cpu().numpy())

    def _forward(self, rows: Sequence[Tokenized]) -> list[Vectors]:
        nonempty = [row for row in rows if row.ids]  # without special tokens, an empty text has no tokens
        forwards = [self._forward_on(*worker, nonempty) for worker in networks.workers(self.networks, self.machine)]
        states = iter(self._batches.run([len(row.ids) for row in nonempty], forwards))
        return [next(states) if row.ids else np.zeros((0, self.width), np.float32) for row in rows]

    def _forward_on(self, network: Any, device: str, rows: Sequence[Tokenized]) -> Forward[Vectors]:
        import torch

        def forward(batch: Positions) -> list[Vectors]:
            inputs = padded([rows[position] for position in batch], self.tokenizer.pad)
            with torch.inference_mode():
                states = network(**{name: torch.from_numpy(array).to(device) for name, array in inputs.items()})
                arrays = states.last_hidden_state.float().cpu().numpy()
            return [arrays[row, : len(rows[position].ids)].copy() for row, position in enumerate(batch)]

        return forward


def padded(rows: Sequence[Tokenized], pad: int) -> dict[str, npt.NDArray[np.int64]]:
    """Return a batch as arrays (rows, longest); for speed, without a mask if nothing is padded."""
    sizes = np.array([len(row.ids) for row in rows])
    ids = np.full((len(rows), int(sizes.max())), pad, dtype=np.int64)
    types = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row.ids)] = row.ids
        if row.types:
            types[index, : len(row.ids)] = row.types
    inputs = {"input_ids": ids}
    if types.any():
        inputs["token_type_ids"] = types
    if (sizes != sizes.max()).any():
        inputs["attention_mask"] = (np.arange(ids.shape[1]) < sizes[:, None]).astype(np.int64)
    return inputs


def blocks(elements: Iterable[Element], length: Callable[[Element], int]) -> Iterator[list[Element]]:
    """Yield the elements in blocks of about BLOCK_CHARACTERS."""
    block: list[Element] = []
    characters = 0
    for element in elements:
        block.append(element)
        characters += length(element)
        if characters >= BLOCK_CHARACTERS:
            yield block
            block, characters = [], 0
    if block:
        yield block
