"""GRADE (Huang et al. 2020): coherence of a response with its context, in wording and in topic transitions.

Keywords of context and response are nodes; edges between the two sides are weighted 1 / hops in a concept graph. One
branch has three layers of graph attention over the nodes, the other encodes the utterances, and a network over both
gives the score. It is trained to score a true reply 0.1 above one similar in words or meaning (see network.py).

In `small`, a head compares the vectors of the utterances and also learns to find the true reply within a batch, as a
substitute for BERT's next-sentence prediction; the first layer projects word vectors to 48 dimensions. The graphs are
described in topics.py. `nodes` names a file of word vectors such as Numberbatch's.

Choices where the paper is silent: keywords come from the last two utterances; ten lexical candidates; a fifth of the
edges is dropped; words more than four hops apart have no edge, the same word on both sides an edge of weight 1; a node
is not in its own N_i; v_g = 0 without keywords.

`branch`, `khop`, `weighted`, `negatives`, `first` (N1) and `second` (N2) are the ablations of the paper's Table 3;
each needs its own training run. `recipe=paper` is the paper's system, which requires bert-base-uncased, ConceptNet and
Numberbatch. Where the paper is silent, it follows the released code: replies to at least two utterances, each against a
false reply similar in words and one similar in meaning; the rank of the former depends on how many replies share a
word; keywords by part of speech and rarity; the length of a path is its number of nodes, 20 if there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from benchmarks.dataset import Item
from metrics.graph.grade import topics
from metrics.graph.grade.contrasts import Kind, true_and_false
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.tokens import Pair
from metrics.training.examples import Contrast
from metrics.training.recipe import Dialogues, Split, Trainable, TrainingData, recipes_of

Concepts: TypeAlias = Literal["neighbours", "conceptnet"]


class TopicMetric(Trainable):
    """Base class of GRADE and TCM, with defaults for the options that TCM lacks."""

    __slots__ = ()
    encoder: str = ""
    graph: Concepts = "neighbours"
    branch: Literal["both", "utterances"] = "both"
    khop: bool = True
    weighted: bool = True
    negatives: Kind = "both"
    first: int = 10
    second: int = 10
    nodes: str = ""
    tagger: topics.Tagger = "lists"

    def weights_options(self) -> Mapping[str, str]:
        neighbours = f"n{self.first}-{self.second}"
        return {"graph": self.graph, "branch": self.branch, "khop": "no-khop", "weighted": "unweighted",
                "negatives": f"{self.negatives}-negatives", "first": neighbours, "second": neighbours,
                "nodes": "vectors" if self.nodes else "words", "tagger": f"{self.tagger}-keywords"}

    def depends(self, models: Models) -> Mapping[str, str]:
        """Return the concept graph and the word counts for choosing keywords."""
        return topics.depends(models, self.graph, self.nodes) if self.branch == "both" else {}

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return scores from 0 to 1, higher for a more coherent response; NaN without a context."""
        pairs = self.readings(items)
        rows = topics.with_topics([pair or Pair((), "") for pair in pairs], self.source(models), self.tagger,
                                  self.weighted)
        return {self.card.columns[0]: self.scorer(models).probabilities(
            [row if pair else None for row, pair in zip(rows, pairs, strict=True)])}

    def source(self, models: Models) -> topics.TopicSource | None:
        """Return the concept graph and the vectors of its terms; None without the graph branch."""
        if self.branch == "utterances":
            return None
        return topics.source(models, self.encoder, self.graph, self.first, self.second, self.nodes,
                             self.training.examples["apart"])

    def network(self, data: TrainingData) -> Mapping[str, Any]:
        source = self.source(data.models)
        return {"nodes": 0 if source is None else source.width, **({} if self.khop else {"hops": 0})}

    def examples(self, data: TrainingData) -> Split:
        source, most = self.source(data.models), data.recipe.examples.get("most") or (None, None)
        return data.split(lambda dialogues, count: self.contrasts(data, dialogues, source, count), most)

    def contrasts(self, data: TrainingData, dialogues: Dialogues, source: topics.TopicSource | None,
                  most: int | None) -> list[Contrast]:
        """Return contrasts of true and false replies for up to `most` random exchanges."""
        pairs = true_and_false(data, dialogues, self.negatives, most)
        rows = topics.with_topics([pair for side in zip(*pairs, strict=True) for pair in side], source, self.tagger,
                                  self.weighted)
        return [Contrast(true, false) for true, false in zip(rows[:len(pairs)], rows[len(pairs):], strict=True)]


@dataclass(frozen=True, slots=True)
class Grade(TopicMetric):
    """σ(FC([v_c ; v_g]))."""

    recipes = recipes_of("grade")
    card = MetricCard(
        name="grade", title="GRADE", columns=("grade",), family="graph", needs=("context",),
        models=("encoder",), checkpoints=("grade",), paper="https://aclanthology.org/2020.emnlp-main.742",
        trained_on=", ".join(recipes["small"].corpora),
        system="another method", fitted_on="dialogues", departures=(
            ("A frozen encoder, which encodes utterances separately, with a head that also finds the reply to each "
             "context in a batch; the paper fine-tunes BERT on both."),
            ("Nodes have the encoder's word vectors, not Numberbatch's; a graph of nearest words unless "
             "graph=conceptnet."),
            "Keywords by word lists unless tagger=nltk; five corpora, batches of 128 at 1e-3."))
    variants = ("graph=conceptnet",)
    encoder: str = ""
    graph: Concepts = "neighbours"
    branch: Literal["both", "utterances"] = "both"
    khop: bool = True
    weighted: bool = True
    negatives: Kind = "both"
    first: int = 10
    second: int = 10
    nodes: str = ""
    tagger: topics.Tagger = "lists"
    recipe: Literal["small", "paper"] = "small"
