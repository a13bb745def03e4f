"""Dialogues of DynaEval and S-DiCoh: their graphs, perturbed copies for training, and the ranking objective.

Perturbed dialogues: UR, utterance replacement, replaces an utterance with a random one from another dialogue; SS,
speaker-level shuffling, shuffles the utterances of one speaker.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item, Utterance
from metrics.models.text_table import Rows, TextTable
from metrics.models.vectors import WordVectors
from metrics.text.words import tokens
from metrics.training.examples import shuffled
from metrics.training.recipe import Objective, TrainingData, check_split

Negatives: TypeAlias = Literal["ur", "ss"]
MIN_UTTERANCES, MAX_UTTERANCES = 4, 30
"""Minimum and maximum number of utterances in a training dialogue."""
PERTURBATIONS = 20
"""Number of perturbed copies of each dialogue in an epoch."""
MAX_TRIES = 20


class Turns(NamedTuple):
    """A dialogue, the maximum length of its edges, and the vectors of words for a network over words."""

    utterances: tuple[Utterance, ...]
    window: int = 0
    words: WordVectors | None = None

    @property
    def texts(self) -> list[str]:
        return [turn.text for turn in self.utterances]


def of_items(items: Sequence[Item], window: int = 0, words: WordVectors | None = None) -> list[Turns | None]:
    """Return each item's dialogue; None for fewer than two utterances, or if all are blank or have no known words."""
    readings = [Turns(item.utterances, window, words) for item in items]
    return [reading if len(reading.utterances) > 1 and any(
        len(words.of(tokens(text, lowercase=True))) if words else text.strip() for text in reading.texts) else None
        for reading in readings]


def graphs(readings: Sequence[Turns], table: TextTable, speakers: int) -> Any:
    """Return dialogues as one Batch: x (utterances, 2 · width), edge_index (2, edges), edge_type (edges,), batch."""
    import torch
    from torch_geometric.data import Batch

    lengths = np.array([len(reading.utterances) for reading in readings], dtype=np.intp)
    dialogue_ids = np.repeat(np.arange(len(readings)), lengths)
    speaker_ids: list[int] = []
    for reading in readings:
        names = [turn.speaker for turn in reading.utterances]
        speaker_ids += map(list(dict.fromkeys(names)).index, names)
    edges, relations = _edges(dialogue_ids, np.minimum(speaker_ids, speakers - 1), readings[0].window, speakers)
    batch = Batch(x=table.tensor(table.rows(text for reading in readings for text in reading.texts)),
                  edge_index=torch.from_numpy(edges), edge_type=torch.from_numpy(relations),
                  batch=torch.from_numpy(dialogue_ids))
    batch._num_graphs = len(readings)
    return batch


def _edges(dialogue_ids: Rows, speaker_ids: Rows, window: int, speakers: int) -> tuple[Rows, Rows]:
    """Return all edges within the window (2, edges), each from a source to a target, and their relations."""
    nodes = np.arange(len(dialogue_ids))
    pairs, relations = [], []
    reach = min(window, len(nodes) - 1)
    for offset in range(-reach, reach + 1):
        target = nodes[max(0, -offset) : len(nodes) - max(0, offset)]
        target = target[dialogue_ids[target] == dialogue_ids[target + offset]]
        source = target + offset
        pairs.append(np.stack([source, target]))
        relation = (speaker_ids[target] * speakers + speaker_ids[source]) * 2 + int(offset > 0)
        relations.append(relation if offset else np.full(len(target), 2 * speakers * speakers))
    return np.concatenate(pairs, axis=1), np.concatenate(relations)


def usable(dialogue: Dialogue, kind: Negatives) -> bool:
    """Return True if the dialogue has a suitable length and can be perturbed."""
    distinct = {(turn.speaker, turn.text) for turn in dialogue.utterances}
    return MIN_UTTERANCES <= len(dialogue.utterances) <= MAX_UTTERANCES and (
        kind == "ur" or len(distinct) > len({speaker for speaker, _ in distinct}))


def perturb(dialogue: Sequence[Utterance], kind: Negatives, pool: Sequence[str],
            rng: np.random.Generator) -> tuple[Utterance, ...]:
    """Replace an utterance with one from the pool, or shuffle the utterances of one speaker."""
    if kind == "ss":
        return speaker_shuffled(dialogue, rng)
    texts = {turn.text for turn in dialogue}
    for _ in range(MAX_TRIES):  # the pool also contains the utterances of this dialogue
        changed = replaced(dialogue, pool, rng)
        if any(turn.text not in texts for turn in changed):
            break
    return changed


def replaced(dialogue: Sequence[Utterance], pool: Sequence[str], rng: np.random.Generator) -> tuple[Utterance, ...]:
    """Replace an utterance with one from the pool (DynaEval, UR)."""
    index = int(rng.integers(len(dialogue)))
    speaker, old = dialogue[index].speaker, dialogue[index].text
    texts = (pool[int(row)] for row in rng.integers(len(pool), size=20))
    changed = Utterance(speaker, next((text for text in texts if text != old), old))
    return (*dialogue[:index], changed, *dialogue[index + 1:])


def speaker_shuffled(dialogue: Sequence[Utterance], rng: np.random.Generator) -> tuple[Utterance, ...]:
    """Shuffle the utterances of one speaker (DynaEval, SS)."""
    speakers = list(dict.fromkeys(turn.speaker for turn in dialogue))
    movable = [name for name in speakers if len({turn.text for turn in dialogue if turn.speaker == name}) > 1]
    if not movable:
        return tuple(dialogue)
    speaker = movable[int(rng.integers(len(movable)))]
    texts = iter(shuffled([turn.text for turn in dialogue if turn.speaker == speaker], rng))
    return tuple(Utterance(speaker, next(texts)) if turn.speaker == speaker else turn for turn in dialogue)


def ranking(data: TrainingData, kind: Negatives, reading: Callable[[tuple[Utterance, ...]], Turns],
            **network: Any) -> Objective:
    """Rank dialogues above perturbed copies, drawn anew at each step or from a fixed number (`kept` in the recipe)."""
    from metrics.training.objectives import objective
    from metrics.training.tuned import network_of

    examples = data.split(lambda dialogues: list(enumerate(
        dialogue.utterances for dialogue in dialogues if usable(dialogue, kind))))
    check_split(f"dialogues of {MIN_UTTERANCES} to {MAX_UTTERANCES} utterances", *examples)
    pool = [turn.text for _, utterances in examples[0] for turn in utterances]
    copies = data.recipe.examples.get("kept", 0)

    def generator(row: int, rng: np.random.Generator) -> np.random.Generator:
        return np.random.default_rng((data.seed, row, int(rng.integers(copies)))) if copies else rng

    def batch(rows: Sequence[tuple[int, tuple[Utterance, ...]]], rng: np.random.Generator) -> Any:
        perturbed = [perturb(utterances, kind, pool, generator(row, rng)) for row, utterances in rows]
        return network_of(data).inputs([reading(turns) for turns in (*(turns for _, turns in rows), *perturbed)], rng)

    def hits(network: Any, batch: Any) -> Any:
        better, worse = network(*batch).chunk(2)
        return {"held-out accuracy": better > worse}

    network_of(data, **network)
    ranking_objective = objective(
        data, examples, batch, lambda network, batch: margin_loss(network(*batch), data.recipe.margin), hits,
        lambda row: [reading(row[1])])
    return dataclasses.replace(ranking_objective, rows=2 * PERTURBATIONS * len(examples[0]))


def margin_loss(scores: Any, margin: float) -> Any:
    """Return the mean of max(0, margin − s(D) + s(D̄)) for scores (2 · B,) whose second half is of perturbed copies."""
    better, worse = scores.chunk(2)
    return (margin - better + worse).clamp_min(0).mean()
