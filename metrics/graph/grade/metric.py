"""GRADE (Huang et al. 2020): coherence of a response with its context, in wording and in topic transitions.

Keywords of context and response are nodes; edges between the two sides are weighted 1 / hops in a concept graph. Three
layers of graph attention read the nodes, a second branch reads the utterances, and a net over both gives the score. The
network is trained to score a true reply 0.1 above one that is similar in words or meaning (equations in network.py).

In `small` a head compares the vectors of the utterances and also learns to find the true reply within a batch, as a
substitute for BERT's next-sentence prediction; the first layer projects word vectors to 48 dimensions (Numberbatch has
300). `graph=neighbours` connects each word that can be a keyword to the ten nearest by the encoder; `graph=conceptnet`
reads the graph stored by `harness fetch conceptnet` or `harness import`.

Choices where the paper is silent: keywords come from the last two utterances; ten candidates by words; a fifth of the
edges is dropped; words more than four hops apart have no edge, the same word on both sides an edge of weight 1; a node
is not among its own N_i; v_g = 0 without any keyword.

`branch`, `khop`, `weighted`, `negatives`, `first` (N1) and `second` (N2) are the ablations of the paper's Table 3;
each needs a training of its own. `nodes` names a file of word vectors such as Numberbatch's. `recipe=paper` is the
paper's system, which requires bert-base-uncased, ConceptNet and Numberbatch.
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
