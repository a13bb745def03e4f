"""Training examples: contexts with good and false responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.readings import Pair, spoken
from metrics.training import negatives

MAX_CONTEXT = 20
"""Maximum number of utterances in a context."""
GOOD, ADVERSARIAL, RATED = "positive_responses", "adversarial_negative_responses", "rated_responses"
"""Labels of a dialogue: good responses, false responses that share words with it, and [[text, 1 to 5], ...]."""
Value = TypeVar("Value")


class Contrast(NamedTuple):
    """A right and a wrong input for the network's `output`; a `wrong` of None takes another example's response."""

    right: Any
    wrong: Any = None
    output: int = 0


@dataclass(frozen=True, slots=True)
class LabelledContext:
    """A context with its good, hard false and rated responses."""

    turns: tuple[str, ...]
    good: tuple[str, ...]
    hard: tuple[str, ...] = ()
    rated: tuple[tuple[str, float], ...] = ()


def exchanges(dialogues: Iterable[Dialogue]) -> Iterator[tuple[int, list[str], str]]:
    """Yield the dialogue's index, the context and the response for every utterance but the first; skip blank ones."""
    for number, dialogue in enumerate(dialogues):
        texts = list(spoken(turn.text for turn in dialogue.utterances))
        yield from ((number, texts[:row], texts[row]) for row in range(1, len(texts)))


def response_contrasts(dialogues: Iterable[Dialogue], turns: int = MAX_CONTEXT) -> list[Contrast]:
    """Return every utterance as a response to up to `turns` utterances before it."""
    return [Contrast(Pair(tuple(before[-turns:]), text)) for _, before, text in exchanges(dialogues)]


def labelled_contexts(dialogues: Iterable[Dialogue], turns: int = MAX_CONTEXT) -> list[LabelledContext]:
    """Return the dialogues that are labelled with good responses to their last utterance."""
    rows = []
    for dialogue in dialogues:
        context = spoken(turn.text for turn in dialogue.utterances)
        good, hard = (tuple(dict.fromkeys(spoken(dialogue.labels.get(label, ())))) for label in (GOOD, ADVERSARIAL))
        if good and context:
            rated = tuple((text, float(rating)) for text, rating in dialogue.labels.get(RATED, ()))
            rows.append(LabelledContext(context[-turns:], good, hard, rated))
    return rows


def with_alternatives(dialogues: Iterable[Dialogue], turns: int = MAX_CONTEXT) -> list[LabelledContext]:
    """Return the dialogues with at least two good responses; raise MetricError if there are fewer than two of them."""
    rows = [row for row in labelled_contexts(dialogues, turns) if len(row.good) > 1]
    if len(rows) < 2:
        raise MetricError("the corpora have fewer than two contexts with several good responses (a list of strings "
                          f"named {GOOD}); add dailydialog_pp")
    return rows


def intact_or_corrupted(dialogues: Iterable[Dialogue], count: int, rng: np.random.Generator,
                        share: float) -> list[tuple[str, float]]:
    """Return up to `count` replies with label 1, a `share` without stop words, and corrupted copies with 0."""
    texts = sample_replies(dialogues, count, rng)
    corrupted = [pick((negatives.reordered, negatives.dropped, negatives.repeated), rng)(text, rng) for text in texts]
    intact = [negatives.without_stop_words(text, rng) if rng.random() < share else text for text in texts]
    return [*((text, 1.0) for text in intact),
            *((changed, 0.0) for changed, text in zip(corrupted, texts, strict=True) if changed != text)]


def sample_replies(dialogues: Iterable[Dialogue], count: int, rng: np.random.Generator) -> list[str]:
    """Return up to `count` random, distinct replies of at least three words."""
    replies = list(dict.fromkeys(turn.text for dialogue in dialogues for turn in dialogue.utterances[1:]
                                 if len(turn.text.split()) > 2))
    return [replies[row] for row in rng.permutation(len(replies))[:count]]


def pick(values: Sequence[Value], rng: np.random.Generator) -> Value:
    return values[int(rng.integers(len(values)))]
