"""The judges that choose FineD-Eval's training pairs, fitted here and forgotten once the pairs are chosen.

    entailments    P(entailment), P(neutral), P(contradiction) of two utterances
    sentiments     P(positive) of an utterance
    answers        how well an answer goes with its question

The paper takes pre-trained judges from a hub; here each is a small network over the same frozen vectors, fitted in
seconds when the pairs are prepared, and not needed afterwards. What it learns from is named with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from benchmarks.corpora.corpora import Dialogue
from metrics.trained.fined_eval.signals import INFERENCES, labelled
from metrics.trained.heads.losses import contrastive
from metrics.trained.heads.networks import Judge, Match, means, standard
from metrics.trained.heads.pairs import BATCH, Rows, Table
from metrics.training.loop import fit
from metrics.training.recipe import Objective, Recipe, TrainingData

POSITIVE = frozenset({"happiness", "happy", "joy"})
"""The emotions of an utterance, as its writers or annotators named them, that are positive sentiment."""
PASSES, LEAST, MOST = 8, 1, 600
"""How often a judge sees what it learns from; within so many steps."""
PAIRS = 4096
"""Pairs that are judged at a time."""

Scores = npt.NDArray[np.float32]


class Inference(nn.Module):  # type: ignore[misc]
    """[p ; h ; |p − h| ; p ∘ h ; cos] of two utterances in a smaller space, into a net with three outputs."""

    def __init__(self, width: int, size: int = 64, hidden: int = 64, dropout: float = 0.3) -> None:
        super().__init__()
        self.down = nn.Linear(2 * width, size)
        self.layers = nn.Sequential(nn.Linear(4 * size + 1, hidden), nn.GELU(), nn.Dropout(dropout),
                                    nn.Linear(hidden, len(INFERENCES)))
        self.dropout = nn.Dropout(dropout)

    def forward(self, premise: Any, hypothesis: Any) -> Any:
        """The logits of the three labels: (B, 3)."""
        p, h = (torch.tanh(self.down(self.dropout(standard(one)))) for one in (premise, hypothesis))
        cosine = (means(premise) * means(hypothesis)).sum(-1, keepdim=True)
        return self.layers(torch.cat([p, h, (p - h).abs(), p * h, cosine], -1))


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge that was fitted, and how often it is right about what is held out."""

    network: Any
    accuracy: float


def entailments(data: TrainingData, table: Table) -> Judged | None:
    """A judge of inference, learned from the pairs of sentences that a corpus labels; None where none does."""
    training, held = ([(*table.rows(turn.text for turn in one.utterances[:2]), INFERENCES.index(one.labels["label"]))
                       for one in some if labelled(one)] for some in (data.dialogues(), data.held_out()))
    if not training or not held:
        return None
    return _fitted(data, Inference(table.width), table, training, held)


def sentiments(data: TrainingData, table: Table) -> Judged | None:
    """A judge of positive sentiment, learned from utterances whose emotion is told; None where none is."""
    training, held = ([(int(row), int(positive)) for one in some for row, positive in _emotions(one, table)]
                      for some in (data.dialogues(), data.held_out()))
    if not {label for _, label in training} == {label for _, label in held} == {0, 1}:
        return None
    return _fitted(data, Judge(table.width, hidden=32), table, training, held)


def _emotions(dialogue: Dialogue, table: Table) -> Iterable[tuple[int, bool]]:
    told: Sequence[Mapping[str, Any]] = dialogue.labels.get("utterances", ())
    named = [str(one.get("emotion", "")).casefold() for one in told]
    return [(row, emotion in POSITIVE) for row, emotion in
            zip(table.rows(turn.text for turn in dialogue.utterances), named, strict=False) if emotion and row]


def answers(data: TrainingData, table: Table, training: Rows, held: Rows) -> Judged | None:
    """A judge of answers, learned by finding the answer to a question among others: rows (pairs, 2)."""
    if len(training) < 2 or len(held) < 2:
        return None
    network = Match(table.width, turns=1, size=32)
    kept = [_question(table, held[start : start + BATCH]) for start in range(0, min(len(held), 8 * BATCH), BATCH)]
    fitted = _fit(data, network, lambda rng: _question(table, training[rng.integers(len(training), size=BATCH)]), kept,
                  contrastive, len(training))
    with torch.inference_mode():
        hits = [fitted.matrix(*batch).argmax(-1) == torch.arange(len(batch[1])) for batch in kept]
    return Judged(fitted, float(torch.cat(hits).float().mean()))


def _question(table: Table, pairs: Rows) -> tuple[Any, Any]:
    return table.tensor(pairs[:, :1]), table.tensor(pairs[:, 1])


def _fitted(data: TrainingData, network: Any, table: Table, training: Sequence[tuple[int, ...]],
            held: Sequence[tuple[int, ...]]) -> Judged:
    """Fit a classifier of rows, every label as often as the others."""
    seen, kept = np.array(training, dtype=np.intp), np.array(held, dtype=np.intp)
    by_label = [np.flatnonzero(seen[:, -1] == label) for label in np.unique(seen[:, -1])]

    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        return _batch(table, seen[np.concatenate([rng.choice(rows, BATCH // len(by_label)) for rows in by_label])])

    batches = [_batch(table, kept[start : start + BATCH]) for start in range(0, len(kept), BATCH)][:64]
    least = min(map(len, by_label)) * len(by_label)
    fitted = _fit(data, network, draw, batches, _classified, least)
    with torch.inference_mode():
        hits = [_label(fitted(*vectors)) == labels for *vectors, labels in batches]
    return Judged(fitted, float(torch.cat(hits).float().mean()))


def _batch(table: Table, rows: Rows) -> tuple[Any, ...]:
    return (*(table.tensor(column) for column in rows[:, :-1].T), torch.from_numpy(rows[:, -1].astype(np.int64)))


def _classified(network: Any, batch: tuple[Any, ...]) -> Any:
    *vectors, labels = batch
    logits = network(*vectors)
    if logits.ndim == 1:
        return functional.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))
    return functional.cross_entropy(logits, labels)


def _label(logits: Any) -> Any:
    return (logits > 0).long() if logits.ndim == 1 else logits.argmax(-1)


def _fit(data: TrainingData, network: Any, draw: Callable[[np.random.Generator], Any], held: Sequence[Any],
         loss: Callable[[Any, Any], Any], size: int) -> Any:
    steps = min(max(LEAST, PASSES * size // BATCH), MOST)
    recipe = Recipe((), steps=steps, rate=2e-3, every=max(1, steps // 6), patience=3)
    fit(Objective(network, {}, draw, held, loss), recipe, data.models.machine, data.seed)
    return network.cpu().eval()


def inferred(judge: Judged, table: Table, premises: Rows, hypotheses: Rows) -> Scores:
    """P(entailment), P(neutral) and P(contradiction) of pairs of rows: (pairs, 3)."""
    return _judged(lambda first, second: judge.network(first, second).softmax(-1), table, premises, hypotheses)


def positive(judge: Judged, table: Table, rows: Rows) -> Scores:
    """P(positive) of rows: (rows,)."""
    return _judged(lambda one: judge.network(one).sigmoid(), table, rows)


def answered(judge: Judged, table: Table, questions: Rows, replies: Rows) -> Scores:
    """How well replies answer questions, 0 to 1: (pairs,)."""
    return _judged(lambda first, second: judge.network(first.unsqueeze(1), second).sigmoid(), table, questions, replies)


def _judged(judge: Callable[..., Any], table: Table, *rows: Rows) -> Scores:
    with torch.inference_mode():
        found = [judge(*(table.tensor(some[start : start + PAIRS]) for some in rows)).numpy()
                 for start in range(0, len(rows[0]), PAIRS)]
    return np.concatenate(found) if found else np.zeros(0, np.float32)
