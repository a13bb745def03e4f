"""TCM, the topic coherence of MME-CRS (Zhang et al. 2022): GRADE's topic graph, without its utterance branch.

The departures of `small` are those of GRADE (grade/metric.py): nodes are the encoder's vectors of words, concepts are
the words that can be keywords with the ten nearest of each unless graph=conceptnet, five corpora, larger batches, a
higher rate. Where neither side has a keyword v_g = 0, and all such items have the same score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.graph._tables import contexts, fill, in_blocks
from metrics.graph.grade import published, topics
from metrics.graph.grade.metric import grade_pairs, telling_apart
from metrics.metric import Columns, MetricCard
from metrics.models.scorer import probabilities
from metrics.models.service import Models
from metrics.models.text_table import Rows
from metrics.text.keywords import Tagger
from metrics.text.words import reply
from metrics.training.examples import FIVE
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData


@dataclass(frozen=True, slots=True)
class MmeTcm(Trainable):
    """σ(FC(v_g))."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-tcm", title="MME-CRS topic coherence (TCM)", columns=("mme-tcm",), family="graph", needs=("context",),
        models=("encoder",), checkpoints=("mme-tcm",), paper="https://arxiv.org/abs/2206.09403",
        trained_on=", ".join(FIVE),
        system="another method", fitted_on="dialogues",
        departures=(
            ("Nodes are a frozen encoder's vectors of words, not Numberbatch's; a graph of nearest words unless "
             "graph=conceptnet."),
            "Keywords by word lists; five corpora, larger batches, a higher rate.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_200, rate=1e-3, every=100),
        "paper": dataclasses.replace(published.RECIPE, rate=1e-5, encoder="", network={
            **published.RECIPE.network, "dropout": 0.0}, departures=(
            "What the paper leaves open is as in GRADE's paper, and in its formulas, not its released code.",
            *(published.RECIPE.departures or ())[1:]))}
    encoder: str = ""
    graph: Literal["neighbours", "conceptnet"] = "neighbours"
    nodes: str = ""
    tagger: Tagger = "lists"
    recipe: Literal["small", "paper"] = "small"

    @property
    def weights_name(self) -> str:
        """The checkpoint of these options."""
        own = self.recipes[self.recipe].options
        parts = {self.recipe: self.recipe != "small", self.graph: self.graph != own.get("graph", "neighbours"),
                 "vectors" if self.nodes else "words": self.nodes != own.get("nodes", "")}
        return "-".join(["mme-tcm", *(name for name, differs in parts.items() if differs)])

    def depends(self, models: Models) -> tuple[str, ...]:
        """The graph of concepts, and the counts that keywords are chosen by."""
        return topics.depends(models, self.graph, self.nodes)

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """0 to 1, higher is more coherent; NaN without a context."""
        from metrics.graph.grade.network import TopicCoherence

        network = models.trained(self.weights_name, TopicCoherence, self.encoder).cpu().eval()
        before = contexts(items)
        if self.recipe != "small":
            before = [texts[: published.TURNS] for texts in before]
        graphs = topics.item_topics(before, [reply(item) for item in items], self._source(models), self.tagger)

        def logits(block: Rows) -> Any:
            return network(graphs.batch(block))

        available = np.array([bool(texts[0]) for texts in before])
        return {"mme-tcm": fill(available, lambda chosen: probabilities(
            in_blocks(np.flatnonzero(chosen), logits)))}

    def objective(self, data: TrainingData) -> Objective:
        """Give the topics of true replies more than those of false ones that are like them."""
        from metrics.graph.grade.network import TopicCoherence

        source = self._source(data.models, data.encoder)
        if self.recipe != "small":
            return published.of_topics(data, source, self.tagger)
        pairs = grade_pairs(data, source, "both", self.tagger)
        config = {"nodes": pairs[0].features}
        return telling_apart(TopicCoherence, config, pairs, utterances=False)

    def _source(self, models: Models, encoder: str = "") -> topics.TopicSource:
        source = topics.source(models, self.encoder or encoder, self.graph, 10, 10, self.nodes)
        return dataclasses.replace(source, apart=0 if self.recipe == "small" else published.APART)
