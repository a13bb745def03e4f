"""Replies of dialogues with what was said before them, as texts: what transformers are trained on from their tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError

WHOLE = 20
"""Utterances before a reply, at most, where its whole context is read."""
GOOD, ADVERSARIAL = "positive_responses", "adversarial_negative_responses"
"""The labels of a dialogue that hold good replies to it, and false ones that share words with it."""
RATED = "rated_responses"
"""The label that holds replies to a dialogue with what people gave them, [[text, 1 to 5], ...]."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was said, the good replies to it, and where it has some false ones that are hard to tell, rated ones."""

    turns: tuple[str, ...]
    good: tuple[str, ...]
    hard: tuple[str, ...] = ()
    rated: tuple[tuple[str, float], ...] = ()

    def context(self, turns: int = 0) -> str:
        """The last turns as one text; all of them where `turns` is 0."""
        return " ".join(self.turns[-turns:])


def exchanges(dialogues: Iterable[Dialogue]) -> Iterator[tuple[int, list[str], str]]:
    """Each utterance that has some before it, with these and the number of its dialogue; those that hold words."""
    for number, dialogue in enumerate(dialogues):
        said = [turn.text for turn in dialogue.utterances if turn.text.strip()]
        yield from ((number, said[:place], said[place]) for place in range(1, len(said)))


def answered(dialogues: Iterable[Dialogue], turns: int, least: int = 0) -> list[Answered]:
    """Each utterance with up to `turns` before it, and each dialogue with the good replies that its corpus has.

    With `least` only those with so many good replies.
    """
    several = []
    for dialogue in dialogues:
        said = [turn.text for turn in dialogue.utterances if turn.text.strip()]
        good, hard = (tuple(text for text in dialogue.labels.get(label, ()) if text.strip())
                      for label in (GOOD, ADVERSARIAL))
        if good and said:
            rated = tuple((text, float(rating)) for text, rating in dialogue.labels.get(RATED, ()))
            several.append(Answered(tuple(said[-turns:]), good, hard, rated))
        several += [Answered(tuple(said[max(0, place - turns) : place]), (said[place],))
                    for place in range(1, len(said))]
    chosen = [one for one in several if len(one.good) >= least]
    if len(chosen) < 2:
        raise MetricError("the corpora have fewer than two replies" + (
            f" with {least} good ones to the same context; take dailydialog_pp as well" if least else
            "; take larger ones"))
    return chosen


def against_others(rows: Sequence[Answered], rng: np.random.Generator, many: int) -> list[Any]:
    """Pairs at random, each of a context with a good reply and the same context with that of another row."""
    chosen = rng.integers(len(rows), size=many)
    false = others(rows, chosen, rng)
    right = [rows[row].good[int(rng.integers(len(rows[row].good)))] for row in chosen]
    return [((rows[row].context(), own), (rows[row].context(), other))
            for row, own, other in zip(chosen, right, false, strict=True)]


def others(rows: Sequence[Answered], chosen: np.ndarray[tuple[int], np.dtype[np.intp]],
           rng: np.random.Generator) -> list[str]:
    """For each chosen row a good reply of another row, drawn at random."""
    far = (chosen + rng.integers(1, len(rows), size=len(chosen))) % len(rows)
    return [rows[row].good[int(rng.integers(len(rows[row].good)))] for row in far]
