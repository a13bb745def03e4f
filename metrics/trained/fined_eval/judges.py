"""Judges that rate the training dialogues of FineD-Eval, in place of the paper's pre-trained ones.

    inference    P(entailment), P(neutral), P(contradiction) of two utterances, trained on labelled pairs
    sentiment    P(positive) of an utterance, trained on utterances labelled with an emotion
    answers      fit of an answer to its question, trained to find the answer among others
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from benchmarks.corpora.corpora import Dialogue
from metrics.models.architectures.dialogue_heads import UtteranceHead
from metrics.models.architectures.heads import Likeness, Match
from metrics.models.text_table import Rows, TextTable
from metrics.training.data import Objective, Recipe, TrainingData
from metrics.training.loop import fit
from metrics.training.objectives import BATCH, both_ways

INFERENCES = ("entailment", "neutral", "contradiction")
"""Labels of a pair of sentences in DialogueNLI (Welleck et al. 2019)."""
POSITIVE = frozenset({"happiness", "happy", "joy"})
"""Emotions that count as positive sentiment."""
EPOCHS, MAX_STEPS = 8, 600
"""Epochs of a judge's training, and the limit of its steps."""
BLOCK = 4096
"""Number of pairs that are judged at a time."""


@dataclass(frozen=True, slots=True)
class FittedJudge:
    """A small network that rates training dialogues, and its accuracy on held-out data."""

    table: TextTable
    judge: Callable[..., Any]
    accuracy: float

    def __call__(self, *rows: Rows) -> npt.NDArray[np.float32]:
        """Return the values of rows, or of pairs of them: (rows,), or (rows, 3) for inference."""
        with torch.inference_mode():
            values = [self.judge(*(self.table.tensor(column[start : start + BLOCK]) for column in rows)).numpy()
                      for start in range(0, len(rows[0]), BLOCK)]
        return np.concatenate(values) if values else np.zeros(0, np.float32)


def is_inference(dialogue: Dialogue) -> bool:
    """Return True if the dialogue is a pair of sentences with an inference label."""
    return dialogue.labels.get("label") in INFERENCES and len(dialogue.utterances) > 1


def inference(data: TrainingData, table: TextTable) -> FittedJudge | None:
    """Return a judge of P(entailment), P(neutral), P(contradiction) of pairs: (pairs, 3); None without labels."""
    training, held = (
        [(*table.rows(turn.text for turn in dialogue.utterances[:2]), INFERENCES.index(dialogue.labels["label"]))
         for dialogue in dialogues if is_inference(dialogue)] for dialogues in (data.dialogues(), data.held_out()))
    if not training or not held:
        return None
    return _classifier(data, Likeness(table.width, 64, 64, 0.3, len(INFERENCES), nn.GELU), table, training, held)


def sentiment(data: TrainingData, table: TextTable) -> FittedJudge | None:
    """Return a judge of P(positive) of utterances; None without both positive and other emotions."""
    training, held = (
        [(row, int(emotion in POSITIVE)) for dialogue in dialogues for row, emotion in zip(
            table.rows(turn.text for turn in dialogue.utterances).tolist(),
            (str(label.get("emotion", "")).casefold() for label in dialogue.labels.get("utterances", ())), strict=False)
         if emotion and row] for dialogues in (data.dialogues(), data.held_out()))
    if not {label for _, label in training} == {label for _, label in held} == {0, 1}:
        return None
    return _classifier(data, UtteranceHead(table.width, hidden=32), table, training, held)


def answers(data: TrainingData, table: TextTable, training: Rows, held: Rows) -> FittedJudge | None:
    """Return a judge of how well replies answer questions, 0 to 1; trained on rows (pairs, 2)."""
    if len(training) < 2 or len(held) < 2:
        return None

    def batch(rows: Rows) -> tuple[Any, Any]:
        return table.tensor(rows[:, :1]), table.tensor(rows[:, 1])

    batches = [batch(held[start : start + BATCH]) for start in range(0, min(len(held), 8 * BATCH), BATCH)]
    network = _fit(data, Match(table.width, turns=1, size=32),
                   lambda rng: batch(training[rng.integers(len(training), size=BATCH)]), batches,
                   lambda network, batch: both_ways(network.matrix(*batch)), len(training))
    with torch.inference_mode():
        hits = [network.matrix(*pairs).argmax(-1) == torch.arange(len(pairs[1])) for pairs in batches]
    return FittedJudge(table, lambda question, reply: network(question.unsqueeze(1), reply).sigmoid(),
                       float(torch.cat(hits).float().mean()))


def _classifier(data: TrainingData, network: Any, table: TextTable, training: Sequence[tuple[int, ...]],
                held: Sequence[tuple[int, ...]]) -> FittedJudge:
    """Fit a classifier on rows whose last column is the label; every label is drawn equally often."""
    rows, held_rows = np.array(training, dtype=np.intp), np.array(held, dtype=np.intp)
    by_label = [np.flatnonzero(rows[:, -1] == label) for label in np.unique(rows[:, -1])]
    binary = isinstance(network, UtteranceHead)

    def batch(rows: Rows) -> tuple[Any, ...]:
        labels = torch.from_numpy(rows[:, -1].astype(np.float32 if binary else np.int64))
        return (*(table.tensor(column) for column in rows[:, :-1].T), labels)

    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        return batch(rows[np.concatenate([rng.choice(chosen, BATCH // len(by_label)) for chosen in by_label])])

    def loss(network: Any, batch: tuple[Any, ...]) -> Any:
        *vectors, labels = batch
        error = functional.binary_cross_entropy_with_logits if binary else functional.cross_entropy
        return error(network(*vectors), labels)

    batches = [batch(held_rows[start : start + BATCH]) for start in range(0, len(held_rows), BATCH)][:64]
    fitted = _fit(data, network, draw, batches, loss, min(map(len, by_label)) * len(by_label))
    with torch.inference_mode():
        logits = torch.cat([fitted(*vectors) for *vectors, _ in batches])
    hits = (logits > 0 if binary else logits.argmax(-1)) == torch.cat([batch[-1] for batch in batches])
    return FittedJudge(table, lambda *vectors: fitted(*vectors).sigmoid() if binary else fitted(*vectors).softmax(-1),
                       float(hits.float().mean()))


def _fit(data: TrainingData, network: Any, draw: Callable[[np.random.Generator], Any], held: Sequence[Any],
         loss: Callable[[Any, Any], Any], size: int) -> Any:
    steps = min(max(1, EPOCHS * size // BATCH), MAX_STEPS)
    recipe = Recipe((), steps=steps, rate=2e-3, every=max(1, steps // 6), patience=3)
    fit(Objective(network, {}, draw, held, loss), recipe, data.models.machine, data.seed)
    return network.cpu().eval()
