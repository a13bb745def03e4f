"""RM, the relevance of MME-CRS (Zhang et al. 2022): does the response belong to its context?

Label 1: the true reply, as it is or without its stop words. Label 0: of ten random replies the one whose likeness to
the true one is the middle, so that false replies are neither plain nor nearly true. A softmax over both; the score is
P(relevant).

The paper, and the recipe `paper`, fine-tune a SimCSE encoder on context and response as one sequence, max-pooled.
Departures of `small`: the run's encoder is frozen and reads each utterance alone; a net of one hidden layer sees the
context's last three, the response, their product and the pre-trained cosines. Likeness is the cosine of the encoder's
vectors, not word2vec's. Five corpora instead of DailyDialog alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import words
from metrics.trained.heads import cross_encoder
from metrics.trained.heads.data import BATCH, ReplyPairs, pairs
from metrics.trained.heads.table import FIVE, TURNS, TextTable, pair_probabilities
from metrics.trained.mme_fm import PAPER
from metrics.training import negatives
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData
from metrics.training.replies import WHOLE, Answered, answered

SHORTENED = 20_000
"""Replies that are also read without their stop words, one time in two."""
CANDIDATES = 10
"""Random replies of which the middle one is the false reply."""


@dataclass(frozen=True, slots=True)
class MmeRm(Trainable):
    """P(relevant | context, response)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-rm", title="MME-CRS relevance (RM)", columns=("mme-rm",), family="trained", needs=("context",),
        models=("encoder",), checkpoints=("mme-rm",), paper="https://arxiv.org/abs/2206.09403",
        trained_on=", ".join(FIVE),
        system="another method", fitted_on="dialogues",
        departures=(
            "A head on a frozen encoder, which reads each utterance alone; the paper fine-tunes a SimCSE on both.",
            "Likeness of replies is the encoder's cosine, not word2vec's; five corpora in place of one.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_500, rate=1e-3),
        "paper": dataclasses.replace(PAPER, departures=(*(PAPER.departures or ()), (
            "Likeness of replies is the cosine of their mean input embeddings, not of word2vec's.")))}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A probability, 0 to 1; NaN without a context."""
        if self.recipe != "small":
            return {"mme-rm": cross_encoder.pair_probabilities(items, models, self.card.checkpoints[0], self.encoder)}
        return {"mme-rm": pair_probabilities(items, models, "mme-rm", self.encoder, "Relatedness")}

    def objective(self, data: TrainingData) -> Objective:
        """Classify true replies and those of middling likeness to them."""
        if self.recipe != "small":
            return self._from_tokens(data)
        from metrics.trained.heads.losses import right_or_wrong
        from metrics.trained.heads.networks import Relatedness

        both, rng = (data.dialogues(), data.held_out()), data.rng
        texts = list(dict.fromkeys(turn.text for dialogues in both for dialogue in dialogues
                                   for turn in dialogue.utterances))
        chosen = [texts[place] for place in rng.permutation(len(texts))[:SHORTENED]]
        changed = [negatives.without_stop_words(text, rng) for text in chosen]
        table = TextTable([*texts, *changed], data.vectors)
        short = dict(zip(table.rows(chosen).tolist(), table.rows(changed).tolist(), strict=True))
        training, held = (pairs(dialogues, table) for dialogues in both)
        config = {"width": table.width, "turns": TURNS}
        batches = [_batch(table, held, short, np.random.default_rng(place)) for place in range(8)]
        return Objective(Relatedness(**config), config, lambda rng: _batch(table, training, short, rng), batches,
                         right_or_wrong)

    def _from_tokens(self, data: TrainingData) -> Objective:
        """Tell true replies from those of middling likeness, each read together with what was said before."""
        from metrics.training.tuned import Parts, contrasts

        vectors = data.models.vectors()
        training, held = (answered(dialogues, WHOLE) for dialogues in (data.dialogues(), data.held_out()))
        means = {id(part): np.array([vectors.of(words(row.good[0])).sum(0) for row in part])
                 for part in (training, held)}  # as long as it may be: a cosine is taken

        def examples(part: Sequence[Answered], rng: np.random.Generator, many: int) -> list[Any]:
            chosen, candidates = rng.integers(len(part), size=many), rng.integers(len(part), size=(many, CANDIDATES))
            middle = negatives.middle(means[id(part)][chosen], means[id(part)][candidates])
            pairs = []
            for row, false in zip(chosen, np.take_along_axis(candidates, middle[:, None], 1)[:, 0], strict=True):
                context, true = part[row].context(), part[row].good[0]
                right = true if rng.random() < 0.5 else negatives.without_stop_words(true, rng)
                pairs.append(((context, right), (context, part[false].good[0])))
            return pairs

        return contrasts(data, Parts(training, held, examples, len(training) // 2), pooling="max")


def _batch(table: TextTable, some: ReplyPairs, short: dict[int, int], rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Contexts (BATCH, TURNS, 2 · width) with a true and a false reply each, the middle one of the candidates."""
    chosen = rng.integers(len(some), size=BATCH)
    true = some.replies[chosen]
    candidates = some.replies[rng.integers(len(some), size=(BATCH, CANDIDATES))]
    middle = negatives.middle(*(table.vectors[rows][..., : table.width] for rows in (true, candidates)))
    false = np.take_along_axis(candidates, middle[:, None], axis=1)[:, 0]
    whole = rng.random(BATCH) < 0.5
    read = np.array([row if as_it_is else short.get(row, row)
                     for row, as_it_is in zip(true.tolist(), whole, strict=True)], dtype=np.intp)
    return table.tensor(some.contexts[chosen]), table.tensor(read), table.tensor(false)
