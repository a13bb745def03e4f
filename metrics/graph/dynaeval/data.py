"""Dialogues as rows of vectors and as graphs, and dialogues made worse: what DynaEval and S-DiCoh read and learn from.

    DialogueRows.of(utterances, table)                  a dialogue as rows of a table, and who speaks
    graphs(dialogues, table, window)             many of them as one torch-geometric Batch, a node for each utterance
    item_scores(network, items, encoder, window) what a network gives the items, in any batch the same
    objective(data, negatives, network, ...)     a network that is to score dialogues above worse ones

An edge leads from every utterance j to i where |i − j| ≤ window, i itself included. Its relation says who speaks at i
and at j, and which comes first: S · S · 2 + 1 of them for S speakers, nine for two. Speakers are numbered in the order
in which they begin; where there are more than S, the later ones share the last number.

A dialogue is made worse by UR, utterance replacement: a random utterance of another dialogue takes the place of one; or
by SS, speaker-level shuffling: what one speaker says changes places. As in DynaEval (Zhang et al. 2021) dialogues of 4
to 30 utterances are trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item, Utterance
from metrics.errors import MetricError
from metrics.metric import Column
from metrics.trained.heads.data import drawn
from metrics.trained.heads.table import DECIMALS, Rows, TextTable, fill, reading, stable
from metrics.training import negatives
from metrics.training.recipe import Objective, TrainingData

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

BLOCK = 1 << 13
"""How many utterances, padding included, are read at a time."""
SPEAKERS = 2
"""How many speakers have relations of their own."""
Negatives: TypeAlias = Literal["ur", "ss"]
SHORTEST, LONGEST = 4, 30
"""How many utterances a training dialogue has."""
PERTURBATIONS = 20
"""How many worse dialogues are made of a held-out one."""
TRIES = 20
BATCH = 64
"""Dialogues in a batch, each with a worse one."""
MARGIN = 1.0
"""By how much a dialogue should score above a worse one."""


@dataclass(frozen=True, slots=True)
class DialogueRows:
    """A dialogue as rows of a table, and the number of the speaker of each utterance: (utterances,) each."""

    rows: Rows
    speakers: Rows

    @classmethod
    def of(cls, utterances: Sequence[Utterance], table: TextTable) -> DialogueRows:
        """A dialogue as rows of the table; a blank utterance has the row of zeros."""
        numbers = {who: number for number, who in enumerate(dict.fromkeys(turn.speaker for turn in utterances))}
        return cls(table.rows(turn.text for turn in utterances),
                   np.array([numbers[turn.speaker] for turn in utterances], dtype=np.intp))

    def __len__(self) -> int:
        return len(self.rows)


def graphs(dialogues: Sequence[DialogueRows], table: TextTable, window: int, speakers: int = SPEAKERS) -> Any:
    """The dialogues as one Batch: x (utterances, 2 · width), edge_index (2, edges), edge_type (edges,), batch."""
    import torch
    from torch_geometric.data import Batch

    lengths = np.array([len(dialogue) for dialogue in dialogues], dtype=np.intp)
    who = np.concatenate([dialogue.speakers for dialogue in dialogues])
    which = np.repeat(np.arange(len(dialogues)), lengths)
    edges, relations = _edges(which, np.minimum(who, speakers - 1), window, speakers)
    batch = Batch(x=table.tensor(np.concatenate([dialogue.rows for dialogue in dialogues])),
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


def item_scores(network: Any, items: Sequence[Item], encoder: Encoder, window: int, speakers: int = SPEAKERS) -> Column:
    """The network's score of each item; NaN for fewer than two utterances, or where none holds words."""
    table = TextTable((turn.text for item in items for turn in item.utterances), reading(encoder))
    dialogues = [DialogueRows.of(item.utterances, table) for item in items]
    scorable = np.array([len(dialogue) > 1 and bool(dialogue.rows.any()) for dialogue in dialogues], dtype=bool)
    return fill(scorable, lambda chosen: dialogue_scores(
        network, [dialogues[place] for place in np.flatnonzero(chosen)], table, window, speakers))


def dialogue_scores(network: Any, dialogues: Sequence[DialogueRows], table: TextTable, window: int,
                    speakers: int = SPEAKERS, exact: bool = True) -> Column:
    """The network's score of each dialogue; `exact`, in double precision, it is the same in any batch."""
    import torch

    kind = torch.float64 if exact else torch.float32
    network = network.cpu().to(kind).eval()

    def compute(rows: Rows) -> Column:
        scores = np.full(len(rows), np.nan)
        with torch.inference_mode():
            for places in _blocks([len(dialogues[row]) for row in rows]):
                batch = graphs([dialogues[row] for row in rows[places]], table, window, speakers)
                batch.x = batch.x.to(kind)
                scores[places] = network(batch).numpy()
        return scores

    rows = np.arange(len(dialogues))
    return stable(rows, compute) if exact else compute(rows).round(DECIMALS)


def _blocks(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of dialogues of similar length, as many as make a block when padded to the longest."""
    block: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[place] > BLOCK:
            yield block
            block = []
        block.append(place)
    if block:
        yield block


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
    texts: dict[str, set[str]] = {}
    for turn in dialogue.utterances:
        texts.setdefault(turn.speaker, set()).add(turn.text)
    return kind == "ur" or any(len(own) > 1 for own in texts.values())


def objective(data: TrainingData, kind: Negatives, network: Callable[..., Any], window: int, speakers: int,
              options: Mapping[str, Any]) -> Objective:
    """Score dialogues above worse ones; the network is made with the encoder's width and these options.

    A batch holds BATCH dialogues, and after them a worse one of each.
    """
    training, held = ([dialogue.utterances for dialogue in some if usable(dialogue, kind)]
                      for some in (data.dialogues(), data.held_out()))
    if not training or not held:
        raise MetricError(f"the corpora have {len(training)} dialogues of {SHORTEST} to {LONGEST} utterances to "
                          f"train on and {len(held)} held out; take larger ones")
    pool = [turn.text for utterances in training for turn in utterances]
    table = TextTable((*pool, *(turn.text for utterances in held for turn in utterances)), data.vectors)

    def batch(dialogues: Sequence[Sequence[Utterance]], rng: np.random.Generator) -> Any:
        chosen = [dialogues[int(place)] for place in rng.integers(len(dialogues), size=BATCH)]
        changed = [worse(utterances, kind, pool, rng) for utterances in chosen]
        rows = [DialogueRows.of(utterances, table) for utterances in (*chosen, *changed)]
        return graphs(rows, table, window, speakers)

    batches = drawn(table, batch, (training, held), data.rng)
    config = {"width": batches.width, **options}
    return Objective(network(**config), config, batches.draw, batches.held, margin_loss,
                     lambda fitted: {"accuracy on what is held out": round(accuracy(fitted, batches.held), 4)})


def margin_loss(network: Any, batch: Any) -> Any:
    """The mean of max(0, 1 − s(D) + s(D̄)) over a batch whose second half is worse."""
    better, less = network(batch).chunk(2)
    return (MARGIN - better + less).clamp_min(0).mean()


def accuracy(network: Any, batches: Iterable[Any]) -> float:
    """The share of dialogues that score above their worse one."""
    import torch

    device = next(network.parameters()).device
    with torch.inference_mode():
        halves = [network(batch.to(device)).chunk(2) for batch in batches]
        return float(torch.cat([better > less for better, less in halves]).float().mean())
