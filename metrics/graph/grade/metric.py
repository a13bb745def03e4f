"""GRADE (Huang et al. 2020): does the response go with its context, in what is said and in the topics it moves to?

Keywords of context and response are nodes, between the two sides are edges weighted 1 / hops in a graph of concepts.
Three layers of graph attention read them, beside a branch that reads the utterances; a net over both gives the score.
Trained to give a true reply 0.1 more than one that is like it in words or in meaning. network.py has the equations.

In `small` a head compares the vectors of the utterances and also learns to find the own reply among those of a batch,
in place of what BERT brings from predicting next sentences; the first layer brings the vectors of words to 48
dimensions (Numberbatch's have 300). `graph=neighbours` has the words that can be keywords, each with an edge to the ten
nearest by the encoder; `graph=conceptnet` reads what `harness fetch conceptnet` or `harness import` brought.

The paper leaves open, and here: keywords are those of the last two utterances; ten hits by words; a fifth of the edges
is dropped; no way within four hops is no edge, the same word on both sides one of weight 1; a node is not among its own
N_i; without any keyword v_g = 0.

`branch`, `khop`, `weighted`, `negatives`, `first` (N1) and `second` (N2) are the ablations of the paper's Table 3;
each is a training of its own. `nodes` names a file of word vectors such as Numberbatch's. `recipe=paper` is the paper's
system, which asks for bert-base-uncased, ConceptNet and Numberbatch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from metrics.graph.grade.pairs import RECIPE, SMALL, Concepts, Negatives, TopicMetric
from metrics.metric import MetricCard
from metrics.text.keywords import Tagger
from metrics.training.examples import FIVE
from metrics.training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Grade(TopicMetric):
    """σ(FC([v_c ; v_g]))."""

    card: ClassVar[MetricCard] = MetricCard(
        name="grade", title="GRADE", columns=("grade",), family="graph", needs=("context",),
        models=("encoder",), checkpoints=("grade",), paper="https://aclanthology.org/2020.emnlp-main.742",
        trained_on=", ".join(FIVE),
        system="another method", fitted_on="dialogues", departures=(
            ("A frozen encoder, which reads each utterance alone, with a head that also finds the own reply in a "
             "batch; the paper fine-tunes BERT on both."),
            ("Nodes are the encoder's vectors of words, not Numberbatch's; a graph of nearest words unless "
             "graph=conceptnet."),
            "Keywords by word lists unless tagger=nltk; five corpora, batches of 128 at 1e-3."))
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": dataclasses.replace(SMALL, architecture="grade-head"), "paper": RECIPE}
    variants: ClassVar[tuple[str, ...]] = ("graph=conceptnet",)
    encoder: str = ""
    graph: Concepts = "neighbours"
    branch: Literal["both", "utterances"] = "both"
    khop: bool = True
    weighted: bool = True
    negatives: Negatives = "both"
    first: int = 10
    second: int = 10
    nodes: str = ""
    tagger: Tagger = "lists"
    recipe: Literal["small", "paper"] = "small"
