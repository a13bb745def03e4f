"""FineD-Eval's training pairs: a dialogue that is better in one dimension, and one that is worse.

    coherence:order         a dialogue, and the same with its utterances in another order
    coherence:answers       its questions are answered well, or not
    likability:agreement    few of its utterances contradict one before, or many
    likability:sentiment    many of its utterances are positive, or few
    topic-depth:entailment  its utterances follow from those before, or do not
    topic-depth:specificity its words are rare, or common

All but the first sort whole dialogues by a signal: the highest third of a corpus is better than the lowest third of
the same corpus, so that no pair is told apart by where it comes from. `_fined_signals` rates the dialogues. A strategy
for which nothing is labelled, or no dialogue qualifies, is left out, and the checkpoint's card says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.trained.fined_eval.signals import Rate, Said, labelled, signals
from metrics.trained.heads.pairs import Rows, Table
from metrics.training.recipe import TrainingData

DIMENSIONS = ("coherence", "likability", "topic-depth")
SHORTEST, LONGEST = 4, 20
"""Utterances of a dialogue that is trained on: what is shorter is left out, of what is longer the beginning is read."""
SIZE = 24
"""Pairs of each strategy in a batch."""
HELD = 8
"""Batches that are held out."""
PARTS = 3
"""The highest and the lowest of so many parts are the better and the worse."""


@dataclass(frozen=True, slots=True)
class Sides:
    """For each corpus the dialogues that are better and those that are worse."""

    better: tuple[Said, ...]
    worse: tuple[Said, ...]

    def __len__(self) -> int:
        return sum(map(len, (*self.better, *self.worse)))

    def draw(self, rng: np.random.Generator) -> tuple[list[Rows], list[Rows]]:
        """Pairs of dialogues of one corpus, every corpus as often as the others."""
        places = rng.integers(len(self.better), size=SIZE)
        better, worse = ([some[place][rng.integers(len(some[place]))] for place in places]
                         for some in (self.better, self.worse))
        return better, worse


@dataclass(frozen=True, slots=True)
class Order:
    """For each corpus its dialogues, whose order is what is good about them."""

    dialogues: tuple[Said, ...]

    def __len__(self) -> int:
        return sum(map(len, self.dialogues))

    def draw(self, rng: np.random.Generator) -> tuple[list[Rows], list[Rows]]:
        """Dialogues, and the same with their utterances in another order."""
        places = rng.integers(len(self.dialogues), size=SIZE)
        better = [self.dialogues[place][rng.integers(len(self.dialogues[place]))] for place in places]
        return better, [reordered(one, rng) for one in better]


def reordered(rows: Rows, rng: np.random.Generator) -> Rows:
    """The utterances in an order drawn at random that is another one, if any two differ."""
    found = rng.permutation(rows)
    return np.roll(rows, 1) if (found == rows).all() else found


@dataclass(frozen=True, slots=True)
class Preferences:
    """Every strategy with its pairs to train on and held out, over one table."""

    table: Table
    training: Mapping[str, Sides | Order]
    held: Mapping[str, Sides | Order]
    told: Mapping[str, float | int | str]

    def draw(self, rng: np.random.Generator) -> dict[str, tuple[Any, Any]]:
        """A batch: of each strategy the better and the worse dialogues, (SIZE, T, 2 · width) each."""
        return self._batch(self.training, rng)

    def held_out(self) -> list[dict[str, tuple[Any, Any]]]:
        """Batches of what is held out."""
        return [self._batch(self.held, np.random.default_rng(place)) for place in range(HELD)]

    def _batch(self, some: Mapping[str, Sides | Order], rng: np.random.Generator) -> dict[str, tuple[Any, Any]]:
        found = {}
        for name, strategy in some.items():
            better, worse = strategy.draw(rng)
            both = padded([*better, *worse])
            found[name] = self.table.tensor(both[:SIZE]), self.table.tensor(both[SIZE:])
        return found


def padded(dialogues: Sequence[Rows]) -> Rows:
    """Rows of dialogues as one array (dialogues, longest), 0 behind the last utterance."""
    found = np.zeros((len(dialogues), max(map(len, dialogues))), dtype=np.intp)
    for place, rows in enumerate(dialogues):
        found[place, : len(rows)] = rows
    return found


def preferences(data: TrainingData) -> Preferences:
    """Read all utterances, rate the dialogues, and sort them."""
    whole = [*data.dialogues(), *data.held_out()]
    table = Table((turn.text for one in whole for turn in one.utterances), data.vectors)
    both = [(said(table, data.dialogues(name)), said(table, data.held_out(name))) for name in data.corpora]
    both = [(training, held) for training, held in both if training and held]
    if not both:
        raise MetricError(f"no corpus has dialogues of {SHORTEST} utterances or more, some of them held out; "
                          "take larger ones")
    training, held = [part for part, _ in both], [part for _, part in both]
    rates, told = signals(data, table, training, held)
    found: dict[str, tuple[Sides | Order, Sides | Order]] = {
        "coherence:order": (Order(tuple(training)), Order(tuple(held)))}
    found |= {name: parts for name, rate in rates.items() if (parts := sides(training, held, rate))}
    for dimension in DIMENSIONS:
        if not any(name.startswith(dimension) for name in found):
            raise MetricError(f"nothing to learn {dimension} from: it takes utterances with an emotion, as dailydialog "
                              "has them, or pairs with an inference label, as dialogue_nli_sample has them")
    counts: dict[str, float] = {f"dialogues, {name}": len(parts[0]) for name, parts in found.items()}
    return Preferences(table, {name: parts[0] for name, parts in found.items()},
                       {name: parts[1] for name, parts in found.items()}, counts | told)


def said(table: Table, dialogues: Sequence[Dialogue]) -> Said:
    """The dialogues that are long enough, as the rows of what is said."""
    there = np.asarray(table.vectors.any(axis=1))  # an encoder can find nothing in what is no blank
    rows = [table.rows(turn.text for turn in one.utterances) for one in dialogues if not labelled(one)]
    return tuple(some[there[some]][:LONGEST] for some in rows if there[some].sum() >= SHORTEST)


def sides(training: Sequence[Said], held: Sequence[Said], rate: Rate) -> tuple[Sides, Sides] | None:
    """The highest and the lowest third of each corpus, and what is held out by the same bounds; None for no corpus."""
    found = []
    for own, kept in zip(training, held, strict=True):
        rated, other = rate(own), rate(kept)
        there = rated[np.isfinite(rated)]
        if not there.size or np.ptp(there) == 0:
            continue
        low, high = np.quantile(there, [1 / PARTS, 1 - 1 / PARTS])
        parts = [_where(own, rated >= high), _where(own, rated <= low),
                 _where(kept, other >= high), _where(kept, other <= low)]
        if low < high and all(parts):
            found.append(parts)
    if not found:
        return None
    better, worse, held_better, held_worse = (tuple(column) for column in zip(*found, strict=True))
    return Sides(better, worse), Sides(held_better, held_worse)


def _where(dialogues: Said, chosen: Any) -> Said:
    return tuple(rows for rows, here in zip(dialogues, chosen, strict=True) if here)
