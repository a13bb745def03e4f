"""RM, the relevance of MME-CRS (Zhang et al. 2022): does the response belong to its context?

Label 1: the true reply, with or without its stop words. Label 0: of ten random replies, the one with the median
similarity to the true reply, so that negatives are neither obvious nor nearly correct.

In `small`, a network with one hidden layer uses the context's last three utterances, the response, their product and
their cosines before training; the recipe `paper` fine-tunes a SimCSE encoder on both as one sequence, max-pooled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.metric import MetricCard
from metrics.training.examples import Contrast, middle, response_contrasts, without_stop_words
from metrics.training.recipe import Dialogues, Split, Trainable, TrainingData, recipes_of

CANDIDATES = 10
"""Number of random replies; the one with the median similarity is the false reply."""
BLOCK_REPLIES = 1_024
"""Replies whose candidates are compared at a time."""


@dataclass(frozen=True, slots=True)
class MmeRm(Trainable):
    """P(relevant | context, response)."""

    recipes = recipes_of("mme-rm")
    card = MetricCard(
        name="mme-rm", title="MME-CRS relevance (RM)", columns=("mme-rm",), family="trained", needs=("context",),
        models=("encoder",), checkpoints=("mme-rm",), paper="https://arxiv.org/abs/2206.09403",
        trained_on=", ".join(recipes["small"].corpora),
        system="another method", fitted_on="dialogues", departures=(
            "A head on a frozen encoder, which encodes utterances separately; the paper fine-tunes a SimCSE on both.",
            "Similarity of replies is the encoder's cosine, not word2vec's; five corpora in place of one.",
            "Only 20,000 distinct replies lose their stop words, each half of the time; in the paper, any reply may."))
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def examples(self, data: TrainingData) -> Split:
        return data.split(lambda dialogues: median_negatives(data, dialogues))


def median_negatives(data: TrainingData, dialogues: Dialogues) -> list[Contrast]:
    """Contrast each reply, half of the time without stop words, with the random reply of median similarity.

    With the recipe's `shortened`, only that many distinct replies lose their stop words.
    """
    rng, true = data.rng, [example.right for example in response_contrasts(dialogues)]
    texts = list(dict.fromkeys(pair.response for pair in true))
    shortened = {texts[row]: without_stop_words(texts[row], rng)
               for row in rng.permutation(len(texts))[:data.recipe.examples.get("shortened")]}
    rows = {text: row for row, text in enumerate(texts)}
    vectors = data.means(texts)
    examples = []
    for start in range(0, len(true), BLOCK_REPLIES):
        block = true[start : start + BLOCK_REPLIES]
        candidates = rng.integers(len(texts), size=(len(block), CANDIDATES))
        median_columns = middle(vectors[[rows[pair.response] for pair in block]], vectors[candidates])
        for pair, false in zip(block, candidates[np.arange(len(block)), median_columns], strict=True):
            response = shortened.get(pair.response, pair.response) if rng.random() < 0.5 else pair.response
            examples.append(Contrast(pair._replace(response=response), pair._replace(response=texts[false])))
    return examples
