"""TCM, the topic coherence of MME-CRS (Zhang et al. 2022): GRADE's topic graph, without its utterance branch.

It departs from the paper as GRADE does (grade/metric.py). If there are no keywords at all, v_g = 0, so all such items
have the same score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metrics.graph.grade.metric import Concepts, TopicMetric
from metrics.metric import MetricCard
from metrics.text.keywords import Tagger
from metrics.training.recipe import recipes_of


@dataclass(frozen=True, slots=True)
class MmeTcm(TopicMetric):
    """σ(FC(v_g))."""

    recipes = recipes_of("mme-tcm")
    card = MetricCard(
        name="mme-tcm", title="MME-CRS topic coherence (TCM)", columns=("mme-tcm",), family="graph", needs=("context",),
        models=("encoder",), checkpoints=("mme-tcm",), paper="https://arxiv.org/abs/2206.09403",
        trained_on=", ".join(recipes["small"].corpora),
        system="another method", fitted_on="dialogues", departures=(
            ("Nodes have a frozen encoder's word vectors, not Numberbatch's; a graph of nearest words unless "
             "graph=conceptnet."),
            "Keywords by word lists; five corpora, larger batches, a higher learning rate."))
    encoder: str = ""
    graph: Concepts = "neighbours"
    nodes: str = ""
    tagger: Tagger = "lists"
    recipe: Literal["small", "paper"] = "small"
