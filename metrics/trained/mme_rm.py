"""RM, the relevance of MME-CRS (Zhang et al. 2022): does the response belong to its context?

Label 1: the true reply, as it is or without its stop words. Label 0: of ten random replies the one whose likeness to
the true one is the middle, so that false replies are neither plain nor nearly true. A softmax over both; the score is
P(relevant).

Departures: the paper fine-tunes a SimCSE encoder on context and response as one sequence, max-pooled. Here the run's
encoder is frozen and reads each utterance alone; a net of one hidden layer sees the context's last three, the response,
their product and the pre-trained cosines. Likeness is the cosine of the encoder's vectors, not word2vec's. Five corpora
instead of DailyDialog alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.heads.pairs import (
    BATCH,
    FIVE,
    TURNS,
    Pairs,
    Rows,
    Table,
    items_table,
    judged,
    pairs,
    probabilities,
    where,
)
from metrics.training import negatives
from metrics.training.recipe import Objective, Recipe, TrainingData

SHORTENED = 20_000
"""Replies that are also met without their stop words, one time in two."""
TEN = 10


@dataclass(frozen=True, slots=True)
class MmeRm:
    """P(relevant | context, response)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-rm", title="MME-CRS relevance (RM)", columns=("mme-rm",), family="trained", needs=("context",),
        models=("encoder",), checkpoints=("mme-rm",), paper="https://arxiv.org/abs/2206.09403",
        trained_on=", ".join(FIVE),
    )
    recipe: ClassVar[Recipe] = Recipe(FIVE, steps=1_500, rate=1e-3)
    encoder: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A probability, 0 to 1; NaN without a context."""
        from metrics.trained.heads.networks import Relatedness

        network = models.trained("mme-rm", Relatedness, self.encoder)
        table, contexts, replies = items_table(items, models.encoder(self.encoder))
        return {"mme-rm": where(contexts[:, 0] > 0, lambda there: probabilities(
            judged(network, table, contexts[there], replies[there])))}

    def objective(self, data: TrainingData) -> Objective:
        """Tell true replies from those of middling likeness to them."""
        from metrics.trained.heads.losses import told_apart
        from metrics.trained.heads.networks import Relatedness

        replies = Replies.of(data)
        config = {"width": replies.table.width, "turns": TURNS}
        held = [replies.batch(replies.held, np.random.default_rng(place)) for place in range(8)]
        return Objective(Relatedness(**config), config, lambda rng: replies.batch(replies.training, rng), held,
                         told_apart)


@dataclass(frozen=True, slots=True)
class Replies:
    """Pairs to train on and pairs held out, and the rows of the replies that were also read without stop words."""

    table: Table
    training: Pairs
    held: Pairs
    short: dict[int, int]

    @classmethod
    def of(cls, data: TrainingData) -> Replies:
        """Read the vectors of all utterances, and of some replies without their stop words."""
        both, rng = (data.dialogues(), data.held_out()), data.rng
        texts = list(dict.fromkeys(turn.text for some in both for one in some for turn in one.utterances))
        chosen = [texts[place] for place in rng.permutation(len(texts))[:SHORTENED]]
        changed = [negatives.without_stop_words(text, rng) for text in chosen]
        table = Table([*texts, *changed], data.vectors)
        short = dict(zip(table.rows(chosen).tolist(), table.rows(changed).tolist(), strict=True))
        return cls(table, pairs(both[0], table), pairs(both[1], table), short)

    def batch(self, some: Pairs, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """Draw contexts with a true and a false reply each."""
        chosen = rng.integers(len(some), size=BATCH)
        true = some.replies[chosen]
        false = self._middle(true, some.replies[rng.integers(len(some), size=(BATCH, TEN))])
        kept = rng.random(BATCH) < 0.5
        shown = np.array([row if keep else self.short.get(row, row)
                          for row, keep in zip(true.tolist(), kept, strict=True)], dtype=np.intp)
        tensor = self.table.tensor
        return tensor(some.contexts[chosen]), tensor(shown), tensor(false)

    def _middle(self, true: Rows, pool: Rows) -> Rows:
        """Of each row of the pool the one that is neither most nor least like the true reply."""
        middle = negatives.middle(*(self.table.vectors[rows][..., : self.table.width] for rows in (true, pool)))
        return np.take_along_axis(pool, middle[:, None], axis=1)[:, 0]
