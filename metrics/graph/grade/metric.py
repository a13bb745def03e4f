"""GRADE (Huang et al. 2020): does the response go with its context, in what is said and in the topics it moves to?

Keywords of context and response are nodes, between the two sides are edges weighted 1 / hops in a graph of concepts.
Three layers of graph attention read them, beside a branch that reads the utterances; a net over both gives the score.
Trained to give a true reply 0.1 more than one that is like it in words or in meaning. network.py has the equations.

Departures. The paper fine-tunes BERT on context and response; here the run's encoder is frozen and reads each utterance
alone, and a head compares them, which also learns to find the own reply among those of a batch, in place of what BERT
brings from predicting next sentences. Nodes are the encoder's vectors of the words, brought from its width to 48
dimensions by the first layer (the paper: Numberbatch, 300), and v_g sees besides how near each topic's nearest is. Five
corpora instead of DailyDialog, batches of 128 at a rate of 1e-3, dropout in the net. Without ConceptNet on the machine
the concepts are the words that can be keywords, each with an edge to the ten nearest by the encoder
(`graph=neighbours`, the default); `graph=conceptnet` reads what `harness fetch conceptnet` or `harness import` brought.

What the paper leaves open. Keywords are those of the last two utterances; ten hits by words; a fifth of the edges is
dropped; no way within four hops is no edge, the same word on both sides one of weight 1; a node is not among its own
N_i; without any keyword v_g = 0.

`branch`, `khop`, `weighted`, `negatives`, `first` (N1) and `second` (N2) are the ablations of the paper's Table 3;
each is a training of its own. `nodes` names a file of word vectors such as Numberbatch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.graph.grade import topics
from metrics.graph.grade.data import Negatives, grade_pairs, objective
from metrics.metric import Column, Columns, MetricCard
from metrics.models.service import Models
from metrics.text.keywords import Tagger
from metrics.text.words import reply
from metrics.trained.heads.table import FIVE, TURNS, Rows, contexts, fill, items_table, probabilities, stable
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class Grade:
    """σ(FC([v_c ; v_g]))."""

    card: ClassVar[MetricCard] = MetricCard(
        name="grade", title="GRADE", columns=("grade",), family="graph", needs=("context",),
        models=("encoder",), checkpoints=("grade",), paper="https://aclanthology.org/2020.emnlp-main.742",
        trained_on=", ".join(FIVE),
    )
    recipe: ClassVar[Recipe] = Recipe(FIVE, steps=1_200, rate=1e-3, every=100)
    variants: ClassVar[tuple[str, ...]] = ("graph=conceptnet",)
    encoder: str = ""
    graph: Literal["neighbours", "conceptnet"] = "neighbours"
    branch: Literal["both", "utterances"] = "both"
    khop: bool = True
    weighted: bool = True
    negatives: Negatives = "both"
    first: int = 10
    second: int = 10
    nodes: str = ""
    tagger: Tagger = "lists"

    @property
    def weights_name(self) -> str:
        """The checkpoint of these options."""
        parts = {"conceptnet": self.graph == "conceptnet", "utterances": self.branch == "utterances",
                 "no-khop": not self.khop, "unweighted": not self.weighted,
                 f"{self.negatives}-negatives": self.negatives != "both",
                 f"n{self.first}-{self.second}": (self.first, self.second) != (10, 10), "vectors": bool(self.nodes)}
        return "-".join(["grade", *(name for name, differs in parts.items() if differs)])

    def depends(self, models: Models) -> tuple[str, ...]:
        """The graph of concepts, and the counts that keywords are chosen by."""
        return topics.depends(models, self.graph, self.nodes) if self.branch == "both" else ()

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """0 to 1, higher is more coherent; NaN without a context."""
        from metrics.graph.grade.network import GradeNetwork

        return {"grade": self.network_scores(models.trained(self.weights_name, GradeNetwork, self.encoder), items,
                                             models)}

    def network_scores(self, network: Any, items: Sequence[Item], models: Models) -> Column:
        """The scores of the items by a network."""
        network = network.cpu().double().eval()
        table, before, replies = items_table(items, models.encoder(self.encoder))
        graphs = (topics.item_topics(contexts(items), [reply(item) for item in items], self._source(models),
                                     self.tagger, self.weighted) if self.branch == "both" else None)

        def logits(rows: Rows) -> Column:
            return topics.in_blocks(rows, lambda block: network(
                table.tensor(before[block]).double(), table.tensor(replies[block]).double(),
                graphs and graphs.batch(block).apply(topics.double)))

        return fill(before[:, 0] > 0, lambda chosen: probabilities(stable(np.flatnonzero(chosen), logits)))

    def objective(self, data: TrainingData) -> Objective:
        """Give true replies more than false ones that are like them."""
        from metrics.graph.grade.network import GradeNetwork

        source = self._source(data.models, data.encoder) if self.branch == "both" else None
        training, held = grade_pairs(data, source, self.negatives, self.tagger, self.weighted)
        config = {"width": training.table.width, "turns": TURNS, "nodes": training.features,
                  "hops": 2 if self.khop else 0}
        return objective(GradeNetwork(**config), config, training, held)

    def _source(self, models: Models, encoder: str = "") -> topics.TopicSource:
        return topics.source(models, self.encoder or encoder, self.graph, self.first, self.second, self.nodes)
