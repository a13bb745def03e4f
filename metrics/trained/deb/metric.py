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
from typing import TYPE_CHECKING, ClassVar, Literal

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.trained.heads.pairs import FIVE, TURNS, items_table, judged, probabilities, where
from metrics.training.recipe import Objective, Recipe, TrainingData

if TYPE_CHECKING:
    from metrics.trained.deb.network import NextResponse


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
        network = self._network(models)
        table, contexts, replies = items_table(items, models.encoder(self.encoder))
        return {"deb": where(contexts[:, 0] > 0, lambda there: probabilities(
            judged(network, table, contexts[there], replies[there])))}

    def hidden(self, items: Sequence[Item], models: Models) -> Vectors:
        """What the last layer reads of each item: (items, size)."""
        import torch

        table, contexts, replies = items_table(items, models.encoder(self.encoder))
        network = self._network(models).cpu().float()
        with torch.inference_mode():
            found: Vectors = network.hidden(table.tensor(contexts), table.tensor(replies)).numpy()
        return found

    def _network(self, models: Models) -> NextResponse:
        from metrics.trained.deb.network import NextResponse

        return models.trained(self.weights_name, NextResponse, self.encoder)

    def objective(self, data: TrainingData) -> Objective:
        """Find the own reply among many, and tell good ones of DailyDialog++ from false ones."""
        from metrics.trained.deb import network as _deb

        batches = _deb.DebBatches.of(data, self.negatives)
        config = {"width": batches.pairs.table.width, "turns": TURNS}
        held = batches.held_out(data.rng)
        return Objective(_deb.NextResponse(**config), config, batches.draw, held, _deb.loss,
                         lambda network: _deb.accuracies(network, held))
