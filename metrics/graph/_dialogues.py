"""Whole dialogues for networks that read them: rows of a table of vectors, made worse for training, batched as graphs.

    spoken(utterances, table)                a dialogue as rows of the table, and who says each
    graphs(dialogues, table, window)         many of them as one torch-geometric Batch, a node for each utterance
    Perturbed.of(data, negatives)            dialogues beside worse ones, to train on and held out
    scored(network, items, encoder, window)  what a network says of each item, the same in whatever company

Worse by UR, utterance replacement: one utterance gives way to a random one of another dialogue. By SS, speaker-level
shuffling: what one speaker says changes places, what the others say does not. As in DynaEval (Zhang et al. 2021) only
dialogues of 4 to 30 utterances are trained on.

An edge leads from every utterance j to i where |i − j| ≤ window, i itself included. Its relation says who speaks at
i and at j, and which comes first: S · S · 2 + 1 of them for S speakers, nine for two. Speakers are numbered as they
begin to speak; where there are more than S, those who come later share the last number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from benchmarks.corpora import Dialogue
from benchmarks.dataset import Item, Utterance
from metrics import negatives
from metrics.errors import MetricError
from metrics.memory import Vectors
from metrics.metric import Column
from metrics.trained._pairs import DECIMALS, Rows, Table, reading, where
from metrics.training import TrainingData

if TYPE_CHECKING:
    from metrics.encoder import Encoder

Negatives: TypeAlias = Literal["ur", "ss"]
SHORTEST, LONGEST = 4, 30
"""How many utterances a dialogue has that is trained on."""
PERTURBATIONS = 20
"""How many worse dialogues are made of one that is held out."""
TRIES = 20
BATCH = 64
"""Dialogues in a batch, each with a worse one."""
BLOCK = 1 << 13
"""How many utterances, padded, are judged at a time."""
SPEAKERS = 2
"""How many speakers have relations of their own."""
MARGIN = 1.0
"""By how much a dialogue should score above a worse one."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A dialogue as rows of a table, and who speaks, by the order in which they begin: (utterances,) each."""

    rows: Rows
    speakers: Rows

    def __len__(self) -> int:
        return len(self.rows)


def spoken(utterances: Sequence[Utterance], table: Table) -> Spoken:
    """A dialogue as rows of the table; a blank utterance has the row of zeros."""
    numbers = {who: number for number, who in enumerate(dict.fromkeys(turn.speaker for turn in utterances))}
    return Spoken(table.rows(turn.text for turn in utterances),
                  np.array([numbers[turn.speaker] for turn in utterances], dtype=np.intp))


def graphs(dialogues: Sequence[Spoken], table: Table, window: int, speakers: int = SPEAKERS) -> Any:
    """The dialogues as one Batch: x (utterances, 2 · width), edge_index (2, edges), edge_type (edges,), batch."""
    import torch
    from torch_geometric.data import Batch

    lengths = np.array([len(one) for one in dialogues], dtype=np.intp)
    who = np.concatenate([one.speakers for one in dialogues])
    which = np.repeat(np.arange(len(dialogues)), lengths)
    edges, relations = _edges(which, np.minimum(who, speakers - 1), window, speakers)
    batch = Batch(x=table.tensor(np.concatenate([one.rows for one in dialogues])),
                  edge_index=torch.from_numpy(edges), edge_type=torch.from_numpy(relations),
                  batch=torch.from_numpy(which), ptr=torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)])))
    batch._num_graphs = len(dialogues)
    return batch


def _edges(which: Rows, who: Rows, window: int, speakers: int) -> tuple[Rows, Rows]:
    """Every edge within the window, as (source, target), and its relation."""
    nodes = np.arange(len(which))
    pairs, relations = [], []
    reach = min(window, len(nodes) - 1)
    for away in range(-reach, reach + 1):
        target = nodes[max(0, -away) : len(nodes) - max(0, away)]
        target = target[which[target] == which[target + away]]
        source = target + away
        pairs.append(np.stack([source, target]))
        speak = (who[target] * speakers + who[source]) * 2 + int(away > 0)
        relations.append(speak if away else np.full(len(target), 2 * speakers * speakers))
    return np.concatenate(pairs, axis=1), np.concatenate(relations)


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


def scored(network: Any, items: Sequence[Item], encoder: Encoder, window: int, speakers: int = SPEAKERS) -> Column:
    """What the network says of each item; NaN of fewer than two utterances, or where none holds words."""
    table = Table((turn.text for item in items for turn in item.utterances), reading(encoder))
    dialogues = [spoken(item.utterances, table) for item in items]
    there = np.array([len(one) > 1 and bool(one.rows.any()) for one in dialogues], dtype=bool)
    return where(there, lambda kept: judged(
        network, [dialogues[place] for place in np.flatnonzero(kept)], table, window, speakers))


def judged(network: Any, dialogues: Sequence[Spoken], table: Table, window: int, speakers: int = SPEAKERS,
           exact: bool = True) -> Column:
    """What the network says of each dialogue; `exact`, in double precision, it is the same in whatever company."""
    import torch

    kind = torch.float64 if exact else torch.float32
    network = network.cpu().to(kind).eval()
    found = np.full(len(dialogues), np.nan)
    with torch.inference_mode():
        for places in _blocks([len(one) for one in dialogues]):
            batch = graphs([dialogues[place] for place in places], table, window, speakers)
            batch.x = batch.x.to(kind)
            found[places] = network(batch).numpy()
    return found.round(DECIMALS)


def _blocks(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of dialogues of like length, so many as make a block when padded to the longest."""
    block: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[place] > BLOCK:
            yield block
            block = []
        block.append(place)
    if block:
        yield block


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
