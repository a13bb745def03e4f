"""What the metrics of the response alone share: texts with labels, and their scoring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Column
from metrics.models.memory import Vectors
from metrics.text.words import reply
from metrics.trained.heads.pairs import BATCH, Rows, Table, judged, probabilities, reading
from metrics.training import negatives
from metrics.training.recipe import TrainingData

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

CORRUPTIONS = (negatives.reordered, negatives.dropped, negatives.repeated)

Labelled: TypeAlias = Sequence[tuple[str, float]]
"""Texts, each with its label from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Texts with labels to train on and to hold out, over one table."""

    table: Table
    training: tuple[Rows, Vectors]
    held: tuple[Rows, Vectors]

    def draw(self, rng: np.random.Generator, size: int = BATCH) -> tuple[Any, Any]:
        """A batch of texts (size, 2 · width) and their labels (size,)."""
        return self._batch(self.training, rng.integers(len(self.training[0]), size=size))

    def held_out(self, rng: np.random.Generator, batches: int = 16) -> list[tuple[Any, Any]]:
        """Batches of what is held out."""
        return [self._batch(self.held, rng.integers(len(self.held[0]), size=BATCH)) for _ in range(batches)]

    def _batch(self, some: tuple[Rows, Vectors], chosen: Rows) -> tuple[Any, Any]:
        import torch

        return self.table.tensor(some[0][chosen]), torch.from_numpy(some[1][chosen])


def of_texts(training: Labelled, held: Labelled, data: TrainingData) -> Labels:
    """Batches of texts, whose vectors are read now."""
    if not training or not held:
        raise MetricError(f"the corpora have {len(training)} labelled texts to train on and {len(held)} held out; "
                          "take larger ones, or those that the recipe names")
    table = Table((text for text, _ in (*training, *held)), data.vectors)

    def rows(some: Labelled) -> tuple[Rows, Vectors]:
        return table.rows(text for text, _ in some), np.array([label for _, label in some], dtype=np.float32)

    return Labels(table, rows(training), rows(held))


def whole_or_broken(data: TrainingData, count: int, shortened: float) -> Labels:
    """Replies with label 1, a share of them without their stop words, and the same with their words corrupted, label 0.

    Whatever `shortened` is, the replies and their corruptions are the same, so that an encoder reads them once.
    """
    rng = data.rng
    texts = [some_replies(data.dialogues(), count, rng), some_replies(data.held_out(), count // 10, rng)]
    broken = [[(CORRUPTIONS[int(rng.integers(len(CORRUPTIONS)))](text, rng), 0.0) for text in some] for some in texts]
    whole = [[(negatives.without_stop_words(text, rng) if rng.random() < shortened else text, 1.0) for text in some]
             for some in texts]
    # what a corruption has left as it was is no false one
    training, held = ([*right, *(one for one, text in zip(wrong, some, strict=True) if one[0] != text)]
                      for right, wrong, some in zip(whole, broken, texts, strict=True))
    return of_texts(training, held, data)


def some_replies(dialogues: Iterable[Dialogue], count: int, rng: np.random.Generator) -> list[str]:
    """Distinct utterances that answer another, three words long or longer; `count` of them at random."""
    found = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.utterances[1:]
                               if len(turn.text.split()) > 2))
    return [found[place] for place in rng.permutation(len(found))[:count]]


def judge_responses(items: Sequence[Item], encoder: Encoder, network: Any) -> Column:
    """The probability that a network gives each response, read alone: 0 to 1."""
    responses = [reply(item) for item in items]
    table = Table(responses, reading(encoder))
    return probabilities(judged(network, table, table.rows(responses)))
