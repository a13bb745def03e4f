"""TCM, the topic coherence of MME-CRS (Zhang et al. 2022): GRADE's topic graph, without its utterance branch.

The departures of `small` are those of GRADE (grade/metric.py): nodes are the encoder's vectors of words, concepts are
the words that can be keywords with the ten nearest of each unless graph=conceptnet, five corpora, larger batches, a
higher rate. Where neither side has a keyword v_g = 0, and all such items have the same score.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from benchmarks.dataset import Item
from metrics.graph.grade import pairs, topics
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.keywords import Tagger
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
        "small": dataclasses.replace(pairs.SMALL, architecture="topic-graph"),
        "paper": dataclasses.replace(pairs.RECIPE, rate=1e-5, encoder="", architecture="topic-graph", network={
            **pairs.RECIPE.network, "dropout": 0.0}, departures=(
            "What the paper leaves open is as in GRADE's paper, and in its formulas, not its released code.",
            *(pairs.RECIPE.departures or ())[1:]))}
    encoder: str = ""
    graph: Literal["neighbours", "conceptnet"] = "neighbours"
    nodes: str = ""
    tagger: Tagger = "lists"
    recipe: Literal["small", "paper"] = "small"

    @property
    def weights_name(self) -> str:
        """The checkpoint of these options."""
        own = self.recipes[self.recipe].options
        parts = {self.graph: self.graph != own.get("graph", "neighbours"),
                 "vectors" if self.nodes else "words": self.nodes != own.get("nodes", "")}
        return self.named(*(name for name, differs in parts.items() if differs))

    def depends(self, models: Models) -> tuple[str, ...]:
        """The graph of concepts, and the counts that keywords are chosen by."""
        return topics.depends(models, self.graph, self.nodes)

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return scores of 0 to 1, higher is more coherent; NaN without a context."""
        from metrics.graph.grade import network  # noqa: F401, it registers its architectures

        readings = pairs.of_items(items, self._source(models), self.tagger)
        return {"mme-tcm": models.scorer(self.weights_name, self.encoder).probabilities(readings)}

    def objective(self, data: TrainingData) -> Objective:
        """Give the topics of true replies more than those of false ones that are like them."""
        return pairs.objective(data, self._source(data.models, data.encoder), "both", self.tagger)

    def _source(self, models: Models, encoder: str = "") -> topics.TopicSource:
        source = topics.source(models, self.encoder or encoder, self.graph, 10, 10, self.nodes)
        return dataclasses.replace(source, apart=self.recipes[self.recipe].examples["apart"])
