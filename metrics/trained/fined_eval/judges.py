"""Small classifiers that rate FineD-Eval's training dialogues, in place of the paper's pretrained models."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from benchmarks.corpora.corpora import Dialogue
from metrics.models.text_table import Rows, TextTable
from metrics.models.tokens import Pair
from metrics.training import objectives
from metrics.training.data import BATCH, Recipe, TrainingData
from metrics.training.examples import Contrast
from metrics.training.loop import fit

INFERENCES = ("entailment", "neutral", "contradiction")
"""Labels of sentence pairs in DialogueNLI (Welleck et al. 2019)."""
POSITIVE = frozenset({"happiness", "happy", "joy"})
"""Emotions that count as positive sentiment."""
EPOCHS, MAX_STEPS = 8, 600
"""Epochs of training a classifier, and the maximum number of steps."""
BLOCK_PAIRS = 4096
"""Number of pairs judged at a time."""


@dataclass(frozen=True, slots=True)
class FittedJudge:
    """A small network that rates training dialogues, and its accuracy on held-out data."""

    network: Any
    table: TextTable
    accuracy: float

    def __call__(self, *rows: Rows) -> npt.NDArray[np.float32]:
        """Return the judge's values for texts or pairs of texts, given as rows: (rows,), or (rows, 3) for inference."""
        values = []
        with torch.inference_mode():
            for start in range(0, len(rows[0]), BLOCK_PAIRS):
                *contexts, last = (self.table.tensor(column[start : start + BLOCK_PAIRS]) for column in rows)
                logits = self.network(*(vectors.unsqueeze(1) for vectors in contexts), last)
                values.append((logits.sigmoid() if logits.ndim == 1 else logits.softmax(-1)).numpy())
        return np.concatenate(values) if values else np.zeros(0, np.float32)


def is_inference(dialogue: Dialogue) -> bool:
    return dialogue.labels.get("label") in INFERENCES and len(dialogue.utterances) > 1


def train_inference_judge(data: TrainingData, table: TextTable) -> FittedJudge | None:
    """Return a classifier of P(entailment), P(neutral), P(contradiction): (pairs, 3); None without labelled pairs."""
    training, held_out = data.split(lambda dialogues: [
        (Pair((dialogue.utterances[0].text,), dialogue.utterances[1].text), INFERENCES.index(dialogue.labels["label"]))
        for dialogue in dialogues if is_inference(dialogue)])
    if not training or not held_out:
        return None
    return _fit_judge(data, table, _balanced(training), held_out, "likeness", "classified", size=64, hidden=64,
                      dropout=0.3, outputs=len(INFERENCES), activation=nn.GELU)


def train_sentiment_judge(data: TrainingData, table: TextTable) -> FittedJudge | None:
    """Return a classifier of positive sentiment; None unless there are both positive and other emotions."""
    training, held_out = data.split(lambda dialogues: [
        (turn.text, float(emotion in POSITIVE)) for dialogue in dialogues for turn, emotion in zip(
            dialogue.utterances, (str(label.get("emotion", "")).casefold()
                                  for label in dialogue.labels.get("utterances", ())), strict=False)
        if emotion and turn.text.strip()])
    if not {label for _, label in training} == {label for _, label in held_out} == {0, 1}:
        return None
    return _fit_judge(data, table, _balanced(training), held_out, "utterance-head", "labelled", hidden=32)


def train_answer_judge(data: TrainingData, table: TextTable, training: Rows, held_out: Rows) -> FittedJudge | None:
    """Return a judge of how well a reply answers a question, 0 to 1, trained on pairs of table rows (pairs, 2).

    Returns None if there are fewer than two training or held-out pairs.
    """
    if len(training) < 2 or len(held_out) < 2:
        return None
    texts = table.texts
    contrasts = [[Contrast(Pair((texts[question],), texts[reply])) for question, reply in rows]
                 for rows in (training, held_out)]
    return _fit_judge(data, table, contrasts[0], contrasts[1], "match", "retrieval", turns=1, size=32)


def _balanced(examples: Sequence[tuple[Any, float]]) -> list[tuple[Any, float]]:
    """Repeat examples with rare labels, so that every label is drawn equally often."""
    labels = sorted({label for _, label in examples})
    by_label = [[example for example in examples if example[1] == label] for label in labels]
    largest = max(map(len, by_label))
    return [example for group in by_label for example in itertools.islice(itertools.cycle(group), largest)]


def _fit_judge(data: TrainingData, table: TextTable, training: Sequence[Any], held_out: Sequence[Any],
               architecture: str, loss: str, **network_options: Any) -> FittedJudge:
    steps = min(max(1, EPOCHS * len(training) // BATCH), MAX_STEPS)
    recipe = Recipe((), steps=steps, rate=2e-3, every=max(1, steps // 6), patience=3, architecture=architecture,
                    losses=(loss,))
    judge_data = dataclasses.replace(data, recipe=recipe, untrained=None, notes={})
    objective = objectives.total(judge_data, (training, held_out), network_options)
    fit(objective, recipe, data.models.machine, data.seed)
    (accuracy,) = objective.notes(objective.network).values()
    return FittedJudge(objective.network.cpu().eval(), table, float(accuracy))
