"""What DEB is trained on: pairs of all corpora, and the good and false replies of DailyDialog++."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.trained.heads.data import GOOD, ReplyPairs, TrainingBatches, drawn, pairs
from metrics.trained.heads.table import Rows, TextTable, last_turns
from metrics.training.recipe import TrainingData

SMALL = 64
"""Contexts of DailyDialog++ in a batch."""
PAIRS = 256
"""ReplyPairs of the other corpora in a batch: the false replies of each are those of all others."""
ADVERSARIAL = "adversarial_negative_responses"


@dataclass(frozen=True, slots=True)
class RatedReplies:
    """Contexts with good replies and, where there are some, adversarial ones: rows of a table."""

    table: TextTable
    contexts: Rows
    good: tuple[Rows, ...]
    adversarial: tuple[Rows, ...]

    def draw(self, rng: np.random.Generator, kind: str) -> tuple[Any, Any, Any]:
        """Contexts with a good and a false reply each; `kind` of the false ones: random, adversarial, both."""
        hard = np.flatnonzero([len(rows) > 0 for rows in self.adversarial])
        chosen = (rng.choice(hard, SMALL) if kind == "adversarial"
                  else rng.integers(len(self.contexts), size=SMALL))
        if kind == "both":
            chosen[::2] = rng.choice(hard, len(chosen[::2]))
        good = np.array([rng.choice(self.good[row]) for row in chosen])
        false = np.array([rng.choice(self.good[row]) for row in _others(chosen, len(self.contexts), rng)])
        if kind != "random":
            replaced = slice(None) if kind == "adversarial" else slice(None, None, 2)
            false[replaced] = [rng.choice(self.adversarial[row]) for row in chosen[replaced]]
        tensor = self.table.tensor
        return tensor(self.contexts[chosen]), tensor(good), tensor(false)


def _others(chosen: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Another row for each."""
    return (chosen + rng.integers(1, max(2, count), size=len(chosen))) % count


def deb_batches(data: TrainingData, kind: str) -> TrainingBatches:
    """Batches of both: pairs of dialogues, and rated replies with false ones of a kind."""
    both = data.dialogues(), data.held_out()
    table = TextTable((text for dialogues in both for dialogue in dialogues for text in _texts(dialogue)), data.vectors)
    training, held = ((pairs([dialogue for dialogue in dialogues if GOOD not in dialogue.labels], table),
                       _rated([dialogue for dialogue in dialogues if len(dialogue.labels.get(GOOD, ())) > 1], table))
                      for dialogues in both)
    if kind != "random" and not all(any(map(len, replies.adversarial)) for _, replies in (training, held)):
        raise MetricError("none of the corpora has adversarial replies; the dev or train split of dailydialog_pp "
                          "has some")

    def batch(part: tuple[ReplyPairs, RatedReplies], rng: np.random.Generator) -> Mapping[str, Any]:
        some, replies = part
        chosen = rng.integers(len(some), size=PAIRS)
        return {"pairs": (table.tensor(some.contexts[chosen]), table.tensor(some.replies[chosen])),
                "judged": replies.draw(rng, kind)}

    return drawn(table, batch, (training, held), data.rng, 12)


def _texts(dialogue: Dialogue) -> Iterable[str]:
    yield from (turn.text for turn in dialogue.utterances)
    yield from dialogue.labels.get(GOOD, ())
    yield from dialogue.labels.get(ADVERSARIAL, ())


def _rated(dialogues: Iterable[Dialogue], table: TextTable) -> RatedReplies:
    contexts, good, adversarial = [], [], []
    for dialogue in dialogues:
        context = table.rows(last_turns(turn.text for turn in dialogue.utterances))
        rows = table.rows(dialogue.labels[GOOD])
        if context[0] and (rows > 0).any():
            contexts.append(context)
            good.append(rows[rows > 0])
            hard = table.rows(dialogue.labels.get(ADVERSARIAL, ()))
            adversarial.append(hard[hard > 0])
    if len(contexts) < 2:
        raise MetricError("none of the corpora has contexts with several good replies; take dailydialog_pp as well")
    return RatedReplies(table, np.stack(contexts), tuple(good), tuple(adversarial))
