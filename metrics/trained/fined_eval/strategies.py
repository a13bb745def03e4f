"""Training pairs of FineD-Eval: the better and worse dialogues of each strategy of the recipe `small`.

    coherence:order          a dialogue, and the same utterances in a different order
    coherence:answers        the mean over questions of how well they are answered
    likability:agreement     the mean of 1 − P(contradiction) over utterances and the two before them
    likability:sentiment     the mean of P(positive) over utterances
    topic-depth:entailment   the mean of P(entailment) over utterances and the four before them
    topic-depth:specificity  the mean rarity of the words of the utterances

All but the first rate dialogues, by word counts or with the judges of judges.py: the highest third of a corpus is
better than the lowest third. A strategy is left out if no corpus has labels for it or no dialogue qualifies; the
checkpoint's card counts the dialogues of each strategy used. The second strategy of likability and those of topic depth
are this project's choice; that part of the paper was not available.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.metric import Column
from metrics.models.text_table import Rows, TextTable
from metrics.text.keywords import STOP_WORDS
from metrics.text.words import words
from metrics.training.recipe import TrainingData

DIMENSIONS = ("coherence", "likability", "topic-depth")
MIN_UTTERANCES = 4
"""Minimum number of utterances in a training dialogue."""
MIN_JUDGED_UTTERANCES = 5
"""Minimum number of utterances in a dialogue whose answers are judged."""

Dialogues: TypeAlias = tuple[Rows, ...]
"""Dialogues as rows of a table."""
Rate: TypeAlias = Callable[[Dialogues], Column]
"""A function that returns a value for each dialogue, higher for better; NaN if it cannot be rated."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The better and the worse dialogues of each corpus; if `worse` is empty, shuffled copies are the worse ones."""

    better: tuple[Dialogues, ...]
    worse: tuple[Dialogues, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, (*self.better, *self.worse)))

    def draw(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Return a better and a worse dialogue of a random corpus."""
        corpus = int(rng.integers(len(self.better)))
        better = self.better[corpus][rng.integers(len(self.better[corpus]))]
        if self.worse:
            return better, self.worse[corpus][rng.integers(len(self.worse[corpus]))]
        order = rng.permutation(better)
        return better, np.roll(better, 1) if (order == better).all() else order


def prepare(data: TrainingData) -> tuple[TextTable, dict[str, tuple[Sides, Sides]]]:
    """Return all utterances, and the training and held-out dialogues of each strategy."""
    table = TextTable((turn.text for dialogue in (*data.dialogues(), *data.held_out())
                       for turn in dialogue.utterances), data.vectors)
    corpora = [dialogues for name in data.corpora if all(dialogues := (
        long_enough(table, data, data.dialogues(name)), long_enough(table, data, data.held_out(name))))]
    if not corpora:
        raise MetricError(f"no corpus has both training and held-out dialogues of at least {MIN_UTTERANCES} "
                          "utterances; use larger corpora")
    training, held_out = zip(*corpora, strict=True)
    rates = rating_functions(data, table, training, held_out)
    strategies = {"coherence:order": (Sides(training), Sides(held_out))}
    strategies |= {name: split for name, rate in rates.items() if (split := sides(training, held_out, rate))}
    for dimension in DIMENSIONS:
        if not any(name.startswith(dimension) for name in strategies):
            emotions = "emotion labels (dailydialog) or " if dimension == "likability" else ""
            raise MetricError(f"no training data for {dimension}: add a corpus with {emotions}inference labels "
                              "(dialogue_nli_sample)")
    data.notes |= {f"dialogues, {name}": len(split[0]) for name, split in strategies.items()}
    return table, strategies


def long_enough(table: TextTable, data: TrainingData, dialogues: Sequence[Dialogue]) -> Dialogues:
    """Return the dialogues of at least MIN_UTTERANCES as rows, truncated to the recipe's maximum length."""
    from metrics.trained.fined_eval.judges import is_inference

    rows = [table.nonzero_rows(turn.text for turn in dialogue.utterances) for dialogue in dialogues
            if not is_inference(dialogue)]
    longest = data.recipe.examples.get("longest")
    return tuple(dialogue[:longest] for dialogue in rows if len(dialogue) >= MIN_UTTERANCES)


def sides(training: Sequence[Dialogues], held_out: Sequence[Dialogues], rate: Rate) -> tuple[Sides, Sides] | None:
    """Return the top and bottom third of each corpus, with the same bounds for held-out dialogues; None if empty."""
    corpora = []
    for corpus in zip(training, held_out, strict=True):
        values = [rate(dialogues) for dialogues in corpus]
        finite = values[0][np.isfinite(values[0])]
        if not finite.size or np.ptp(finite) == 0:
            continue
        low, high = np.quantile(finite, [1 / 3, 2 / 3])
        parts = [tuple(dialogues[row] for row in np.flatnonzero(chosen))
                 for dialogues, rated in zip(corpus, values, strict=True) for chosen in (rated >= high, rated <= low)]
        if low < high and all(parts):
            corpora.append(parts)
    if not corpora:
        return None
    better, worse, held_better, held_worse = zip(*corpora, strict=True)
    return Sides(better, worse), Sides(held_better, held_worse)


def rating_functions(data: TrainingData, table: TextTable, training: Sequence[Dialogues],
                     held_out: Sequence[Dialogues]) -> dict[str, Rate]:
    """Return the rating functions of the strategies with labels in a corpus; record the accuracy of their judges."""
    from metrics.trained.fined_eval import judges

    agreement_window, entailment_window, sign = (data.recipe.examples[name] for name in ("near", "far", "sign"))
    asks = np.array(["?" in text for text in table.texts])
    pairs = [np.concatenate([questions(rows, asks) for dialogues in split for rows in dialogues])
             for split in (training, held_out)]
    rates: dict[str, Rate] = {}
    if answers := judges.train_answer_judge(data, table, *pairs):
        rates["coherence:answers"] = lambda dialogues: mean_of(
            dialogues, lambda rows: questions(rows if len(rows) >= MIN_JUDGED_UTTERANCES else rows[:0], asks), answers)
    if inference := judges.train_inference_judge(data, table):
        rates["likability:agreement"] = lambda dialogues: mean_of(
            dialogues, lambda rows: earlier_pairs(rows, agreement_window), lambda *pair: 1 - inference(*pair)[:, 2])
        rates["topic-depth:entailment"] = lambda dialogues: mean_of(
            dialogues, lambda rows: earlier_pairs(rows, entailment_window), lambda *pair: sign * inference(*pair)[:, 0])
    if sentiment := judges.train_sentiment_judge(data, table):
        positive = sentiment(np.arange(len(asks)))
        rates["likability:sentiment"] = lambda dialogues: np.array([positive[rows].mean() for rows in dialogues])
    if data.recipe.examples["rare"]:
        rarity = specificity(table.texts)
        rates["topic-depth:specificity"] = lambda dialogues: np.array([rarity[rows].mean() for rows in dialogues])
    data.notes |= {f"held-out accuracy of the judge of {name}": round(judge.accuracy, 4)
                   for name, judge in (("questions", answers), ("inference", inference), ("sentiment", sentiment))
                   if judge}
    return rates


def questions(rows: Rows, asks: npt.NDArray[np.bool_]) -> Rows:
    """Return each question that is not followed by a question, with the next utterance: (pairs, 2)."""
    answered = asks[rows[:-1]] & ~asks[rows[1:]]
    return np.stack([rows[:-1][answered], rows[1:][answered]], -1)


def earlier_pairs(rows: Rows, window: int) -> Rows:
    """Return pairs of an earlier utterance and one up to `window` positions after it: (pairs, 2)."""
    steps = range(1, min(window, len(rows) - 1) + 1)
    return np.concatenate([rows[:0].reshape(0, 2), *(np.stack([rows[:-back], rows[back:]], -1) for back in steps)])


def mean_of(dialogues: Dialogues, pairs: Callable[[Rows], Rows],
            judge: Callable[..., npt.NDArray[np.floating]]) -> Column:
    """Return the mean of the judge's values over each dialogue's pairs; NaN without pairs."""
    by_dialogue = [pairs(rows) for rows in dialogues]
    counts = np.array([len(rows) for rows in by_dialogue])
    values = judge(*np.concatenate(by_dialogue).T) if counts.sum() else np.zeros(0)
    sums = np.bincount(np.repeat(np.arange(len(dialogues)), counts), values, minlength=len(dialogues))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def specificity(texts: Iterable[str]) -> Column:
    """Return the mean normalised inverse frequency of each text's content words (NIDF, See et al. 2019), 0 to 1."""
    content = [set(words(text)) - STOP_WORDS for text in texts]
    counts = Counter(word for text in content for word in text)
    if len(set(counts.values())) < 2:
        return np.zeros(len(content))
    largest = math.log(max(counts.values()))
    rarity = {word: 1 - math.log(count) / largest for word, count in counts.items()}
    return np.array([sum(rarity[word] for word in text) / len(text) if text else 0.0 for text in content])
