"""A dialogue encoder: low-rank adapters that bring what was said and its reply together, among the replies of others.

Trained end to end as a bi-encoder on the run's encoder: both sides are read alone, the mean of their token states is
compared by cosine (the loss of Henderson et al. 2017, both ways). What was said is the last one to three utterances.
Where the corpus has adversarial replies they are among the false ones. The result is an encoder like any other, for
cosines and for heads: `--encoder NAME+dialogue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData
from metrics.training.replies import Answered, answered

TURNS = 3
"""Utterances that are read before a reply, at most."""


@dataclass(frozen=True, slots=True)
class DialogueEncoder(Trainable):
    """The cross entropy of finding the own reply in the batch, and the own context."""

    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(
        ("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia", "dailydialog_pp"),
        steps=450, rate=5e-4, every=50, patience=9, batch=32, length=64, rank=16)}
    encoder: str = ""

    def objective(self, data: TrainingData) -> Objective:
        """Prepare the replies, and the adapters over the encoder."""
        from metrics.training.tuned import Parts, retrieval

        return retrieval(data, Parts(answered(data.dialogues(), TURNS), answered(data.held_out(), TURNS), examples))


def examples(part: Sequence[Answered], rng: np.random.Generator, many: int) -> list[tuple[str, str, str]]:
    """What was said, a good reply, and an adversarial one or an empty text."""
    drawn = []
    for row in rng.integers(len(part), size=many):
        one = part[row]
        drawn.append((one.context(int(rng.integers(1, TURNS + 1))), one.good[int(rng.integers(len(one.good)))],
                      one.hard[int(rng.integers(len(one.hard)))] if one.hard else ""))
    return drawn
