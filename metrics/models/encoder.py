"""An encoder: texts to vectors, each text read once in a run.

Distinct texts are sorted by length and read in batches of a bounded number of tokens (batches.py); the states
of a text are kept in a memory of bounded size (memory.py), from which every pooling is made. States hold the
special tokens around a text, since a mean over tokens includes them, as sentence-transformers has it.
A text that holds no token (empty, or only signs that the tokenizer drops) has the zero vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from metrics.errors import BadOption
from metrics.models import networks
from metrics.models.batches import Batches, Forward, Positions
from metrics.models.device import Machine
from metrics.models.memory import Memory, Text, Vectors
from metrics.models.tokens import Tokenized, Tokenizer
from metrics.models.weights import Weights

Pooling: TypeAlias = Literal["mean", "max", "cls"]
POOLINGS: dict[str, Callable[[Vectors], Vectors]] = {
    "mean": lambda states: states.mean(axis=0),
    "max": lambda states: states.max(axis=0),
    "cls": lambda states: states[0].copy(),
}
Thing = TypeVar("Thing")
BLOCK = 1 << 18
"""How many characters are read at a time where only pooled vectors are kept: some four thousand utterances."""


class Encoder:
    """A transformer that reads texts; `layer` 0 stands for its last, n for its n-th."""

    def __init__(self, weights: Weights, machine: Machine, memory: Memory, layer: int = 0) -> None:
        self.weights = weights
        self.machine = machine
        self.layer = layer
        self._memory = memory
        self._batches = Batches(machine.tokens, even=machine.kind == "cpu")

    @property
    def name(self) -> str:
        """The name to show beside a score."""
        return self.weights.name

    @cached_property
    def networks(self) -> list[Any]:
        """The network, once per device; loaded when the first text is to be read."""
        loaded = networks.transformer("AutoModel", self.weights, self.machine, self.layer or None)
        if loaded[0].config.is_encoder_decoder:
            raise BadOption(f"encoder {self.name}: has an encoder and a decoder; only encoders are read here")
        return loaded

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, with the limit of the network's positions."""
        config = self.networks[0].config
        positions = networks.positions(config)
        first = getattr(config, "pad_token_id", 0) or 0
        return Tokenizer(self.weights, positions - (first + 1 if config.model_type in _COUNT_FROM_PAD else 0))

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(self.networks[0].config.hidden_size)

    def states(self, texts: Sequence[str]) -> list[Vectors]:
        """The state of every token of each text, special tokens included: (tokens, width)."""
        return self._all("states", texts, lambda missing: self._forward(self.tokenizer.texts(missing)))

    def sentences(self, texts: Sequence[str], pooling: Pooling = "mean") -> Vectors:
        """One vector per text: (texts, width); zeros for a text without a token."""
        return self._pooled("text", texts, pooling, self.states, sum(self.tokenizer.frame))

    def means_and_maxima(self, texts: Sequence[str]) -> Vectors:
        """Both pooled vectors of each text side by side, from one pass that nothing remembers: (texts, 2 · width).

        For very many texts: no token states are held but those of the batch that is being read.
        """
        specials = sum(self.tokenizer.frame)
        nothing = np.zeros(2 * self.width, np.float32)

        def both(states: Vectors) -> Vectors:
            return np.concatenate([states.mean(axis=0), states.max(axis=0)]) if len(states) > specials else nothing

        pooled = self._forward(self.tokenizer.texts(texts), both)
        return np.stack(pooled) if pooled else np.zeros((0, 2 * self.width), np.float32)

    def pairs(self, pairs: Sequence[tuple[str, str]], pooling: Pooling = "cls", limit: int | None = None) -> Vectors:
        """One vector per context and response, read as one sequence of up to `limit` tokens: (pairs, width)."""
        return self._whole("pair", pairs, pooling, limit, lambda missing: self.tokenizer.pairs(missing, limit))

    def dialogues(self, dialogues: Sequence[tuple[str, ...]], pooling: Pooling = "mean",
                  limit: int | None = None) -> Vectors:
        """One vector per dialogue, read as one sequence with its last token between utterances: (dialogues, width)."""
        return self._whole("dialogue", dialogues, pooling, limit, lambda missing: self.tokenizer.dialogues(
            missing, int(self.networks[0].config.vocab_size) - 1, limit))

    def embeddings(self) -> Vectors:
        """The network's input embeddings: (vocabulary, width)."""
        table = self.networks[0].get_input_embeddings().weight.detach()
        vectors: Vectors = table.float().cpu().numpy()
        return vectors

    def _all(self, kind: str, texts: Sequence[Text], read: Callable[[list[Text]], list[Vectors]]) -> list[Vectors]:
        """What was read of each text before in this run, else now; each distinct text once."""
        return self._memory.through((self._key, kind), texts, read)

    def _whole(self, kind: str, texts: Sequence[Text], pooling: Pooling, limit: int | None,
               tokenized: Callable[[list[Text]], list[Tokenized]]) -> Vectors:
        """One vector for each of several texts that are read as one sequence."""
        def states(some: list[Text]) -> list[Vectors]:
            return self._all(f"{kind}s {limit}", some, lambda missing: self._forward(tokenized(missing)))

        return self._pooled(f"{kind} {limit}", texts, pooling, states, 0)

    def _pooled(self, kind: str, texts: Sequence[Text], pooling: Pooling,
                states: Callable[[list[Text]], list[Vectors]], specials: int) -> Vectors:
        def pooled(missing: list[Text]) -> list[Vectors]:
            return [POOLINGS[pooling](read) if len(read) > specials else np.zeros(read.shape[1], np.float32)
                    for read in states(missing)]

        known: dict[Text, Vectors] = {}
        for block in blocks(dict.fromkeys(texts), lambda text: cast(
                "tuple[str, ...]", (text,) if isinstance(text, str) else text)):
            known |= zip(block, self._memory.through((self._key, pooling, kind), block, pooled), strict=True)
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self.width), np.float32)

    @property
    def _key(self) -> tuple[str, int]:
        return self.weights.identity, self.layer

    def _forward(self, rows: Sequence[Tokenized], of: Callable[[Vectors], Vectors] = np.copy) -> list[Vectors]:
        """What `of` makes of the states of each row, in the place of the batch they came in."""
        read = [row for row in rows if row.ids]  # a model without special tokens has nothing to read in an empty text
        forwards = [self._on(*worker, read, of) for worker in networks.workers(self.networks, self.machine)]
        states = iter(self._batches.run([len(row.ids) for row in read], forwards))
        return [next(states) if row.ids else of(np.zeros((0, self.width), np.float32)) for row in rows]

    def _on(self, network: Any, device: str, rows: Sequence[Tokenized],
            of: Callable[[Vectors], Vectors]) -> Forward[Vectors]:
        import torch

        def forward(batch: Positions) -> list[Vectors]:
            inputs = padded([rows[position] for position in batch], self.tokenizer.pad)
            with torch.inference_mode():
                states = network(**{name: torch.from_numpy(array).to(device) for name, array in inputs.items()})
                read = states.last_hidden_state.float().cpu().numpy()
            return [of(read[row, : len(rows[position].ids)]) for row, position in enumerate(batch)]

        return forward


_COUNT_FROM_PAD = {
    "camembert", "longformer", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl",
}
"""Kinds of networks whose first position is the one after the padding's."""


def padded(rows: Sequence[Tokenized], pad: int) -> dict[str, npt.NDArray[np.int64]]:
    """A batch as arrays (rows, longest); no mask where nothing is padded, which is the faster way."""
    sizes = np.array([len(row.ids) for row in rows])
    ids = np.full((len(rows), int(sizes.max())), pad, dtype=np.int64)
    types = np.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row.ids)] = row.ids
        if row.types:
            types[place, : len(row.ids)] = row.types
    inputs = {"input_ids": ids}
    if types.any():
        inputs["token_type_ids"] = types
    if (sizes != sizes.max()).any():
        inputs["attention_mask"] = (np.arange(ids.shape[1]) < sizes[:, None]).astype(np.int64)
    return inputs


def blocks(things: Iterable[Thing], texts: Callable[[Thing], Iterable[str]]) -> Iterator[list[Thing]]:
    """The things in blocks of about BLOCK characters, by the texts that each holds."""
    block: list[Thing] = []
    held = 0
    for thing in things:
        block.append(thing)
        held += sum(map(len, texts(thing)))
        if held >= BLOCK:
            yield block
            block, held = [], 0
    if block:
        yield block
