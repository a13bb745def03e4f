"""DEB (Sai et al. 2020): the probability that the response is a valid next one.

The paper trains BERT on 727 million pairs from Reddit (next response and masked words), then on relevant responses of
DailyDialog++ against random or adversarial irrelevant ones, or both. In `small`, each step does both: the head, on the
last three utterances and the response, learns to find the reply to each context among 256 pairs of five corpora, and to
separate good replies of DailyDialog++ from false ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.errors import BadOption, MetricError
from metrics.metric import MetricCard
from metrics.models.tokens import Pair
from metrics.training.examples import GOOD, Contrast, response_contrasts, with_alternatives
from metrics.training.recipe import Dialogues, Objective, Split, Trainable, TrainingData, recipes_of

NEGATIVES = ("random", "adversarial", "both")
MAX_TURNS = 12
"""Maximum number of utterances in a context."""


@dataclass(frozen=True, slots=True)
class Deb(Trainable):
    """P(valid next response | context, response)."""

    recipes = recipes_of("deb")
    card = MetricCard(
        name="deb", title="DEB", columns=("deb",), family="trained", needs=("context",), models=("encoder",),
        checkpoints=("deb",), paper="https://aclanthology.org/2020.tacl-1.52",
        trained_on=", ".join(recipes["small"].corpora),
        system="another method", fitted_on="dialogues", departures=(
            "A head on a frozen encoder, which encodes utterances separately; the paper trains all of BERT.",
            "Five corpora and DailyDialog++ in one stage, without the paper's 727 million pairs from Reddit.",
            "Adversarial replies come from DailyDialog++'s dev split if its train split is not available."))
    variants = ("negatives=adversarial", "negatives=both")
    encoder: str = ""
    negatives: str = "random"
    recipe: Literal["small", "original", "pretrain", "finetune", "paper"] = "small"

    def __post_init__(self) -> None:
        if self.negatives not in NEGATIVES and not re.fullmatch(r"(?!0+%)\d?\d(\.\d*[1-9])?%", self.negatives):
            raise BadOption(f"negatives={self.negatives}: must be {', '.join(NEGATIVES)}, or a percentage: both, with "
                            "adversarial replies for that share of the contexts")

    def weights_options(self) -> Mapping[str, str]:
        return {"negatives": self.negatives.replace(".", "-").replace("%", "-per-cent")}

    def examples(self, data: TrainingData) -> Split:
        """Return good and false responses of DailyDialog++, or for pretraining every utterance with its context."""
        return data.split(lambda dialogues: (
            self._labelled_contrasts(dialogues, data.rng) if data.recipe.examples["judged"]
            else response_contrasts(dialogues, MAX_TURNS)))

    def objective(self, data: TrainingData) -> Objective:
        from metrics.training import objectives

        labelled = objectives.contrast(data, self.examples(data))
        if not data.recipe.examples["retrieval"]:
            return labelled
        unlabelled = data.split(lambda dialogues: response_contrasts(
            row for row in dialogues if GOOD not in row.labels))
        return objectives.retrieval(data, unlabelled, 4 * data.recipe.batch) + labelled

    def _labelled_contrasts(self, dialogues: Dialogues, rng: np.random.Generator) -> list[Contrast]:
        """Return good responses with random negatives, adversarial ones, or about equally many of both."""
        rows = with_alternatives(dialogues, MAX_TURNS)
        share = float(self.negatives[:-1]) / 100 if self.negatives.endswith("%") else 1.0
        hard = [row for row in rows if row.hard]
        sampled = [hard[index] for index in rng.permutation(len(hard))[: max(1, round(share * len(hard)))]]
        adversarial = [Contrast(Pair(row.turns, good), Pair(row.turns, row.hard[index % len(row.hard)]))
                       for row in sampled for index, good in enumerate(row.good)]
        if self.negatives != "random" and not adversarial:
            raise MetricError("the corpora have no adversarial replies; the dev or train split of dailydialog_pp "
                              "has some")
        random = [Contrast(Pair(row.turns, good)) for row in rows for good in row.good]
        if self.negatives == "adversarial":
            return adversarial
        repeats = 0 if self.negatives == "random" else max(1, len(random) // len(adversarial))
        return [*random, *(adversarial * repeats)]
