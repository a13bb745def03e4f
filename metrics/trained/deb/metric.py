"""DEB (Sai et al. 2020): is the response the valid next one, learned from many dialogues, then from DailyDialog++.

The paper trains a BERT on 727 million pairs of Reddit (which response comes next, and masked words), then on relevant
responses of DailyDialog++ against random, adversarial or both kinds of irrelevant ones; the score is the probability of
"valid".

Departures. The encoder is the run's and stays as it is, so that there are no masked words to learn; a head joins the
vectors of the last three utterances and of the response, each read alone, with the pre-trained cosines among what it
sees. Both stages are one: every step finds the own reply among those of 256 pairs of five corpora, and tells good
replies of DailyDialog++ from false ones. Adversarial replies are those of its dev split where its train split is not
to be had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.deb.data import deb_batches
from metrics.trained.heads.table import FIVE, TURNS, pair_probabilities
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class Deb:
    """P(valid next response | context, response)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="deb", title="DEB", columns=("deb",), family="trained", needs=("context",), models=("encoder",),
        checkpoints=("deb",), paper="https://aclanthology.org/2020.tacl-1.52",
        trained_on=", ".join((*FIVE, "dailydialog_pp")),
    )
    recipe: ClassVar[Recipe] = Recipe((*FIVE, "dailydialog_pp"), steps=3_000, rate=1e-3, every=200)
    variants: ClassVar[tuple[str, ...]] = ("negatives=adversarial", "negatives=both")
    encoder: str = ""
    negatives: Literal["random", "adversarial", "both"] = "random"

    @property
    def weights_name(self) -> str:
        """The checkpoint of this kind of false replies."""
        return "deb" if self.negatives == "random" else f"deb-{self.negatives}"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A probability, 0 to 1; NaN without a context."""
        from metrics.trained.deb.network import NextResponse

        network = models.trained(self.weights_name, NextResponse, self.encoder)
        return {"deb": pair_probabilities(items, network, models.encoder(self.encoder))}

    def objective(self, data: TrainingData) -> Objective:
        """Find the own reply among many, and classify good and false ones of DailyDialog++."""
        from metrics.trained.deb.network import NextResponse, loss
        from metrics.trained.heads.losses import accuracy

        batches = deb_batches(data, self.negatives)
        config = {"width": batches.width, "turns": TURNS}
        return Objective(NextResponse(**config), config, batches.draw, batches.held, loss,
                         accuracy([batch["judged"] for batch in batches.held], "false"))
