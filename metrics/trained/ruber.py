"""RUBER (Tao et al. 2018): how like the reference is the response, and how related to what it answers?

Unreferenced: GRUs in both directions read query and reply, word by word; [q ; r ; qᵀMr] goes into a net with a
sigmoid, which is to give a true reply 0.5 more than a random one (hinge loss). Referenced: the cosine of the word
vectors of response and reference, their maximum and minimum over the words side by side. `ruber` is the blend of both.

`size=large` is RUBER-Large of the DailyDialog++ paper, with two layers and wider.

Departures: word vectors are the frozen input embeddings of the run's encoder, for its tokens, brought to 128
dimensions; the GRUs are 64 wide (80 if large), where the DailyDialog++ paper has 1,024 (2,048) and 20 million pairs.
The query is the last three utterances, the last 40 tokens of them. Cosines are brought to 0..1 by (1 + cos) / 2 and
not by the least and largest of a dataset, so that a score depends on its item alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation
from metrics.trained.heads.pairs import FIVE
from metrics.trained.heads.ruber import Blend, blended, referenced
from metrics.trained.heads.words import Words, hinge_objective, unreferenced
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class Ruber:
    """σ(net([q ; r ; qᵀMr])), and its blend with (1 + cos([max ; min] of r, of g)) / 2."""

    card: ClassVar[MetricCard] = MetricCard(
        name="ruber", title="RUBER", columns=("ruber", "ruber-referenced", "ruber-unreferenced"), family="trained",
        models=("encoder",), checkpoints=("ruber",), paper="https://ojs.aaai.org/index.php/AAAI/article/view/11321",
        trained_on=", ".join(FIVE),
        notes="The unreferenced part needs a context, the referenced one a reference, their blend both.",
    )
    recipe: ClassVar[Recipe] = Recipe(FIVE, steps=1_200, rate=1e-3)
    encoder: str = ""
    size: Literal["base", "large"] = "base"
    blend: Blend = "mean"
    references: Aggregation = "standard"

    @classmethod
    def for_options(cls, given: Mapping[str, Any]) -> type[Ruber]:
        """The class whose card names the weights of this size."""
        if given.get("size", "base") == "base":
            return cls
        card = dataclasses.replace(cls.card, checkpoints=("ruber-large",))
        return type(cls.__name__, (cls,), {"__slots__": (), "__module__": cls.__module__, "card": card})

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Three columns, 0 to 1."""
        from metrics.trained.heads.recurrent import Recurrent

        words = Words(models.encoder(self.encoder))
        network = models.trained(self.card.checkpoints[0], Recurrent, self.encoder)
        alone = unreferenced(items, words, network)
        alike = referenced(items, words.extremes, self.references)
        return {"ruber": blended(self.blend, alike, alone), "ruber-referenced": alike, "ruber-unreferenced": alone}

    def objective(self, data: TrainingData) -> Objective:
        """Give a true reply 0.5 more than that of another pair."""
        more = {"hidden": 80, "layers": 2} if self.size == "large" else {}
        return hinge_objective(data, Words(data.models.encoder(self.encoder)), more)
