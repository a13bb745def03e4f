"""FineD-Eval's network: convolutions over the vectors of a dialogue's utterances, averaged; one logit a dimension.

A linear layer makes the vectors smaller. Beside each utterance stand its product with the one before it and the
pre-trained cosines with the two before it. Two convolutions over three utterances read these, so that a state knows two
utterances to either side and the ends of the dialogue. States are averaged over the utterances, as the paper averages
those of tokens, and a linear layer makes one logit a dimension. The loss ranks the better of two dialogues higher.

Below are the judges that rate training dialogues, in place of the pre-trained ones that the paper takes from a hub:

    inference    P(entailment), P(neutral), P(contradiction) of two utterances, from pairs that a corpus labels
    sentiment    P(positive) of an utterance, from utterances with an emotion
    answers      how well an answer goes with its question, from finding the answer among others
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from benchmarks.corpora.corpora import Dialogue
from metrics.trained.heads.data import BATCH
from metrics.trained.heads.losses import contrastive, labelled, shares
from metrics.trained.heads.networks import Likeness, Match, UtteranceHead, means, standard
from metrics.trained.heads.table import Rows, TextTable
from metrics.training.loop import fit
from metrics.training.recipe import Objective, Recipe, TrainingData

DIMENSIONS = ("coherence", "likability", "topic-depth")
MARGIN = 0.1
BEFORE = 2
"""How far back cosines are taken."""
INFERENCES = ("entailment", "neutral", "contradiction")
"""The labels of a pair of sentences, as DialogueNLI (Welleck et al. 2019) has them."""
POSITIVE = frozenset({"happiness", "happy", "joy"})
"""The emotions of an utterance, as its writers or annotators named them, that are positive sentiment."""
PASSES, MOST = 8, 600
"""How often a judge sees its training pairs, and the most steps for it."""
PAIRS = 4096
"""Pairs that are judged at a time."""


class DialogueReader(nn.Module):
    """Dialogues as one vector each: the mean of the states of their utterances."""

    def __init__(self, width: int, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.down = nn.Linear(2 * width, size)
        self.first = nn.Linear(3 * (2 * size + BEFORE), hidden)
        self.second = nn.Linear(3 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, dialogues: Any) -> Any:
        """From utterances (B, T, 2 · width), the first first, zeros behind the last: (B, hidden)."""
        present = (dialogues != 0).any(-1, keepdim=True)  # (B, T, 1)
        small = torch.tanh(self.down(standard(dialogues))) * present  # (B, T, size)
        product = small * earlier(small, 1) * small.shape[-1] ** 0.5
        units = means(dialogues)
        cosines = torch.stack([(units * earlier(units, back)).sum(-1) for back in range(1, BEFORE + 1)], -1)
        read = self.dropout(torch.cat([small, product, cosines], -1))  # (B, T, 2 · size + BEFORE)
        states = functional.gelu(self.first(beside(read))) * present  # (B, T, hidden)
        states = states + functional.gelu(self.second(beside(self.dropout(states)))) * present
        return states.sum(1) / present.sum(1).clamp_min(1)


def earlier(utterances: Any, back: int) -> Any:
    """At each place the utterance so many places before it, zeros at the beginning: (B, T, H)."""
    return functional.pad(utterances, (0, 0, back, 0))[:, : utterances.shape[1]]


def beside(utterances: Any) -> Any:
    """At each place the utterance before it, itself, and the one after it: (B, T, 3 · H)."""
    later = functional.pad(utterances, (0, 0, 0, 1))[:, 1:]
    return torch.cat([earlier(utterances, 1), utterances, later], -1)


class FinedEval(nn.Module):
    """A logit for each dimension: from readers of their own, or, where `shared`, from one reader for all."""

    def __init__(self, width: int, shared: bool, size: int = 64, hidden: int = 64, dropout: float = 0.2) -> None:
        super().__init__()
        self.readers = nn.ModuleList(DialogueReader(width, size, hidden, dropout)
                                     for _ in range(1 if shared else len(DIMENSIONS)))
        self.heads = nn.ModuleList(nn.Linear(hidden, 1) for _ in DIMENSIONS)
        self.dropout = nn.Dropout(dropout)

    def dimension(self, place: int, dialogues: Any) -> Any:
        """The logit of one dimension: (B,)."""
        reader = self.readers[place % len(self.readers)]
        return self.heads[place](self.dropout(reader(dialogues))).squeeze(-1)

    def forward(self, dialogues: Any) -> Any:
        """The logits of all dimensions: (B, 3)."""
        return torch.stack([self.dimension(place, dialogues) for place in range(len(DIMENSIONS))], -1)


def loss(network: FinedEval, batch: Mapping[str, tuple[Any, Any]]) -> Any:
    """max(0, −(s₊ − s₋) + MARGIN), the sum over dimensions of the mean over their pairs; each strategy has as many."""
    losses = []
    for place, name in enumerate(DIMENSIONS):
        pairs = [pair for strategy, pair in batch.items() if strategy.partition(":")[0] == name]
        better, worse = scores(network, place, *map(stacked, zip(*pairs, strict=True)))
        losses.append(functional.relu(MARGIN - (better - worse)).mean())
    return torch.stack(losses).sum()


def stacked(dialogues: Sequence[Any]) -> Any:
    """Batches of dialogues as one, zeros behind the last utterances: (ΣB, T, 2 · width)."""
    longest = max(batch.shape[1] for batch in dialogues)
    return torch.cat([functional.pad(batch, (0, 0, 0, longest - batch.shape[1])) for batch in dialogues])


def scores(network: FinedEval, place: int, better: Any, worse: Any) -> tuple[Any, Any]:
    """The scores, 0 to 1, of the better and the worse dialogues of a batch; both are read at once."""
    both = network.dimension(place, torch.cat([better, worse])).sigmoid()
    return both[: len(better)], both[len(better) :]


def accuracies(batches: Sequence[Mapping[str, tuple[Any, Any]]]) -> Callable[[Any], dict[str, float]]:
    """The share of held-out pairs whose better dialogue has the higher score, by strategy."""
    def hits(network: Any, batch: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
        both = {strategy: scores(network, DIMENSIONS.index(strategy.partition(":")[0]), *pair)
                for strategy, pair in batch.items()}
        return {f"accuracy on held-out pairs, {strategy}": better > worse
                for strategy, (better, worse) in both.items()}

    return shares(batches, hits)


@dataclass(frozen=True, slots=True)
class FittedJudge:
    """A small network that rates training dialogues, and how often it is right about held-out data.

    It reads the vectors that the trained network reads, and is not needed afterwards.
    """

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
    """P(entailment), P(neutral) and P(contradiction) of premises and hypotheses: (pairs, 3); None without labels."""
    training, held = (
        [(*table.rows(turn.text for turn in dialogue.utterances[:2]), INFERENCES.index(dialogue.labels["label"]))
         for dialogue in dialogues if is_inference(dialogue)] for dialogues in (data.dialogues(), data.held_out()))
    if not training or not held:
        return None
    network = Likeness(table.width, 64, 64, 0.3, len(INFERENCES), nn.GELU)
    return _classifier(data, network, table, training, held)


def sentiment(data: TrainingData, table: TextTable) -> FittedJudge | None:
    """P(positive) of utterances; None without emotions of both kinds."""
    training, held = (
        [(row, int(emotion in POSITIVE)) for dialogue in dialogues for row, emotion in zip(
            table.rows(turn.text for turn in dialogue.utterances).tolist(),
            (str(label.get("emotion", "")).casefold() for label in dialogue.labels.get("utterances", ())), strict=False)
         if emotion and row] for dialogues in (data.dialogues(), data.held_out()))
    if not {label for _, label in training} == {label for _, label in held} == {0, 1}:
        return None
    return _classifier(data, UtteranceHead(table.width, hidden=32), table, training, held)


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


def _classifier(data: TrainingData, network: Any, table: TextTable, training: Sequence[tuple[int, ...]],
                held: Sequence[tuple[int, ...]]) -> FittedJudge:
    """Fit a classifier of rows, whose label is the last column, every label as often as the others."""
    rows, held_rows = np.array(training, dtype=np.intp), np.array(held, dtype=np.intp)
    by_label = [np.flatnonzero(rows[:, -1] == label) for label in np.unique(rows[:, -1])]
    several = isinstance(network, Likeness)

    def batch(some: Rows) -> tuple[Any, ...]:
        labels = torch.from_numpy(some[:, -1].astype(np.int64 if several else np.float32))
        return (*(table.tensor(column) for column in some[:, :-1].T), labels)

    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        return batch(rows[np.concatenate([rng.choice(own, BATCH // len(by_label)) for own in by_label])])

    def loss(network: Any, batch: tuple[Any, ...]) -> Any:
        return functional.cross_entropy(network(*batch[:-1]), batch[-1]) if several else labelled(network, batch)

    batches = [batch(held_rows[start : start + BATCH]) for start in range(0, len(held_rows), BATCH)][:64]
    fitted = _fit(data, network, draw, batches, loss, min(map(len, by_label)) * len(by_label))
    with torch.inference_mode():
        logits = torch.cat([fitted(*vectors) for *vectors, _ in batches])
    labels = torch.cat([batch[-1] for batch in batches])
    hits = (logits.argmax(-1) if several else logits > 0) == labels
    return FittedJudge(table, lambda *vectors: fitted(*vectors).softmax(-1) if several else fitted(*vectors).sigmoid(),
                       float(hits.float().mean()))


def _fit(data: TrainingData, network: Any, draw: Callable[[np.random.Generator], Any], held: Sequence[Any],
         loss: Callable[[Any, Any], Any], size: int) -> Any:
    steps = min(max(1, PASSES * size // BATCH), MOST)
    recipe = Recipe((), steps=steps, rate=2e-3, every=max(1, steps // 6), patience=3)
    fit(Objective(network, {}, draw, held, loss), recipe, data.models.machine, data.seed)
    return network.cpu().eval()
