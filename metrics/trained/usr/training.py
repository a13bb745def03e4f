"""What USR is trained on: replies with contexts, replies with the persona of their speaker, and judged replies.

The last are held-out replies, each once as it is and once replaced by another, whose likelihoods are told beforehand;
on them the regression of the sub-scores is fitted, beside the two retrieval models and without an influence on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.memory import Vectors
from metrics.trained.heads.facts import fact_rows, sentences
from metrics.trained.heads.pairs import BATCH, Pairs, Prepared, Rows, Table, last_turns, pairs
from metrics.training.recipe import TrainingData

JUDGED = 256
"""Held-out replies with facts that the regressions are fitted on, and as many without."""
SMALL = 64
"""Judged replies in a batch."""


@dataclass(frozen=True, slots=True)
class Known:
    """Replies with context and facts: rows of a table; and their texts, for likelihoods."""

    contexts: Rows
    replies: Rows
    facts: Rows
    texts: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class UsrBatches:
    """Batches of all three."""

    pairs: Prepared
    training: Known
    held: Known
    likely: Vectors

    @classmethod
    def of(cls, data: TrainingData) -> UsrBatches:
        """Read the vectors of the training's texts, and the likelihoods of the judged replies."""
        both = data.dialogues(), data.held_out()
        texts = (text for some in both for one in some for text in _texts(one))
        table = Table(texts, data.vectors)
        training, held = (_known(some, table) for some in both)
        chosen = data.rng.permutation(len(held.replies))[: 2 * JUDGED]
        judged = Known(held.contexts[chosen], held.replies[chosen], held.facts[chosen],
                       [held.texts[row] for row in chosen])
        return cls(Prepared(table, *(pairs(some, table) for some in both)), training, judged, _likely(judged, data))

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """A batch of everything."""
        return self._batch(self.pairs.training, self.training, rng)

    def held_out(self, rng: np.random.Generator, batches: int = 8) -> list[dict[str, Any]]:
        """Batches of what is held out."""
        return [self._batch(self.pairs.held, self.held, rng) for _ in range(batches)]

    def _batch(self, some: Pairs, known: Known, rng: np.random.Generator) -> dict[str, Any]:
        import torch

        table = self.pairs.table
        pair, fact = rng.integers(len(some), size=BATCH), rng.integers(len(known.replies), size=BATCH)
        judged = rng.integers(len(self.held.replies), size=SMALL)
        return {
            "context": table.tensor(some.contexts[pair]), "reply": table.tensor(some.replies[pair]),
            "facts": table.tensor(known.facts[fact]), "fact_reply": table.tensor(known.replies[fact]),
            "judged_context": table.tensor(self.held.contexts[judged]),
            "judged_facts": table.tensor(self.held.facts[judged]),
            "judged_true": table.tensor(self.held.replies[judged]),
            "judged_false": table.tensor(np.roll(self.held.replies, 1)[judged]),
            "likely": torch.from_numpy(self.likely[judged]),
        }


def loss(network: Any, batch: dict[str, Any]) -> Any:
    """Both retrievals, and the regressions on what they find."""
    import torch

    from metrics.trained.heads.losses import contrastive

    found = (contrastive(network.context, (batch["context"], batch["reply"]))
             + contrastive(network.fact, (batch["facts"], batch["fact_reply"])))
    for column, (side, sign) in enumerate((("judged_true", -1), ("judged_false", 1))):
        with torch.no_grad():
            scores = torch.stack([batch["likely"][:, column], network.context(batch["judged_context"], batch[side]),
                                  network.fact(batch["judged_facts"], batch[side])], dim=1)
        for told in (network(scores), network(scores[:, :2])):
            found = found + torch.nn.functional.softplus(sign * told).mean()
    return found


def _texts(dialogue: Dialogue) -> Iterable[str]:
    yield from (turn.text for turn in dialogue.utterances)
    for facts in (dialogue.labels.get("persona") or {}).values():
        yield from sentences(facts)


def _known(dialogues: Iterable[Dialogue], table: Table) -> Known:
    """Every reply of a speaker whose persona is known."""
    contexts, facts, texts = [], [], []
    for dialogue in dialogues:
        personas = dialogue.labels.get("persona") or {}
        for place, turn in enumerate(dialogue.utterances):
            before = last_turns(one.text for one in dialogue.utterances[:place])
            if turn.text.strip() and before[0] and personas.get(turn.speaker):
                contexts.append(table.rows(before))
                facts.append(sentences(personas[turn.speaker]))
                texts.append((before[0], turn.text))
    if not texts:
        raise MetricError("the corpora have no replies of speakers whose persona is known, to train on or held out; "
                          "take personachat among them")
    return Known(np.stack(contexts), table.rows(text for _, text in texts), fact_rows(table, facts), texts)


def _likely(known: Known, data: TrainingData) -> Vectors:
    """The mean log-likelihood of each reply after its last utterance, and of the reply before it in its place."""
    model = data.models.masked(data.encoder)
    false = [known.texts[place - 1][1] for place in range(len(known.texts))]
    asked = [*known.texts, *((said, text) for (said, _), text in zip(known.texts, false, strict=True))]
    read = model.log_likelihoods([(said.strip(), text.strip()) for said, text in asked])
    means = np.array([values.mean() if values.size else 0.0 for values in read], dtype=np.float32)
    return np.stack(np.split(means, 2), axis=1)
