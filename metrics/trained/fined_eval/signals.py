"""What FineD-Eval's dialogues are rated by, before the best and the worst of them become training pairs.

    coherence:answers        the mean over its questions of how well they are answered
    likability:agreement     the mean over utterances and those near before them of 1 − P(contradiction)
    likability:sentiment     the mean over its utterances of P(positive)
    topic-depth:entailment   the mean over utterances and those before them of P(the one follows from the other)
    topic-depth:specificity  the mean over its utterances of how rare their words are
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from metrics.metric import Column
from metrics.text.words import words
from metrics.trained.heads.pairs import Rows, Table
from metrics.training.negatives import STOP_WORDS
from metrics.training.recipe import TrainingData

if TYPE_CHECKING:
    from metrics.trained.fined_eval.judges import Judged

INFERENCES = ("entailment", "neutral", "contradiction")
"""The labels of a pair of sentences, as DialogueNLI (Welleck et al. 2019) has them."""
ANSWERED = 5
"""Utterances that a dialogue must have for its answers to be judged: more than four."""
WINDOW = 4
"""From how many utterances before it an utterance may follow."""

Said: TypeAlias = tuple[Rows, ...]
"""Dialogues as rows of a table."""
Rate: TypeAlias = Callable[[Said], Column]
"""A value for each dialogue, higher is better; NaN where it has none."""


def signals(data: TrainingData, table: Table, training: Sequence[Said], held: Sequence[Said],
            ) -> tuple[dict[str, Rate], dict[str, float]]:
    """How each strategy rates dialogues, where there is what it learns from, and how good its judge is."""
    from metrics.trained.fined_eval import judges

    texts = _texts(data, table)
    asks = np.array(["?" in text for text in texts])
    asked = [np.concatenate([questions(rows, asks) for said in some for rows in said]) for some in (training, held)]
    found: dict[str, Rate] = {}
    told: dict[str, float] = {}
    if judge := judges.answers(data, table, *asked):
        found["coherence:answers"] = _answers(judge, table, asks)
        told["questions"] = judge.accuracy
    if judge := judges.entailments(data, table):
        found["likability:agreement"] = _agreement(judge, table)
        found["topic-depth:entailment"] = _entailment(judge, table)
        told["inference"] = judge.accuracy
    if judge := judges.sentiments(data, table):
        likely = judges.positive(judge, table, np.arange(len(texts)))
        found["likability:sentiment"] = lambda said: np.array([likely[rows].mean() for rows in said])
        told["sentiment"] = judge.accuracy
    rare = specificity(texts)
    found["topic-depth:specificity"] = lambda said: np.array([rare[rows].mean() for rows in said])
    return found, {f"accuracy of the judge of {name} on what is held out": round(value, 4)
                   for name, value in told.items()}


def labelled(dialogue: Dialogue) -> bool:
    """Whether this is a pair of sentences with a label of inference, and no dialogue."""
    return dialogue.labels.get("label") in INFERENCES and len(dialogue.utterances) > 1


def _texts(data: TrainingData, table: Table) -> list[str]:
    """The text of each row of the table."""
    found = [""] * len(table.vectors)
    for one in (*data.dialogues(), *data.held_out()):
        said = [turn.text for turn in one.utterances]
        for row, text in zip(table.rows(said).tolist(), said, strict=True):
            found[row] = text if row else ""
    return found


def _answers(judge: Judged, table: Table, asks: npt.NDArray[np.bool_]) -> Rate:
    from metrics.trained.fined_eval.judges import answered

    def pairs(rows: Rows) -> Rows:
        return questions(rows if len(rows) >= ANSWERED else rows[:0], asks)

    return lambda said: mean_of(said, pairs, lambda found: answered(judge, table, *found.T))


def _agreement(judge: Judged, table: Table) -> Rate:
    from metrics.trained.fined_eval.judges import inferred

    return lambda said: mean_of(said, lambda rows: before(rows, 2),
                                lambda found: 1 - inferred(judge, table, *found.T)[:, 2])


def _entailment(judge: Judged, table: Table) -> Rate:
    from metrics.trained.fined_eval.judges import inferred

    return lambda said: mean_of(said, lambda rows: before(rows, WINDOW),
                                lambda found: inferred(judge, table, *found.T)[:, 0])


def questions(rows: Rows, asks: npt.NDArray[np.bool_]) -> Rows:
    """Each question of a dialogue that is followed by what is none, with what follows: (pairs, 2)."""
    here = asks[rows[:-1]] & ~asks[rows[1:]]
    return np.stack([rows[:-1][here], rows[1:][here]], -1)


def before(rows: Rows, window: int) -> Rows:
    """Each utterance but the first with each of the few before it, that one first: (pairs, 2)."""
    steps = range(1, min(window, len(rows) - 1) + 1)
    return np.concatenate([rows[:0].reshape(0, 2), *(np.stack([rows[:-back], rows[back:]], -1) for back in steps)])


def mean_of(said: Said, pairs: Callable[[Rows], Rows], judge: Callable[[Rows], npt.NDArray[np.floating]]) -> Column:
    """The mean over a dialogue's pairs of what the judge says of them; NaN where it has none."""
    found = [pairs(rows) for rows in said]
    counts = np.array([len(some) for some in found])
    values = judge(np.concatenate(found)) if counts.sum() else np.zeros(0)
    sums = np.bincount(np.repeat(np.arange(len(said)), counts), values, minlength=len(said))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def specificity(texts: Iterable[str]) -> Column:
    """The mean normalised inverse frequency of each text's words but function words (NIDF, See et al. 2019), 0 to 1."""
    kept = [set(words(text)) - STOP_WORDS for text in texts]
    counts = Counter(word for some in kept for word in some)
    if len(set(counts.values())) < 2:
        return np.zeros(len(kept))
    most = math.log(max(counts.values()))
    rare = {word: 1 - math.log(count) / most for word, count in counts.items()}
    return np.array([sum(rare[word] for word in some) / len(some) if some else 0.0 for some in kept])
