"""Training examples: contexts with good responses, and false responses to compare them with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.readings import Pair, spoken
from metrics.training import negatives

FIVE = ("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia")
"""The corpora of the metrics that need nothing but dialogues."""
WHOLE = 20
"""Utterances before a response, at most."""
GOOD, ADVERSARIAL, RATED = "positive_responses", "adversarial_negative_responses", "rated_responses"
"""Labels of a dialogue: good responses, false ones that share words with it, and [[text, 1 to 5], ...]."""
Value = TypeVar("Value")


class Contrast(NamedTuple):
    """A right and a wrong reading, told apart by the network's `output`; None stands for another example's response."""

    right: Any
    wrong: Any = None
    output: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """A context with its good responses, its hard false ones and its rated ones."""

    turns: tuple[str, ...]
    good: tuple[str, ...]
    hard: tuple[str, ...] = ()
    rated: tuple[tuple[str, float], ...] = ()


def exchanges(dialogues: Iterable[Dialogue]) -> Iterator[tuple[int, list[str], str]]:
    """Yield each utterance that is not blank and not first, with those before it and the number of its dialogue."""
    for number, dialogue in enumerate(dialogues):
        said = list(spoken(turn.text for turn in dialogue.utterances))
        yield from ((number, said[:row], said[row]) for row in range(1, len(said)))


def following(dialogues: Iterable[Dialogue], turns: int = WHOLE) -> list[Contrast]:
    """Return each utterance after the `turns` before it."""
    return [Contrast(Pair(tuple(before[-turns:]), text)) for _, before, text in exchanges(dialogues)]


def answered(dialogues: Iterable[Dialogue], turns: int = WHOLE) -> list[Answered]:
    """Return the dialogues that list good responses in addition to their utterances."""
    rows = []
    for dialogue in dialogues:
        said = spoken(turn.text for turn in dialogue.utterances)
        good, hard = (tuple(dict.fromkeys(spoken(dialogue.labels.get(label, ())))) for label in (GOOD, ADVERSARIAL))
        if good and said:
            rated = tuple((text, float(rating)) for text, rating in dialogue.labels.get(RATED, ()))
            rows.append(Answered(said[-turns:], good, hard, rated))
    return rows


def several(dialogues: Iterable[Dialogue], turns: int = WHOLE) -> list[Answered]:
    """Return the dialogues that have two or more good responses; MetricError without any."""
    rows = [row for row in answered(dialogues, turns) if len(row.good) > 1]
    if len(rows) < 2:
        raise MetricError(f"the corpora have fewer than two contexts with several good responses ({GOOD}, a list of "
                          "texts beside the utterances); take dailydialog_pp as well")
    return rows


def whole_or_broken(dialogues: Iterable[Dialogue], count: int, rng: np.random.Generator,
                    share: float) -> list[tuple[str, float]]:
    """Return up to `count` responses with label 1, a share of them without stop words, and corrupted with label 0."""
    texts = some_replies(dialogues, count, rng)
    broken = [drawn((negatives.reordered, negatives.dropped, negatives.repeated), rng)(text, rng) for text in texts]
    whole = [negatives.without_stop_words(text, rng) if rng.random() < share else text for text in texts]
    return [*((text, 1.0) for text in whole),
            *((changed, 0.0) for changed, text in zip(broken, texts, strict=True) if changed != text)]


def some_replies(dialogues: Iterable[Dialogue], count: int, rng: np.random.Generator) -> list[str]:
    """Return up to `count` distinct utterances that answer another, three words long or longer."""
    replies = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.utterances[1:]
                                 if len(turn.text.split()) > 2))
    return [replies[row] for row in rng.permutation(len(replies))[:count]]


def drawn(values: Sequence[Value], rng: np.random.Generator) -> Value:
    """Return one of the values at random."""
    return values[int(rng.integers(len(values)))]
