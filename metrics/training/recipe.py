"""What training is made of: a recipe, the data, an objective; `harness train` brings them together.

    metric.recipe                   which corpora, how many steps, at which rate
    metric.objective(data)          -> Objective: network, batches, loss           in the metric's own file
    fit(objective, recipe, ...)     -> the best weights and the curve              metrics/training/loop.py
    checkpoint.save(folder, ...)    -> model.safetensors, config.json, card.json   metrics/training/checkpoint.py

A metric reads its trained network as `models.trained(NAME, Network, self.encoder)`; its card names the checkpoint, so
that the digest of the weights is in the signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from benchmarks.corpora.corpora import Corpus, Dialogue
from metrics.errors import MetricError
from metrics.models.memory import Vectors

if TYPE_CHECKING:
    from metrics.models.service import Models

HELD_OUT = 20
"""One dialogue of so many is held out, by the digest of its words."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a network is fitted by default: AdamW with a warm-up and a linear fall, stopped on the held-out loss."""

    corpora: tuple[str, ...]
    steps: int
    rate: float = 1e-3
    warmup: float = 0.06
    decay: float = 0.01
    every: int = 100
    patience: int = 5


@dataclass(frozen=True, slots=True)
class Objective:
    """What is to be made small: a fresh network, `type(network)(**config)`, its batches and the loss of one.

    A batch is a tensor, or a tuple, list or dict of tensors. Of the network the parameters that require a gradient are
    kept. `notes` go into the checkpoint's card: sizes, accuracies on what is held out, whatever is worth knowing.
    """

    network: Any
    config: Mapping[str, Any]
    draw: Callable[[np.random.Generator], Any]
    held_out: Sequence[Any]
    loss: Callable[[Any, Any], Any]
    notes: Callable[[Any], Mapping[str, float | int | str]] = lambda network: {}


@dataclass
class TrainingData:
    """What a training may take: dialogues, their vectors, models, and its own randomness."""

    corpora: Mapping[str, Corpus]
    models: Models
    seed: int
    encoder: str = ""
    read: Callable[[Sequence[str]], Vectors] | None = None
    _split: dict[str, tuple[list[Dialogue], list[Dialogue]]] = field(default_factory=dict)

    @property
    def rng(self) -> np.random.Generator:
        """Randomness for whatever is prepared before the first step; the same at every call."""
        return np.random.default_rng(self.seed)

    def dialogues(self, *names: str) -> list[Dialogue]:
        """Give the dialogues to train on, of the corpora named, or of all that the training has."""
        return [dialogue for name in names or self.corpora for dialogue in self._parts(name)[0]]

    def held_out(self, *names: str) -> list[Dialogue]:
        """Give the dialogues that only the held-out loss sees."""
        return [dialogue for name in names or self.corpora for dialogue in self._parts(name)[1]]

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Give for each text the mean and the largest of its token states, side by side: (texts, 2 · width), float16.

        What was read of a text is kept on disk, so that all trainings with one encoder read it once.
        """
        if self.read is None:
            encoder = self.models.encoder(self.encoder)
            return np.hstack([encoder.sentences(texts, "mean"), encoder.sentences(texts, "max")]).astype(np.float16)
        return self.read(texts)

    def _parts(self, name: str) -> tuple[list[Dialogue], list[Dialogue]]:
        if name not in self.corpora:
            raise MetricError(f"this training takes the corpus {name}; given are {', '.join(self.corpora) or 'none'}")
        if name not in self._split:
            parts: tuple[list[Dialogue], list[Dialogue]] = ([], [])
            for dialogue in self.corpora[name].dialogues:
                words = "\n".join(utterance.text for utterance in dialogue.utterances).encode(errors="replace")
                held_out = int.from_bytes(hashlib.sha256(words).digest()[:4]) % HELD_OUT == 0
                parts[held_out].append(dialogue)
            self._split[name] = parts
        return self._split[name]


@runtime_checkable
class Trainable(Protocol):
    """A metric, or a model that metrics share, whose weights come out of a training."""

    recipe: ClassVar[Recipe]

    def objective(self, data: TrainingData) -> Objective:
        """Prepare the network and its batches."""
