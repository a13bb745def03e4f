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

All but the first rate whole dialogues by a signal, with the judges of network.py: the highest third of a corpus is
better than the lowest third of the same corpus, so that the corpus does not decide which is better. A strategy that no
corpus has labels for, or for which no dialogue qualifies, is left out, and the checkpoint's card says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Column, Columns, MetricCard
from metrics.models.service import Models
from metrics.text.keywords import STOP_WORDS
from metrics.text.words import words
from metrics.trained.heads.cross_encoder import head_probabilities
from metrics.trained.heads.data import TrainingBatches
from metrics.trained.heads.table import (
    FIVE,
    Rows,
    TextTable,
    by_length,
    padded,
    probabilities,
    raw_scores,
    reading,
    stable,
)
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

CORPORA = (*FIVE, "dialogue_nli_sample")
TOGETHER = 4096
"""Utterances, padding included, that are read at a time."""
SHORTEST, LONGEST = 4, 20
"""Utterances of a training dialogue: a shorter one is left out, of a longer one the beginning is read."""
ANSWERED = 5
"""Utterances that a dialogue must have for its answers to be judged: more than four."""
SIZE = 24
"""Pairs of each strategy in a batch."""
HELD = 8
"""Batches that are held out."""
PARTS = 3
"""A third of the dialogues is better, a third worse."""

READ = 512
"""Tokens of a dialogue that the paper's network reads when it scores: the last ones."""
PAPER = Recipe(
    ("dailydialog", "dialogue_nli_sample"), steps=9_375, rate=1e-5, warmup=0.0, every=2_000, patience=10,
    schedule="constant", encoder="roberta-base", batch=32, length=256, margin=0.1,
    network={"token_dropout": 0.2}, departures=(
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
        family="trained", levels=("turn", "dialogue"), models=("encoder",), checkpoints=("fined-eval",),
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
        "small": Recipe(CORPORA, steps=1_200, rate=2e-3, every=100),
        "paper": dataclasses.replace(PAPER, parts=("coherence", "likability", "topic-depth"))}
    shared: ClassVar[bool] = False
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Four columns, 0 to 1; NaN for fewer than two utterances, or a response without words."""
        from metrics.trained.fined_eval.network import FinedEval

        name, *dimensions = self.card.columns
        texts = [[] if item.response is not None and not item.response.text.strip() else
                 [turn.text for turn in item.utterances if turn.text.strip()] for item in items]
        if self.recipe != "small":
            scores = self._read_whole(texts, models)
            return {name: scores.mean(1), **dict(zip(dimensions, scores.T, strict=True))}
        network, encoder = models.trained(name, FinedEval, self.encoder), models.encoder(self.encoder)
        table = TextTable((text for several in texts for text in several), reading(encoder))
        rows = [table.spoken(several) for several in texts]
        scores = np.full((len(items), len(dimensions)), np.nan)
        for places in by_length([len(several) for several in rows], TOGETHER):
            scores[places] = probabilities(stable(np.array(places), lambda chosen: raw_scores(
                network, table, padded([rows[place] for place in chosen]))))
        return {name: scores.mean(1), **dict(zip(dimensions, scores.T, strict=True))}

    def objective(self, data: TrainingData) -> Objective:
        """Prefer the better dialogue in each dimension, each with a reader of its own or one for all."""
        if self.recipe != "small":
            return self._from_tokens(data)
        from metrics.trained.fined_eval.network import FinedEval, accuracies, loss

        batches, report = preferences(data)
        after = accuracies(batches.held)
        return batches.objective(FinedEval, loss, lambda network: {**report, **after(network)}, shared=self.shared)

    def _read_whole(self, texts: Sequence[Sequence[str]], models: Models) -> Column:
        """The scores of dialogues that are read as one sequence each: (dialogues, 3)."""
        from metrics.training.tuned import Classifier

        scores = np.full((len(texts), 3), np.nan)
        available = [row for row, several in enumerate(texts) if len(several) > 1]
        columns = []
        for weights in self.card.checkpoints if available else ():
            head = models.trained(weights, Classifier, self.encoder)
            encoder = models.encoder(f"{self.encoder}+{weights}", head.layers)
            vectors = encoder.dialogues([tuple(texts[row]) for row in available], head.pooling, READ)
            columns.append(head_probabilities(head, vectors))
        if columns:
            scores[available] = np.column_stack(columns)
        return scores

    def _from_tokens(self, data: TrainingData) -> Objective:
        """Prefer the better dialogue, each read as one sequence, in the dimension of this part or in one of three."""
        from metrics.trained.fined_eval.network import DIMENSIONS
        from metrics.training.tuned import Parts, contrasts

        table, strategies, report = prepared(data, as_published=True)
        texts = table.texts
        dimensions = [data.part] if data.part else list(DIMENSIONS)
        kinds = [[parts for name, parts in strategies.items() if name.startswith(dimension)]
                 for dimension in dimensions]

        def examples(part: int, rng: np.random.Generator, many: int) -> list[Any]:
            pairs: list[Any] = []
            for output in rng.integers(len(kinds), size=many):
                sides = kinds[output][int(rng.integers(len(kinds[output])))][part]
                better, worse = ([texts[row] for row in rows[0]] for rows in sides.draw(rng, 1))
                pairs.append((better, worse, output) if len(kinds) > 1 else (better, worse))
            return pairs

        made = contrasts(data, Parts(0, 1, examples), pooling="mean", margin=data.recipe.margin, above=1,
                         outputs=len(kinds), separator=True, dropout=0.0)
        return dataclasses.replace(made, notes=lambda network: {**report, **made.notes(network)})


@dataclass(frozen=True, slots=True)
class Sides:
    """For each corpus the dialogues that are better and those that are worse, or where the order is: shuffled."""

    better: tuple[Dialogues, ...]
    worse: tuple[Dialogues, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, (*self.better, *self.worse)))

    def draw(self, rng: np.random.Generator, many: int = SIZE) -> tuple[list[Rows], list[Rows]]:
        """Pairs of dialogues of one corpus, every corpus as often as the others."""
        corpora = rng.integers(len(self.better), size=many)
        better = [self.better[corpus][rng.integers(len(self.better[corpus]))] for corpus in corpora]
        if self.worse:
            return better, [self.worse[corpus][rng.integers(len(self.worse[corpus]))] for corpus in corpora]
        return better, [reordered(dialogue, rng) for dialogue in better]


def reordered(rows: Rows, rng: np.random.Generator) -> Rows:
    """The utterances in a random order that is another one, if any two differ."""
    order = rng.permutation(rows)
    return np.roll(rows, 1) if (order == rows).all() else order


def preferences(data: TrainingData) -> tuple[TrainingBatches, dict[str, float]]:
    """Batches that hold of each strategy the better and the worse dialogues, (SIZE, T, 2 · width) each."""
    table, strategies, report = prepared(data)

    def batch(part: int, rng: np.random.Generator) -> dict[str, tuple[Any, Any]]:
        dialogues = {}
        for name, strategy in strategies.items():
            better, worse = strategy[part].draw(rng)
            rows = padded([*better, *worse])
            dialogues[name] = table.tensor(rows[:SIZE]), table.tensor(rows[SIZE:])
        return dialogues

    held = [batch(1, np.random.default_rng(place)) for place in range(HELD)]
    return TrainingBatches(table.width, lambda rng: batch(0, rng), held), report


def prepared(data: TrainingData, as_published: bool = False,
             ) -> tuple[TextTable, dict[str, tuple[Sides, Sides]], dict[str, float]]:
    """Read all utterances, rate the dialogues, and sort them; and what goes into the checkpoint's card."""
    whole = [*data.dialogues(), *data.held_out()]
    table = TextTable((turn.text for dialogue in whole for turn in dialogue.utterances), data.vectors)
    longest = None if as_published else LONGEST
    both = [(long_enough(table, data.dialogues(name), longest), long_enough(table, data.held_out(name), longest))
            for name in data.corpora]
    both = [(training, held) for training, held in both if training and held]
    if not both:
        raise MetricError(f"no corpus has dialogues of {SHORTEST} utterances or more, some of them held out; "
                          "take larger ones")
    return table, *_strategies(data, table, [part for part, _ in both], [part for _, part in both], as_published)


def _strategies(data: TrainingData, table: TextTable, training: Sequence[Dialogues], held: Sequence[Dialogues],
                as_published: bool) -> tuple[dict[str, tuple[Sides, Sides]], dict[str, float]]:
    """The strategies for which there is something to learn from, to train on and held out; an error without one."""
    from metrics.trained.fined_eval.network import DIMENSIONS

    rates, report = signals(data, table, training, held, as_published)
    strategies = {"coherence:order": (Sides(tuple(training)), Sides(tuple(held)))}
    strategies |= {name: parts for name, rate in rates.items() if (parts := sides(training, held, rate))}
    for dimension in DIMENSIONS:
        if not any(name.startswith(dimension) for name in strategies):
            raise MetricError(f"nothing to learn {dimension} from: it takes utterances with an emotion, as dailydialog "
                              "has them, or pairs with an inference label, as dialogue_nli_sample has them")
    counts: dict[str, float] = {f"dialogues, {name}": len(parts[0]) for name, parts in strategies.items()}
    return strategies, counts | report


def long_enough(table: TextTable, dialogues: Sequence[Dialogue], longest: int | None = LONGEST) -> Dialogues:
    """The dialogues of SHORTEST utterances or more, as rows, of each the first `longest`."""
    from metrics.trained.fined_eval.network import is_inference

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
            as_published: bool = False) -> tuple[dict[str, Rate], dict[str, float]]:
    """How each strategy rates dialogues, where there is something to learn it from, and how good its judge is.

    `as_published` inference is of neighbours alone, and topics are deep where little follows from what was said.
    """
    from metrics.trained.fined_eval import network as judges

    near, far, sign = (1, 1, -1) if as_published else (2, 4, 1)
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
    if not as_published:
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
