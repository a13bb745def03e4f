"""FineD-Eval (Zhang et al. 2022): coherence, likability and topic depth of a whole dialogue, and their mean.

Each sub-metric learns to prefer the better of two dialogues, max(0, −(s₊ − s₋) + 0.1), from pairs made without any
human rating: utterances in order against shuffled, questions answered well against badly; few contradictions against
many, positive sentiment against none; utterances that follow from those before against such that do not, rare words
against common ones. The ensemble is the mean of the three scores; in `fined-eval-multitask` the three share a reader.

The recipe `paper` reads a dialogue as one sequence with RoBERTa, </UTT> behind each utterance: the mean of its
second-to-last layer's states, a linear layer, a sigmoid.

Departures of `small`. The run's encoder is frozen and reads each utterance alone, and a small network of convolutions
reads those, its states averaged. As it reads each dialogue alone, the loss is the same for both orders of a pair, and
one is drawn. The judges that choose the pairs are small heads on the same vectors in place of pre-trained ones:
inference from DialogueNLI, sentiment from the emotions of DailyDialog and Topical-Chat, answers from questions and
answers of the corpora; specificity is NIDF. A pair is of one corpus, from its highest and its lowest third, and five
corpora take turns instead of two; of a dialogue of more than 20 utterances the first 20 are trained on. The second
strategy of likability and those of topic depth stand in a part of the paper that was not at hand, and were chosen here.
The strategies:

    coherence:order          a dialogue, and the same with its utterances in another order
    coherence:answers        the mean over its questions of how well they are answered
    likability:agreement     the mean over utterances and the two before them of 1 − P(contradiction)
    likability:sentiment     the mean over its utterances of P(positive)
    topic-depth:entailment   the mean over utterances and the four before them of P(the one follows from the other)
    topic-depth:specificity  the mean over its utterances of how rare their words are

All but the first rate whole dialogues by a signal, with the judges of judges.py: the highest third of a corpus is
better than the lowest third of the same corpus, so that the corpus does not decide which is better. A strategy that no
corpus has labels for, or for which no dialogue qualifies, is left out, and the checkpoint's card says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Column, Columns, MetricCard, checkpoints
from metrics.models.readings import dialogues
from metrics.models.service import Models
from metrics.models.text_table import Rows, TextTable
from metrics.text.keywords import STOP_WORDS
from metrics.text.words import words
from metrics.training.examples import FIVE, Contrast
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

CORPORA = (*FIVE, "dialogue_nli_sample")
DIMENSIONS = ("coherence", "likability", "topic-depth")
SHORTEST = 4
"""Utterances of the shortest training dialogue."""
ANSWERED = 5
"""Utterances that a dialogue must have for its answers to be judged."""
PAIRS, HELD_OUT = 20_000, 1_000
"""Pairs of dialogues of a dimension, to train on and held out."""
PARTS = 3
"""A third of the dialogues is better, a third worse."""
SMALL = Recipe(CORPORA, steps=1_200, rate=2e-3, every=100, batch=48, margin=0.1, architecture="dialogue-convolution",
               examples={"near": 2, "far": 4, "sign": 1, "rare": True, "longest": 20})
PAPER = Recipe(
    ("dailydialog", "dialogue_nli_sample"), steps=9_375, rate=1e-5, warmup=0.0, every=2_000, patience=10,
    schedule="constant", encoder="roberta-base", batch=32, length=256, margin=0.1,
    architecture="cross-encoder",
    network={"pooling": "mean", "token_dropout": 0.2, "dropout": 0.0, "above": 1, "separator": True},
    examples={"near": 1, "far": 1, "sign": -1, "rare": False, "longest": None}, departures=(
        "Judges of answers, inference and sentiment are heads on the encoder's vectors in place of pretrained models.",
        "Thresholds are the highest and lowest third of the ratings; the two strategies of a dimension take turns.",
        "The mean over tokens leaves padding out, over which the released code averages too.",
        "The weights kept are those of the least held-out loss, not of the most pairs in order.",
        "The token between utterances begins as the mean of all others, not at random."))
"""Three epochs of 100,000 pairs of dialogues, as in the released code."""

Dialogues: TypeAlias = tuple[Rows, ...]
"""Dialogues as rows of a table."""
Rate: TypeAlias = Callable[[Dialogues], Column]
"""A value for each dialogue, higher is better; NaN where it has none."""


@dataclass(frozen=True, slots=True)
class FinedEvaluation(Trainable):
    """The mean of three sub-metrics, and the three."""

    card: ClassVar[MetricCard] = MetricCard(
        name="fined-eval", title="FineD-Eval (ensemble)",
        columns=("fined-eval", "fined-eval-coherence", "fined-eval-likability", "fined-eval-topic-depth"),
        family="trained", levels=("turn", "dialogue"), models=("encoder",),
        checkpoints=("fined-eval-coherence", "fined-eval-likability", "fined-eval-topic-depth"),
        paper="https://aclanthology.org/2022.emnlp-main.220", trained_on=", ".join(CORPORA),
        notes="Of a response it reads the context and the response; needs two utterances.",
        system="another method", fitted_on="dialogues",
        departures=(
            "A convolution over frozen utterance vectors in place of a RoBERTa over all tokens.",
            "Judges of answers, inference and sentiment are heads on the same vectors in place of pretrained models.",
            "The second strategy of likability and both of topic depth were chosen here; five corpora in place of two.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        name: dataclasses.replace(recipe, parts={dimension: {} for dimension in DIMENSIONS})
        for name, recipe in (("small", SMALL), ("paper", PAPER))}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return four columns, 0 to 1; NaN for fewer than two utterances, or a response without words."""
        name, *dimensions = self.card.columns
        readings = dialogues(items)
        scores = np.column_stack([models.scorer(weights, self.encoder).probabilities(readings)
                                  for weights in checkpoints(self)])
        return {name: scores.mean(1), **dict(zip(dimensions, scores.T, strict=True))}

    def objective(self, data: TrainingData) -> Objective:
        """Prefer the better dialogue, in the dimension of this part or in one of three."""
        from metrics.training.objectives import contrast

        table, strategies, report = prepared(data)
        objective = contrast(data, *(preferences(data, table, strategies, part) for part in (0, 1)))
        return dataclasses.replace(objective, notes=lambda network: {**report, **objective.notes(network)})


@dataclass(frozen=True, slots=True)
class Sides:
    """For each corpus the better and the worse dialogues; without `worse` those are the better ones shuffled."""

    better: tuple[Dialogues, ...]
    worse: tuple[Dialogues, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, (*self.better, *self.worse)))

    def draw(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Return two dialogues of one corpus, every corpus as often as the others."""
        corpus = int(rng.integers(len(self.better)))
        better = self.better[corpus][rng.integers(len(self.better[corpus]))]
        if self.worse:
            return better, self.worse[corpus][rng.integers(len(self.worse[corpus]))]
        return better, reordered(better, rng)


def reordered(rows: Rows, rng: np.random.Generator) -> Rows:
    """Return the utterances in another order, if any two differ."""
    order = rng.permutation(rows)
    return np.roll(rows, 1) if (order == rows).all() else order


def preferences(data: TrainingData, table: TextTable, strategies: Mapping[str, tuple[Sides, Sides]],
                part: int) -> list[Contrast]:
    """Return pairs of dialogues to train on (part 0) or held out (part 1), each strategy of a dimension as often."""
    texts, rng, examples = table.texts, data.rng, []
    for output, dimension in enumerate([data.part] if data.part else DIMENSIONS):
        sides = [both[part] for name, both in strategies.items() if name.startswith(dimension)]
        for number in range((PAIRS, HELD_OUT)[part]):
            better, worse = (tuple(texts[row] for row in rows) for rows in sides[number % len(sides)].draw(rng))
            examples.append(Contrast(better, worse, output))
    return examples


def prepared(data: TrainingData) -> tuple[TextTable, dict[str, tuple[Sides, Sides]], dict[str, float]]:
    """Return all utterances, the rated and sorted dialogues of each strategy, and notes for the checkpoint's card."""
    whole = [*data.dialogues(), *data.held_out()]
    table = TextTable((turn.text for dialogue in whole for turn in dialogue.utterances), data.vectors)
    longest = data.recipe.examples["longest"]
    corpora = [(long_enough(table, data.dialogues(name), longest), long_enough(table, data.held_out(name), longest))
               for name in data.corpora]
    corpora = [(training, held) for training, held in corpora if training and held]
    if not corpora:
        raise MetricError(f"the corpora have no dialogues of {SHORTEST} utterances or more, some of them held out; "
                          "take larger ones")
    training, held = zip(*corpora, strict=True)
    rates, report = signals(data, table, training, held)
    strategies = {"coherence:order": (Sides(tuple(training)), Sides(tuple(held)))}
    strategies |= {name: parts for name, rate in rates.items() if (parts := sides(training, held, rate))}
    for dimension in DIMENSIONS:
        if not any(name.startswith(dimension) for name in strategies):
            raise MetricError(f"nothing to learn {dimension} from: it takes utterances with an emotion, as dailydialog "
                              "has them, or pairs with an inference label, as dialogue_nli_sample has them")
    counts: dict[str, float] = {f"dialogues, {name}": len(parts[0]) for name, parts in strategies.items()}
    return table, strategies, counts | report


def long_enough(table: TextTable, dialogues: Sequence[Dialogue], longest: int | None) -> Dialogues:
    """Return the dialogues of SHORTEST utterances or more, as rows, of each the first `longest`."""
    from metrics.trained.fined_eval.judges import is_inference

    rows = [table.spoken(turn.text for turn in dialogue.utterances) for dialogue in dialogues
            if not is_inference(dialogue)]
    return tuple(dialogue[:longest] for dialogue in rows if len(dialogue) >= SHORTEST)


def sides(training: Sequence[Dialogues], held: Sequence[Dialogues], rate: Rate) -> tuple[Sides, Sides] | None:
    """The highest and the lowest third of each corpus, and the held-out ones by the same bounds; None for no corpus."""
    corpora = []
    for own in zip(training, held, strict=True):
        values = [rate(dialogues) for dialogues in own]
        finite = values[0][np.isfinite(values[0])]
        if not finite.size or np.ptp(finite) == 0:
            continue
        low, high = np.quantile(finite, [1 / PARTS, 1 - 1 / PARTS])
        parts = [tuple(dialogues[row] for row in np.flatnonzero(chosen))
                 for dialogues, rated in zip(own, values, strict=True) for chosen in (rated >= high, rated <= low)]
        if low < high and all(parts):
            corpora.append(parts)
    if not corpora:
        return None
    better, worse, held_better, held_worse = (tuple(column) for column in zip(*corpora, strict=True))
    return Sides(better, worse), Sides(held_better, held_worse)


def signals(data: TrainingData, table: TextTable, training: Sequence[Dialogues], held: Sequence[Dialogues],
            ) -> tuple[dict[str, Rate], dict[str, float]]:
    """Return how each strategy rates dialogues, where a corpus has labels for it, and the accuracy of its judge."""
    from metrics.trained.fined_eval import judges

    near, far, sign = (data.recipe.examples[name] for name in ("near", "far", "sign"))
    texts = table.texts
    asks = np.array(["?" in text for text in texts])
    pairs = [np.concatenate([questions(rows, asks) for dialogues in part for rows in dialogues])
             for part in (training, held)]
    rates: dict[str, Rate] = {}
    accuracies: dict[str, float] = {}
    if answers := judges.answers(data, table, *pairs):
        rates["coherence:answers"] = lambda dialogues: mean_of(
            dialogues, lambda rows: questions(rows if len(rows) >= ANSWERED else rows[:0], asks), answers)
        accuracies["questions"] = answers.accuracy
    if inference := judges.inference(data, table):
        rates["likability:agreement"] = lambda dialogues: mean_of(
            dialogues, lambda rows: before(rows, near), lambda *pair: 1 - inference(*pair)[:, 2])
        rates["topic-depth:entailment"] = lambda dialogues: mean_of(
            dialogues, lambda rows: before(rows, far), lambda *pair: sign * inference(*pair)[:, 0])
        accuracies["inference"] = inference.accuracy
    if sentiment := judges.sentiment(data, table):
        positive = sentiment(np.arange(len(texts)))
        rates["likability:sentiment"] = lambda dialogues: np.array([positive[rows].mean() for rows in dialogues])
        accuracies["sentiment"] = sentiment.accuracy
    if data.recipe.examples["rare"]:
        rare = specificity(texts)
        rates["topic-depth:specificity"] = lambda dialogues: np.array([rare[rows].mean() for rows in dialogues])
    return rates, {f"accuracy of the judge of {name} on what is held out": round(value, 4)
                   for name, value in accuracies.items()}


def questions(rows: Rows, asks: npt.NDArray[np.bool_]) -> Rows:
    """Each question of a dialogue that is not followed by another, with the next utterance: (pairs, 2)."""
    here = asks[rows[:-1]] & ~asks[rows[1:]]
    return np.stack([rows[:-1][here], rows[1:][here]], -1)


def before(rows: Rows, window: int) -> Rows:
    """Each utterance but the first with each of the `window` before it, that one first: (pairs, 2)."""
    steps = range(1, min(window, len(rows) - 1) + 1)
    return np.concatenate([rows[:0].reshape(0, 2), *(np.stack([rows[:-back], rows[back:]], -1) for back in steps)])


def mean_of(dialogues: Dialogues, pairs: Callable[[Rows], Rows],
            judge: Callable[..., npt.NDArray[np.floating]]) -> Column:
    """The mean over a dialogue's pairs of the judge's values; NaN where it has no pairs."""
    by_dialogue = [pairs(rows) for rows in dialogues]
    counts = np.array([len(some) for some in by_dialogue])
    values = judge(*np.concatenate(by_dialogue).T) if counts.sum() else np.zeros(0)
    sums = np.bincount(np.repeat(np.arange(len(dialogues)), counts), values, minlength=len(dialogues))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def specificity(texts: Iterable[str]) -> Column:
    """The mean normalised inverse frequency of each text's words but function words (NIDF, See et al. 2019), 0 to 1."""
    content = [set(words(text)) - STOP_WORDS for text in texts]
    counts = Counter(word for some in content for word in some)
    if len(set(counts.values())) < 2:
        return np.zeros(len(content))
    most = math.log(max(counts.values()))
    rare = {word: 1 - math.log(count) / most for word, count in counts.items()}
    return np.array([sum(rare[word] for word in some) / len(some) if some else 0.0 for some in content])
