"""What DynaEval and S-DiCoh are trained on: dialogues beside worse ones, and the loss that tells them apart.

    Perturbed.of(data, negatives)            dialogues beside worse ones, to train on and held out
    objective(data, negatives, network, ...) a network that is to score the first above the second

Worse by UR, utterance replacement: one utterance gives way to a random one of another dialogue. By SS, speaker-level
shuffling: what one speaker says changes places, what the others say does not. As in DynaEval (Zhang et al. 2021) only
dialogues of 4 to 30 utterances are trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Utterance
from metrics.errors import MetricError
from metrics.graph.dialogues.dialogues import Spoken, graphs, spoken
from metrics.models.memory import Vectors
from metrics.trained.heads.pairs import Table
from metrics.training import negatives
from metrics.training.recipe import Objective, TrainingData

Negatives: TypeAlias = Literal["ur", "ss"]
SHORTEST, LONGEST = 4, 30
"""How many utterances a dialogue has that is trained on."""
PERTURBATIONS = 20
"""How many worse dialogues are made of one that is held out."""
TRIES = 20
BATCH = 64
"""Dialogues in a batch, each with a worse one."""
MARGIN = 1.0
"""By how much a dialogue should score above a worse one."""


def worse(dialogue: Sequence[Utterance], kind: Negatives, pool: Sequence[str], rng: np.random.Generator,
          ) -> tuple[Utterance, ...]:
    """A worse dialogue: with an utterance of the pool, or with one speaker's utterances in another order."""
    if kind == "ss":
        return negatives.speaker_shuffled(dialogue, rng)
    own = {turn.text for turn in dialogue}
    for _ in range(TRIES):  # the pool holds the dialogue's own utterances as well
        changed = negatives.replaced(dialogue, pool, rng)
        if any(turn.text not in own for turn in changed):
            break
    return changed


def usable(dialogue: Dialogue, kind: Negatives) -> bool:
    """Whether a dialogue is neither too short nor too long, and can be made worse."""
    if not SHORTEST <= len(dialogue.utterances) <= LONGEST:
        return False
    said: dict[str, set[str]] = {}
    for turn in dialogue.utterances:
        said.setdefault(turn.speaker, set()).add(turn.text)
    return kind == "ur" or any(len(texts) > 1 for texts in said.values())


@dataclass(frozen=True, slots=True)
class Perturbed:
    """Dialogues to train on and held out, over one table, and how they are made worse."""

    table: Table
    training: tuple[Dialogue, ...]
    held: tuple[Dialogue, ...]
    pool: tuple[str, ...]
    kind: Negatives

    @classmethod
    def of(cls, data: TrainingData, kind: Negatives) -> Perturbed:
        """Read the vectors of all utterances of the training's dialogues."""
        return cls.among(data.dialogues(), data.held_out(), kind, data.vectors)

    @classmethod
    def among(cls, training: Iterable[Dialogue], held: Iterable[Dialogue], kind: Negatives,
              read: Callable[[Sequence[str]], Vectors]) -> Perturbed:
        """The same from dialogues at hand."""
        learned, other = (tuple(one for one in some if usable(one, kind)) for some in (training, held))
        if not learned or not other:
            raise MetricError(f"the corpora have {len(learned)} dialogues of {SHORTEST} to {LONGEST} utterances to "
                              f"train on and {len(other)} held out; take larger ones")
        pool = tuple(turn.text for one in learned for turn in one.utterances)
        table = Table((*pool, *(turn.text for one in other for turn in one.utterances)), read)
        return cls(table, learned, other, pool, kind)

    def draw(self, rng: np.random.Generator) -> list[Spoken]:
        """Dialogues to train on, and after them a worse one of each."""
        return self.paired([self.training[int(one)] for one in rng.integers(len(self.training), size=BATCH)], rng)

    def held_out(self, rng: np.random.Generator, batches: int = 8) -> Iterator[list[Spoken]]:
        """The same of what is held out, in batches."""
        for _ in range(batches):
            yield self.paired([self.held[int(one)] for one in rng.integers(len(self.held), size=BATCH)], rng)

    def paired(self, some: Sequence[Dialogue], rng: np.random.Generator) -> list[Spoken]:
        """The dialogues, and after them a worse one of each."""
        changed = [worse(one.utterances, self.kind, self.pool, rng) for one in some]
        return [spoken(turns, self.table) for turns in (*(one.utterances for one in some), *changed)]


def objective(data: TrainingData, kind: Negatives, network: Callable[..., Any], window: int, speakers: int,
              options: Mapping[str, Any]) -> Objective:
    """Score dialogues above worse ones; the network is made with the encoder's width and these options."""
    dialogues = Perturbed.of(data, kind)

    def batch(some: Sequence[Spoken]) -> Any:
        return graphs(some, dialogues.table, window, speakers)

    held = [batch(some) for some in dialogues.held_out(data.rng)]
    config = {"width": dialogues.table.width, **options}
    return Objective(network(**config), config, lambda rng: batch(dialogues.draw(rng)), held, ranked,
                     lambda fitted: {"accuracy on what is held out": round(accuracy(fitted, held), 4)})


def ranked(network: Any, batch: Any) -> Any:
    """The margin ranking loss of a batch whose second half is worse: max(0, 1 − s(D) + s(D̄)), its mean."""
    scores = network(batch)
    better, less = scores.chunk(2)
    return (MARGIN - better + less).clamp_min(0).mean()


def accuracy(network: Any, batches: Iterable[Any]) -> float:
    """How often a dialogue scores above its worse one."""
    import torch

    device = next(network.parameters()).device
    with torch.inference_mode():
        halves = [network(batch.to(device)).chunk(2) for batch in batches]
        return float(torch.cat([better > less for better, less in halves]).float().mean())
