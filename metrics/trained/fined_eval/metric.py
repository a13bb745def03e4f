"""FineD-Eval (Zhang et al. 2022): coherence, likability and topic depth of a whole dialogue, and their mean.

Each sub-metric learns to prefer the better of two dialogues, max(0, −(s₊ − s₋) + 0.1), from pairs made without any
human rating: utterances in order against shuffled, questions answered well against badly; few contradictions against
many, positive sentiment against none; utterances that follow from those before against such that do not, rare words
against common ones. The ensemble is the mean of the three scores; in `fined-eval-multitask` the three share a reader.

Departures. The paper reads a dialogue as one sequence with RoBERTa, utterances apart by </UTT>; here the run's encoder
is frozen and reads each utterance alone, and a small network of convolutions reads those, its states averaged. As it
reads each dialogue alone, the loss is the same for both orders of a pair, and one is drawn. The judges that choose the
pairs are small heads on the same vectors in place of pre-trained ones: inference from DialogueNLI, sentiment from the
emotions of DailyDialog and Topical-Chat, answers from questions and answers of the corpora; specificity is NIDF. A pair
is of one corpus, from its highest and its lowest third, and five corpora take turns instead of two; of a dialogue of
more than 20 utterances the first 20 are trained on. The second strategy of likability and those of topic depth stand in
a part of the paper that was not at hand, and were chosen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.heads.table import FIVE, TextTable, by_length, padded, probabilities, raw_scores, reading, stable
from metrics.training.recipe import Objective, Recipe, TrainingData

CORPORA = (*FIVE, "dialogue_nli_sample")
TOGETHER = 4096
"""Utterances, padding included, that are read at a time."""


@dataclass(frozen=True, slots=True)
class FinedEvaluation:
    """The mean of three sub-metrics, and the three."""

    card: ClassVar[MetricCard] = MetricCard(
        name="fined-eval", title="FineD-Eval (ensemble)",
        columns=("fined-eval", "fined-eval-coherence", "fined-eval-likability", "fined-eval-topic-depth"),
        family="trained", levels=("turn", "dialogue"), models=("encoder",), checkpoints=("fined-eval",),
        paper="https://aclanthology.org/2022.emnlp-main.220", trained_on=", ".join(CORPORA),
        notes="Of a response it reads the context and the response; needs two utterances.",
    )
    recipe: ClassVar[Recipe] = Recipe(CORPORA, steps=1_200, rate=2e-3, every=100)
    shared: ClassVar[bool] = False
    encoder: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Four columns, 0 to 1; NaN for fewer than two utterances, or a response without words."""
        from metrics.trained.fined_eval.network import FinedEval

        name, *dimensions = self.card.columns
        network, encoder = models.trained(name, FinedEval, self.encoder), models.encoder(self.encoder)
        texts = [[] if item.response is not None and not item.response.text.strip() else
                 [turn.text for turn in item.utterances if turn.text.strip()] for item in items]
        table = TextTable((text for several in texts for text in several), reading(encoder))
        rows = [table.spoken(several) for several in texts]
        scores = np.full((len(items), len(dimensions)), np.nan)
        for places in by_length([len(several) for several in rows], TOGETHER):
            scores[places] = probabilities(stable(np.array(places), lambda chosen: raw_scores(
                network, table, padded([rows[place] for place in chosen]))))
        return {name: scores.mean(1), **dict(zip(dimensions, scores.T, strict=True))}

    def objective(self, data: TrainingData) -> Objective:
        """Prefer the better dialogue in each dimension, each with a reader of its own or one for all."""
        from metrics.trained.fined_eval.data import preferences
        from metrics.trained.fined_eval.network import FinedEval, accuracies, loss

        batches, report = preferences(data)
        after = accuracies(batches.held)
        return batches.objective(FinedEval, loss, lambda network: {**report, **after(network)}, shared=self.shared)
