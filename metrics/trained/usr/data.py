"""What USR is trained on: replies with contexts, replies with the persona of their speaker, and replies to judge.

The last are held-out replies, each once as it is and once replaced by another, with their likelihoods; the regression
on the sub-scores is fitted to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.memory import Vectors
from metrics.trained.heads.data import BATCH, ReplyPairs, TrainingBatches, drawn, pairs
from metrics.trained.heads.table import Rows, TextTable, last_turns, padded
from metrics.training.recipe import TrainingData

JUDGED = 256
"""Held-out replies with facts that the regressions are fitted on, and as many without."""
SMALL = 64
"""Judged replies in a batch."""
SENTENCES = 32
"""How many sentences of facts are read for an item."""
_PREFIX = re.compile(r"^(your|partner's) persona:\s*")
_END = re.compile(r"(?<=[.!?])\s+")


def sentences(facts: Iterable[str]) -> list[str]:
    """The sentences of facts that hold a letter or digit, without the words that say whose persona it is."""
    parts = [part for fact in facts for part in _END.split(_PREFIX.sub("", fact.strip()))]
    return [part for part in parts if any(map(str.isalnum, part))][:SENTENCES]


def fact_rows(table: TextTable, facts: Sequence[Sequence[str]]) -> Rows:
    """The rows of each item's facts, filled up with 0: (items, most facts of an item, at least 1)."""
    rows = [table.rows(several) for several in facts]
    return padded([several[several > 0] for several in rows])


@dataclass(frozen=True, slots=True)
class FactReplies:
    """Replies with context and facts: rows of a table; and (last utterance, reply) as texts, for likelihoods."""

    contexts: Rows
    replies: Rows
    facts: Rows
    texts: list[tuple[str, str]]


def usr_batches(data: TrainingData) -> TrainingBatches:
    """Batches of all three; the likelihoods of the judged replies are read once."""
    import torch

    both = data.dialogues(), data.held_out()
    table = TextTable((text for some in both for dialogue in some for text in _texts(dialogue)), data.vectors)
    training, held = (_fact_replies(some, table) for some in both)
    chosen = data.rng.permutation(len(held.replies))[: 2 * JUDGED]
    judged = FactReplies(held.contexts[chosen], held.replies[chosen], held.facts[chosen],
                         [held.texts[row] for row in chosen])
    likely = _likely(judged, data)  # of the true and of the false reply: (judged, 2)
    others = np.roll(judged.replies, 1)

    def batch(part: tuple[ReplyPairs, FactReplies], rng: np.random.Generator) -> dict[str, Any]:
        some, known = part
        pair, fact = rng.integers(len(some), size=BATCH), rng.integers(len(known.replies), size=BATCH)
        rows = rng.integers(len(judged.replies), size=SMALL)
        tensor = table.tensor
        return {
            "context": tensor(some.contexts[pair]), "reply": tensor(some.replies[pair]),
            "facts": tensor(known.facts[fact]), "fact_reply": tensor(known.replies[fact]),
            "judged_context": tensor(judged.contexts[rows]), "judged_facts": tensor(judged.facts[rows]),
            "judged_true": tensor(judged.replies[rows]), "judged_false": tensor(others[rows]),
            "likely": torch.from_numpy(likely[rows]),
        }

    return drawn(table, batch, ((pairs(both[0], table), training), (pairs(both[1], table), judged)), data.rng)


def _texts(dialogue: Dialogue) -> Iterable[str]:
    yield from (turn.text for turn in dialogue.utterances)
    for facts in (dialogue.labels.get("persona") or {}).values():
        yield from sentences(facts)


def _fact_replies(dialogues: Iterable[Dialogue], table: TextTable) -> FactReplies:
    """Every reply of a speaker whose persona is known."""
    contexts, facts, texts = [], [], []
    for dialogue in dialogues:
        personas = dialogue.labels.get("persona") or {}
        for place, turn in enumerate(dialogue.utterances):
            before = last_turns(earlier.text for earlier in dialogue.utterances[:place])
            if turn.text.strip() and before[0] and personas.get(turn.speaker):
                contexts.append(table.rows(before))
                facts.append(sentences(personas[turn.speaker]))
                texts.append((before[0], turn.text))
    if not texts:
        raise MetricError("the corpora have no replies of speakers whose persona is known, to train on or held out; "
                          "take personachat among them")
    return FactReplies(np.stack(contexts), table.rows(text for _, text in texts), fact_rows(table, facts), texts)


def _likely(judged: FactReplies, data: TrainingData) -> Vectors:
    """The mean log-likelihood of each reply after its last utterance, and of the previous row's reply there."""
    model = data.models.masked(data.encoder)
    false = [judged.texts[place - 1][1] for place in range(len(judged.texts))]
    texts = [*judged.texts, *((before, reply) for (before, _), reply in zip(judged.texts, false, strict=True))]
    read = model.log_likelihoods([(before.strip(), reply.strip()) for before, reply in texts])
    means = np.array([values.mean() if values.size else 0.0 for values in read], dtype=np.float32)
    return np.stack(np.split(means, 2), axis=1)
