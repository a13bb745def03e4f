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
each is a training of its own. `nodes` names a file of word vectors such as Numberbatch's. `recipe=paper` is the paper's
system (published.py), which asks for bert-base-uncased, ConceptNet and Numberbatch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.graph._tables import TURNS, contexts, fill, in_blocks, items_table, last_turns
from metrics.graph.grade import published, topics
from metrics.metric import Columns, MetricCard
from metrics.models.scorer import probabilities
from metrics.models.service import Models
from metrics.models.text_table import Rows, TextTable
from metrics.text.keywords import Tagger
from metrics.text.words import reply
from metrics.training import negatives
from metrics.training.examples import FIVE, exchanges
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

PAIRS, HELD = 60_000, 3_000
"""How many pairs are trained on, and how many are held out."""
BATCH = 128

Negatives: TypeAlias = Literal["both", "lexical", "embedding", "random"]


@dataclass(frozen=True, slots=True)
class Grade(Trainable):
    """σ(FC([v_c ; v_g]))."""

    card: ClassVar[MetricCard] = MetricCard(
        name="grade", title="GRADE", columns=("grade",), family="graph", needs=("context",),
        models=("encoder",), checkpoints=("grade",), paper="https://aclanthology.org/2020.emnlp-main.742",
        trained_on=", ".join(FIVE),
        system="another method", fitted_on="dialogues",
        departures=(
            ("A frozen encoder, which reads each utterance alone, with a head that also finds the own reply in a "
             "batch; the paper fine-tunes BERT on both."),
            ("Nodes are the encoder's vectors of words, not Numberbatch's; a graph of nearest words unless "
             "graph=conceptnet."),
            "Keywords by word lists unless tagger=nltk; five corpora, batches of 128 at 1e-3.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_200, rate=1e-3, every=100), "paper": published.RECIPE}
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
    recipe: Literal["small", "paper"] = "small"

    @property
    def weights_name(self) -> str:
        """The checkpoint of these options."""
        own = self.recipes[self.recipe].options
        parts = {self.recipe: self.recipe != "small", self.graph: self.graph != own.get("graph", "neighbours"),
                 "utterances": self.branch == "utterances",
                 "no-khop": not self.khop, "unweighted": not self.weighted,
                 f"{self.negatives}-negatives": self.negatives != "both",
                 f"n{self.first}-{self.second}": (self.first, self.second) != (10, 10),
                 "vectors" if self.nodes else "words": self.nodes != own.get("nodes", "")}
        return "-".join(["grade", *(name for name, differs in parts.items() if differs)])

    def depends(self, models: Models) -> tuple[str, ...]:
        """The graph of concepts, and the counts that keywords are chosen by."""
        return topics.depends(models, self.graph, self.nodes) if self.branch == "both" else ()

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """0 to 1, higher is more coherent; NaN without a context."""
        if self.recipe != "small":
            return {"grade": published.scores(self.weights_name, items, models, self.encoder, self.tagger,
                                              self._source(models), self.weighted)}
        from metrics.graph.grade.network import GradeNetwork

        network = models.trained(self.weights_name, GradeNetwork, self.encoder).cpu().eval()
        table, before, replies = items_table(items, models.encoder(self.encoder))
        source = self._source(models)
        graphs = source and topics.item_topics(contexts(items), [reply(item) for item in items], source, self.tagger,
                                               self.weighted)

        def logits(block: Rows) -> Any:
            return network(table.tensor(before[block]), table.tensor(replies[block]), graphs and graphs.batch(block))

        return {"grade": fill(before[:, 0] > 0, lambda chosen: probabilities(
            in_blocks(np.flatnonzero(chosen), logits)))}

    def objective(self, data: TrainingData) -> Objective:
        """Give true replies more than false ones that are like them."""
        from metrics.graph.grade.network import GradeNetwork

        source = self._source(data.models, data.encoder)
        if self.recipe != "small":
            return published.objective(data, source, self.negatives, self.tagger, self.weighted, self.khop)
        pairs = grade_pairs(data, source, self.negatives, self.tagger, self.weighted)
        config = {"width": pairs[0].table.width, "turns": TURNS, "nodes": pairs[0].features,
                  "hops": 2 if self.khop else 0}
        return telling_apart(GradeNetwork, config, pairs)

    def _source(self, models: Models, encoder: str = "") -> topics.TopicSource | None:
        if self.branch == "utterances":
            return None
        source = topics.source(models, self.encoder or encoder, self.graph, self.first, self.second, self.nodes)
        return dataclasses.replace(source, apart=0 if self.recipe == "small" else published.APART)


@dataclass(frozen=True, slots=True)
class GradePairs:
    """Rows of a table for contexts, true and false replies; the graphs of all true pairs and then of all false ones.

    The false replies of the first `lexical` pairs share words with the true ones.
    """

    table: TextTable
    contexts: Rows
    true: Rows
    false: Rows
    graphs: topics.Topics | None
    lexical: int

    @property
    def features(self) -> int:
        """The width of a node's vector; 0 without graphs."""
        return 0 if self.graphs is None else int(self.graphs.features.shape[-1])

    def batch(self, rows: Rows, utterances: bool = True) -> dict[str, Any]:
        """Vectors and graphs of some pairs; the graphs of the false follow those of the true."""
        import torch

        batch: dict[str, Any] = {"lexical": torch.from_numpy(rows < self.lexical)}
        if utterances:
            tensor = self.table.tensor
            batch |= {"context": tensor(self.contexts[rows]), "true": tensor(self.true[rows]),
                      "false": tensor(self.false[rows])}
        if self.graphs is not None:
            batch["graphs"] = self.graphs.batch(np.concatenate([rows, rows + len(self.true)]))
        return batch


def grade_pairs(data: TrainingData, source: topics.TopicSource | None, kind: Negatives, tagger: Tagger = "lists",
                weighted: bool = True) -> tuple[GradePairs, GradePairs]:
    """Pairs to train on and pairs held out; without graphs where there is no source."""
    rng = data.rng
    parts = [_replies(some, most, rng) for some, most in ((data.dialogues(), PAIRS), (data.held_out(), HELD))]
    if min(len({number for *_, number in some}) for some in parts) < 2:
        raise MetricError(f"the corpora have {len(parts[0])} replies to train on and {len(parts[1])} held out; take "
                          "larger ones, of two dialogues or more each")
    table = TextTable((text for some in parts for context, reply, _ in some for text in (reply, *context)),
                      data.vectors)

    def pairs(some: Sequence[tuple[list[str], str, int]]) -> GradePairs:
        before, replies, numbers = zip(*some, strict=True)
        true = table.rows(replies)
        groups = np.array(numbers, dtype=np.int64)
        chosen, lexical = false_replies(replies, table.vectors[true][:, : table.width], groups, kind, rng)
        graphs = None
        if source is not None:
            false = [replies[row] for row in chosen.tolist()]
            graphs = topics.item_topics([*before, *before], [*replies, *false], source, tagger, weighted)
        return GradePairs(table, np.array([table.rows(texts) for texts in before], dtype=np.intp), true, true[chosen],
                          graphs, lexical)

    training, held = map(pairs, parts)
    return training, held


def _replies(dialogues: Sequence[Dialogue], most: int, rng: np.random.Generator) -> list[tuple[list[str], str, int]]:
    """Contexts, the last utterance first, their replies and the number of the dialogue: `most` at random."""
    replies = [(last_turns(before), text, number) for number, before, text in exchanges(dialogues)]
    return [replies[place] for place in rng.permutation(len(replies))[:most].tolist()]


def false_replies(replies: Sequence[str], vectors: Any, groups: Rows, kind: Negatives,
                  rng: np.random.Generator) -> tuple[Rows, int]:
    """The row of a false reply for each, and for how many of the first it was chosen by its words."""
    rows = np.arange(len(replies))
    if kind == "random":
        return negatives.random_others(rows, groups, rng), 0
    lexical = {"both": len(rows) // 2, "lexical": len(rows), "embedding": 0}[kind]
    parts = []
    if lexical:
        parts.append(negatives.lexical_others(rows[:lexical], negatives.Index(replies), groups, rng))
    if lexical < len(rows):
        parts.append(negatives.nearest_others(rows[lexical:], vectors, groups, rng))
    return np.concatenate(parts), lexical


def telling_apart(kind: Callable[..., Any], config: Mapping[str, Any], pairs: tuple[GradePairs, GradePairs],
                  utterances: bool = True) -> Objective:
    """Give true replies more than false ones that are like them."""
    from metrics.graph.grade.network import both, loss
    from metrics.training.objectives import shares

    training, held = pairs
    blocks = [held.batch(np.arange(start, min(start + BATCH, len(held.true))), utterances)
              for start in range(0, len(held.true), BATCH)]

    def hits(network: Any, block: dict[str, Any]) -> dict[str, Any]:
        right, wrong = both(network, block)
        return {"accuracy against lexical false replies": (right > wrong)[block["lexical"]],
                "accuracy against other false replies": (right > wrong)[~block["lexical"]]}

    return Objective(kind(**config), config,
                     lambda rng: training.batch(rng.integers(len(training.true), size=BATCH), utterances), blocks, loss,
                     shares(blocks, hits))
