"""What the heads are trained on: replies with their contexts, contexts with several good replies, texts with labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.memory import Vectors
from metrics.trained.heads.table import TURNS, Rows, TextTable, last_turns
from metrics.training import negatives
from metrics.training.recipe import Objective, TrainingData, check_parts
from metrics.training.replies import ADVERSARIAL, GOOD, exchanges

BATCH = 128
"""Pairs, contexts or texts in a batch; the false reply of a pair is that of another."""
CORRUPTIONS = (negatives.reordered, negatives.dropped, negatives.repeated)


@dataclass(frozen=True, slots=True)
class ReplyPairs:
    """Replies with what was said before them: rows of a table, (pairs, TURNS) and (pairs,)."""

    contexts: Rows
    replies: Rows

    def __len__(self) -> int:
        return len(self.replies)


def pairs(dialogues: Iterable[Dialogue], table: TextTable) -> ReplyPairs:
    """Every utterance that has one before it, where both hold words."""
    some = [(last_turns(before), text) for _, before, text in exchanges(dialogues)]
    contexts = table.rows(text for texts, _ in some for text in texts).reshape(-1, TURNS)
    return ReplyPairs(contexts, table.rows(text for _, text in some))


@dataclass(frozen=True, slots=True)
class TrainingBatches:
    """Batches for a training: drawn at random, and some of the held-out data; `width` is the encoder's."""

    width: int
    draw: Callable[[np.random.Generator], Any]
    held: Sequence[Any]
    rows: int = 0
    """How many examples an epoch has."""

    def objective(self, kind: Callable[..., Any], loss: Callable[[Any, Any], Any],
                  notes: Callable[[Any], Mapping[str, float]] = lambda network: {}, **config: Any) -> Objective:
        """What is to be learned by a network of this kind; its arguments are the width and these."""
        config = {"width": self.width, **config}
        return Objective(kind(**config), config, self.draw, self.held, loss, notes, self.rows)


def drawn(table: TextTable, batch: Callable[[Any, np.random.Generator], Any], parts: tuple[Any, Any],
          rng: np.random.Generator, count: int = 8, rows: int = 0) -> TrainingBatches:
    """Batches of the data to train on and of the held-out data, as `batch` draws one of either."""
    training, held = parts
    return TrainingBatches(table.width, lambda rng: batch(training, rng), [batch(held, rng) for _ in range(count)],
                           rows)


def pair_batches(data: TrainingData) -> TrainingBatches:
    """Batches of every pair of the training's dialogues; an error where there are none to train on or none held out."""
    both = data.dialogues(), data.held_out()
    table = TextTable((turn.text for some in both for dialogue in some for turn in dialogue.utterances), data.vectors)
    training, held = (pairs(some, table) for some in both)
    check_parts("replies", training, held)
    return batches_of(table, training, held, data)


def batches_of(table: TextTable, training: ReplyPairs, held: ReplyPairs, data: TrainingData) -> TrainingBatches:
    """Contexts (batch, turns, 2 · width) and their replies (batch, 2 · width)."""
    def batch(some: ReplyPairs, rng: np.random.Generator) -> tuple[Any, Any]:
        chosen = rng.integers(len(some), size=data.recipe.batch or BATCH)
        return table.tensor(some.contexts[chosen]), table.tensor(some.replies[chosen])

    return drawn(table, batch, (training, held), data.rng, rows=len(training))


@dataclass(frozen=True, slots=True)
class Answers:
    """Contexts with several good replies each: rows of a table, (contexts, TURNS), and a row of replies for each.

    `adversarial` are false replies that share words with the context, where there are some.
    """

    table: TextTable
    contexts: Rows
    replies: tuple[Rows, ...]
    adversarial: tuple[Rows, ...]

    def draw(self, rng: np.random.Generator, size: int = BATCH) -> tuple[Any, Any, Any]:
        """Contexts (size, TURNS, 2 · width), and a reference and another reply to each (size, 2 · width)."""
        chosen = rng.integers(len(self.contexts), size=size)
        two = np.array([rng.choice(self.replies[row], 2, replace=False) for row in chosen])
        return (self.table.tensor(self.contexts[chosen]), self.table.tensor(two[:, 0]), self.table.tensor(two[:, 1]))

    def pairs(self) -> ReplyPairs:
        """Every reply with its context."""
        counts = [len(rows) for rows in self.replies]
        return ReplyPairs(np.repeat(self.contexts, counts, axis=0), np.concatenate(self.replies))


def answered(data: TrainingData) -> tuple[Answers, Answers]:
    """The dialogues that end in several good replies, to train on and held out."""
    parts = [[dialogue for dialogue in dialogues if len(dialogue.labels.get(GOOD, ())) > 1]
             for dialogues in (data.dialogues(), data.held_out())]
    table = TextTable((text for dialogues in parts for dialogue in dialogues
                       for text in (*(turn.text for turn in dialogue.utterances), *dialogue.labels[GOOD])),
                      data.vectors)
    training, held = (answers(table, dialogues) for dialogues in parts)
    return training, held


def answers(table: TextTable, dialogues: Iterable[Dialogue]) -> Answers:
    """The answers of dialogues, without those that have no context or fewer than two replies."""
    rows = []
    for dialogue in dialogues:
        context = table.rows(last_turns(turn.text for turn in dialogue.utterances))
        good, hard = (np.unique(table.rows(dialogue.labels.get(label, ()))) for label in (GOOD, ADVERSARIAL))
        if context[0] and len(good[good > 0]) > 1:
            rows.append((context, good[good > 0], hard[hard > 0]))
    if not rows:
        raise MetricError(f"none of the corpora has contexts with several replies ({GOOD}, a list of two "
                          "or more texts beside the utterances, as dailydialog_pp has them)")
    contexts, several, adversarial = zip(*rows, strict=True)
    return Answers(table, np.stack(contexts), several, adversarial)


Labelled: TypeAlias = Sequence[tuple[str, float]]
"""Texts, each with its label from 0 to 1."""


def text_batches(training: Labelled, held: Labelled, data: TrainingData, count: int = 16) -> TrainingBatches:
    """Batches of texts (BATCH, 2 · width) and their labels (BATCH,)."""
    import torch

    check_parts("labelled texts", training, held, "larger ones, or those that the recipe names")
    table = TextTable((text for text, _ in (*training, *held)), data.vectors)
    parts = tuple((table.rows(text for text, _ in part), np.array([label for _, label in part], dtype=np.float32))
                  for part in (training, held))

    def batch(part: tuple[Rows, Vectors], rng: np.random.Generator) -> tuple[Any, Any]:
        chosen = rng.integers(len(part[0]), size=BATCH)
        return table.tensor(part[0][chosen]), torch.from_numpy(part[1][chosen])

    return drawn(table, batch, (parts[0], parts[1]), data.rng, count)


def whole_or_broken(data: TrainingData, count: int, shortened: float) -> tuple[Labelled, Labelled]:
    """Replies with label 1, some of them without stop words, and the same corrupted with label 0; and held-out ones.

    The replies and their corruptions are the same for every value of `shortened`, so that an encoder reads them once.
    """
    rng = data.rng
    texts = [some_replies(data.dialogues(), count, rng), some_replies(data.held_out(), count // 10, rng)]
    broken = [[CORRUPTIONS[int(rng.integers(len(CORRUPTIONS)))](text, rng) for text in some] for some in texts]
    whole = [[negatives.without_stop_words(text, rng) if rng.random() < shortened else text for text in some]
             for some in texts]
    training, held = (
        [*((text, 1.0) for text in right),
         *((changed, 0.0) for changed, text in zip(wrong, some, strict=True) if changed != text)]
        for right, wrong, some in zip(whole, broken, texts, strict=True))
    return training, held


def some_replies(dialogues: Iterable[Dialogue], count: int | None, rng: np.random.Generator) -> list[str]:
    """Distinct utterances that answer another, three words long or longer; `count` of them at random, or all."""
    replies = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.utterances[1:]
                                 if len(turn.text.split()) > 2))
    return [replies[place] for place in rng.permutation(len(replies))[:count]]
