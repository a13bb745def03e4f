"""DEB's network and what it is trained on: dialogues of all corpora, and the replies of DailyDialog++."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.trained.heads.losses import contrastive
from metrics.trained.heads.networks import Match
from metrics.trained.heads.pairs import Pairs, Prepared, Rows, Table, last_turns, pairs
from metrics.training.recipe import TrainingData

SMALL = 64
"""Contexts of DailyDialog++ in a batch."""
PAIRS = 256
"""Pairs of the other corpora in a batch: the false replies of each are those of all others."""
GOOD, ADVERSARIAL = "positive_responses", "adversarial_negative_responses"


class NextResponse(nn.Module):  # type: ignore[misc]
    """Does the response come next: a · match(c, r) + net([h(c) ∘ h(r) ; |h(c) − h(r)| ; cos(c_t, r)]) + b."""

    def __init__(self, width: int, turns: int, size: int = 128, hidden: int = 64, dropout: float = 0.3) -> None:
        super().__init__()
        self.match = Match(width, turns, size, dropout)
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * size + turns, hidden), nn.GELU(),
                                    nn.Linear(hidden, 1))

    def forward(self, context: Any, reply: Any) -> Any:
        """The logit of each pair: (B,)."""
        left, right = self.match.heads(context, reply)
        cosines = self.match.cosines(context, reply)
        return (self.scale * self.match.joined(left, right, cosines)
                + self.layers[-1](self._read(left, right, cosines)).squeeze(-1))

    def hidden(self, context: Any, reply: Any) -> Any:
        """What the last layer reads of each pair: (B, hidden)."""
        return self._read(*self.match.heads(context, reply), self.match.cosines(context, reply))

    def _read(self, left: Any, right: Any, cosines: Any) -> Any:
        return self.layers[:-1](torch.cat([left * right, (left - right).abs(), cosines], dim=-1))


@dataclass(frozen=True, slots=True)
class Judged:
    """Contexts with good replies and, where there are some, adversarial ones: rows of a table."""

    table: Table
    contexts: Rows
    good: tuple[Rows, ...]
    adversarial: tuple[Rows, ...]

    def draw(self, rng: np.random.Generator, kind: str) -> tuple[Any, Any, Any]:
        """Contexts with a good and a false reply each; `kind` says which false ones: random, adversarial, both."""
        hard = np.flatnonzero([len(rows) > 0 for rows in self.adversarial])
        chosen = (rng.choice(hard, SMALL) if kind == "adversarial"
                  else rng.integers(len(self.contexts), size=SMALL))
        if kind == "both":
            chosen[::2] = rng.choice(hard, len(chosen[::2]))
        good = np.array([rng.choice(self.good[row]) for row in chosen])
        false = np.array([rng.choice(self.good[row]) for row in _others(chosen, len(self.contexts), rng)])
        if kind != "random":
            took = slice(None) if kind == "adversarial" else slice(None, None, 2)
            false[took] = [rng.choice(self.adversarial[row]) for row in chosen[took]]
        tensor = self.table.tensor
        return tensor(self.contexts[chosen]), tensor(good), tensor(false)


def _others(chosen: Rows, count: int, rng: np.random.Generator) -> Rows:
    """Another row for each."""
    return (chosen + rng.integers(1, max(2, count), size=len(chosen))) % count


@dataclass(frozen=True, slots=True)
class DebBatches:
    """Batches of both: pairs of dialogues, and judged replies."""

    pairs: Prepared
    training: Judged
    held: Judged
    kind: str

    @classmethod
    def of(cls, data: TrainingData, kind: str) -> DebBatches:
        """Read the vectors of everything."""
        both = data.dialogues(), data.held_out()
        several = [[one for one in some if len(one.labels.get(GOOD, ())) > 1] for some in both]
        plain = [[one for one in some if GOOD not in one.labels] for some in both]
        table = Table((text for some in both for one in some for text in _texts(one)), data.vectors)
        training, held = (_judged(some, table) for some in several)
        if kind != "random" and not (any(map(len, training.adversarial)) and any(map(len, held.adversarial))):
            raise MetricError("none of the corpora has adversarial replies; the dev or train split of dailydialog_pp "
                              "has some")
        return cls(Prepared(table, *(pairs(some, table) for some in plain)), training, held, kind)

    def draw(self, rng: np.random.Generator) -> Mapping[str, Any]:
        """A batch of both."""
        return self._batch(self.pairs.training, self.training, rng)

    def held_out(self, rng: np.random.Generator, batches: int = 12) -> list[Mapping[str, Any]]:
        """Batches of what is held out."""
        return [self._batch(self.pairs.held, self.held, rng) for _ in range(batches)]

    def _batch(self, some: Pairs, judged: Judged, rng: np.random.Generator) -> Mapping[str, Any]:
        chosen = rng.integers(len(some), size=PAIRS)
        table = self.pairs.table
        return {"pairs": (table.tensor(some.contexts[chosen]), table.tensor(some.replies[chosen])),
                "judged": judged.draw(rng, self.kind)}


def loss(network: NextResponse, batch: Mapping[str, Any]) -> Any:
    """Finding the own reply among all, and telling good replies from false ones, with equal weight."""
    context, reply = batch["pairs"]
    return contrastive(network.match, (context, reply)) + _told(network, batch["judged"])


def _told(network: NextResponse, judged: tuple[Any, Any, Any]) -> Any:
    context, good, false = judged
    return (functional.softplus(-network(context, good)).mean()
            + functional.softplus(network(context, false)).mean()) / 2


def accuracies(network: NextResponse, batches: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How often a good reply, and a false one, of what is held out is known as such at 0.5."""
    device = next(network.parameters()).device
    right, wrong = [], []
    with torch.inference_mode():
        for batch in batches:
            context, good, false = (part.to(device) for part in batch["judged"])
            right.append((network(context, good) > 0).float().mean().item())
            wrong.append((network(context, false) < 0).float().mean().item())
    return {"accuracy on held-out replies": round(float(np.mean(right)), 4),
            "accuracy on false replies": round(float(np.mean(wrong)), 4)}


def _texts(dialogue: Dialogue) -> Iterable[str]:
    yield from (turn.text for turn in dialogue.utterances)
    yield from dialogue.labels.get(GOOD, ())
    yield from dialogue.labels.get(ADVERSARIAL, ())


def _judged(dialogues: Iterable[Dialogue], table: Table) -> Judged:
    contexts, good, adversarial = [], [], []
    for one in dialogues:
        context = table.rows(last_turns(turn.text for turn in one.utterances))
        rows = table.rows(one.labels[GOOD])
        if context[0] and (rows > 0).any():
            contexts.append(context)
            good.append(rows[rows > 0])
            hard = table.rows(one.labels.get(ADVERSARIAL, ()))
            adversarial.append(hard[hard > 0])
    if len(contexts) < 2:
        raise MetricError("none of the corpora has contexts with several good replies; take dailydialog_pp as well")
    return Judged(table, np.stack(contexts), tuple(good), tuple(adversarial))
