"""The judges that rate FineD-Eval's training dialogues: small networks, fitted when the pairs are prepared.

    inference    P(entailment), P(neutral), P(contradiction) of two utterances, from pairs that a corpus labels
    sentiment    P(positive) of an utterance, from utterances with an emotion
    answers      how well an answer goes with its question, from finding the answer among others

The paper takes pre-trained judges from a hub; these read the same frozen vectors as the network that is trained, and
are not needed afterwards. A judge is None where no corpus has what it learns from.
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
from metrics.trained.heads.data import BATCH
from metrics.trained.heads.losses import contrastive
from metrics.trained.heads.networks import Match, UtteranceHead, means, standard
from metrics.trained.heads.table import Rows, TextTable
from metrics.training.loop import fit
from metrics.training.recipe import Objective, Recipe, TrainingData

INFERENCES = ("entailment", "neutral", "contradiction")
"""The labels of a pair of sentences, as DialogueNLI (Welleck et al. 2019) has them."""
POSITIVE = frozenset({"happiness", "happy", "joy"})
"""The emotions of an utterance, as its writers or annotators named them, that are positive sentiment."""
PASSES, LEAST, MOST = 8, 1, 600
"""How often a judge sees its training pairs, and the fewest and most steps for it."""
PAIRS = 4096
"""ReplyPairs that are judged at a time."""


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
        p, h = (torch.tanh(self.down(self.dropout(standard(side)))) for side in (premise, hypothesis))  # (B, size)
        cosine = (means(premise) * means(hypothesis)).sum(-1, keepdim=True)
        return self.layers(torch.cat([p, h, (p - h).abs(), p * h, cosine], -1))


@dataclass(frozen=True, slots=True)
class FittedJudge:
    """A fitted judge: its values of rows of a table, and how often it is right about held-out data."""

    table: TextTable
    judge: Callable[..., Any]
    accuracy: float

    def __call__(self, *rows: Rows) -> npt.NDArray[np.float32]:
        """The values of rows, or of pairs of them: (rows,), or (rows, 3) for inference."""
        with torch.inference_mode():
            values = [self.judge(*(self.table.tensor(column[start : start + PAIRS]) for column in rows)).numpy()
                      for start in range(0, len(rows[0]), PAIRS)]
        return np.concatenate(values) if values else np.zeros(0, np.float32)


def is_inference(dialogue: Dialogue) -> bool:
    """Whether this is a pair of sentences with a label of inference, and no dialogue."""
    return dialogue.labels.get("label") in INFERENCES and len(dialogue.utterances) > 1


def inference(data: TrainingData, table: TextTable) -> FittedJudge | None:
    """P(entailment), P(neutral) and P(contradiction) of premises and hypotheses: (pairs, 3)."""
    training, held = (
        [(*table.rows(turn.text for turn in dialogue.utterances[:2]), INFERENCES.index(dialogue.labels["label"]))
         for dialogue in dialogues if is_inference(dialogue)] for dialogues in (data.dialogues(), data.held_out()))
    if not training or not held:
        return None
    network, accuracy = _classifier(data, Inference(table.width), table, training, held)
    return FittedJudge(table, lambda premise, hypothesis: network(premise, hypothesis).softmax(-1), accuracy)


def sentiment(data: TrainingData, table: TextTable) -> FittedJudge | None:
    """P(positive) of utterances."""
    training, held = ([(int(row), int(positive)) for dialogue in dialogues for row, positive in
                       _emotions(dialogue, table)] for dialogues in (data.dialogues(), data.held_out()))
    if not {label for _, label in training} == {label for _, label in held} == {0, 1}:
        return None
    network, accuracy = _classifier(data, UtteranceHead(table.width, hidden=32), table, training, held)
    return FittedJudge(table, lambda utterance: network(utterance).sigmoid(), accuracy)


def answers(data: TrainingData, table: TextTable, training: Rows, held: Rows) -> FittedJudge | None:
    """How well replies answer questions, 0 to 1; learned from rows (pairs, 2)."""
    if len(training) < 2 or len(held) < 2:
        return None

    def batch(rows: Rows) -> tuple[Any, Any]:
        return table.tensor(rows[:, :1]), table.tensor(rows[:, 1])

    batches = [batch(held[start : start + BATCH]) for start in range(0, min(len(held), 8 * BATCH), BATCH)]
    network = _fit(data, Match(table.width, turns=1, size=32),
                   lambda rng: batch(training[rng.integers(len(training), size=BATCH)]), batches, contrastive,
                   len(training))
    with torch.inference_mode():
        hits = [network.matrix(*some).argmax(-1) == torch.arange(len(some[1])) for some in batches]
    return FittedJudge(table, lambda question, reply: network(question.unsqueeze(1), reply).sigmoid(),
                       float(torch.cat(hits).float().mean()))


def _emotions(dialogue: Dialogue, table: TextTable) -> Iterable[tuple[int, bool]]:
    labels: Sequence[Mapping[str, Any]] = dialogue.labels.get("utterances", ())
    emotions = [str(label.get("emotion", "")).casefold() for label in labels]
    return [(row, emotion in POSITIVE) for row, emotion in
            zip(table.rows(turn.text for turn in dialogue.utterances), emotions, strict=False) if emotion and row]


def _classifier(data: TrainingData, network: Any, table: TextTable, training: Sequence[tuple[int, ...]],
                held: Sequence[tuple[int, ...]]) -> tuple[Any, float]:
    """Fit a classifier of rows, every label as often as the others; and its accuracy on held-out rows."""
    rows, held_rows = np.array(training, dtype=np.intp), np.array(held, dtype=np.intp)
    by_label = [np.flatnonzero(rows[:, -1] == label) for label in np.unique(rows[:, -1])]

    def batch(some: Rows) -> tuple[Any, ...]:
        return (*(table.tensor(column) for column in some[:, :-1].T), torch.from_numpy(some[:, -1].astype(np.int64)))

    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        return batch(rows[np.concatenate([rng.choice(own, BATCH // len(by_label)) for own in by_label])])

    batches = [batch(held_rows[start : start + BATCH]) for start in range(0, len(held_rows), BATCH)][:64]
    fitted = _fit(data, network, draw, batches, _cross_entropy, min(map(len, by_label)) * len(by_label))
    with torch.inference_mode():
        hits = [_label(fitted(*vectors)) == labels for *vectors, labels in batches]
    return fitted, float(torch.cat(hits).float().mean())


def _cross_entropy(network: Any, batch: tuple[Any, ...]) -> Any:
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
