"""GRADE as in its paper: BERT reads the last two utterances and the response together, beside it the graph of topics.

The network is the paper's (PublishedGrade in network.py); sizes, rates and what the paper leaves open are those of the
released code: what follows the last two utterances of a dialogue, against one false reply like it in words and one like
it in meaning; the rank of the former by how many share a word; keywords by part of speech and rarity; ways counted by
their nodes, 20 where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.graph._tables import contexts
from metrics.graph.grade import topics
from metrics.metric import Column
from metrics.models.readings import Pair
from metrics.models.service import Models
from metrics.models.text_table import Rows
from metrics.text.keywords import Tagger
from metrics.text.words import reply
from metrics.training import negatives
from metrics.training.examples import Contrast, exchanges
from metrics.training.recipe import Objective, Recipe, TrainingData

HELD_OUT = 8
"""Batches that are held out where topics alone are learned from."""
TURNS, APART = 2, 20
"""Utterances before a response, and the hops of two topics between which there is no way."""
RANKS = {20: 11, 50: 16, 100: 46, 200: 96, 500: 196, 1_000: 696}
"""Of more than so many texts that share a word with a reply, the rank of the false one; the first of fewer."""
RECIPE = Recipe(
    ("dailydialog",), steps=37_040, epochs=5.0, rate=2e-5, warmup=0.1, every=5_000, patience=99, clip=10.0,
    encoder="bert-base-uncased", batch=16, margin=0.1, architecture="grade-cross-encoder",
    network={"heads": 4, "layers": 3, "branch": 512, "hidden": 512, "second": 128},
    options={"graph": "conceptnet", "nodes": "numberbatch-en-19.08.txt.gz", "tagger": "weighed"},
    departures=(
        ("The published numbers are of the released code, which drops [CLS] before pooling, gives edges and attention "
         "to the wrong nodes, adds one vector to all nodes and drops edges when it scores; here the paper's formulas "
         "stand."),
        ("Keywords are words, not lemmas, whose rarity is that of five corpora; neighbours are those of the heaviest "
         "edges, not the nearest by cosine; a way has four hops at most; Numberbatch's vectors are not trained."),
        ("Nearness in meaning is that of the encoder's mean token states, not of BERT's pooled ones; no true reply is "
         "a false one; what is too long loses its beginning."),
        "Batches are drawn at random with replacement.",
    ))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Contexts (the last utterance first) and replies, of which `whose` has the false ones `false`, and the graphs.

    The graphs of all true pairs come first, then those of the false ones.
    """

    before: Sequence[Sequence[str]]
    replies: Sequence[str]
    whose: Rows
    false: Rows
    graphs: topics.Topics | None

    def examples(self) -> list[Contrast]:
        """Return each context with its true and its false reply."""
        rows = []
        for place, (row, false) in enumerate(zip(self.whose.tolist(), self.false.tolist(), strict=True)):
            context = said(self.before[row])
            rows.append(Contrast(TopicPair(Pair(context, self.replies[row]), self.graphs, row),
                                 TopicPair(Pair(context, self.replies[false]), self.graphs, len(self.replies) + place)))
        return rows


class TopicPair(NamedTuple):
    """A context with a reply, and the row of their graph of topics."""

    pair: Pair
    graphs: topics.Topics | None
    row: int


def said(before: Sequence[str]) -> tuple[str, ...]:
    """Return the last utterances of a context in their order."""
    return tuple(filter(None, before[TURNS - 1 :: -1]))


def pairs(dialogues: Sequence[Dialogue], data: TrainingData, source: topics.TopicSource | None, kind: str,
          tagger: Tagger, weighted: bool) -> Pairs:
    """Each reply to two utterances or more, with its false replies."""
    some = [exchange for exchange in exchanges(dialogues) if len(exchange[1]) >= TURNS]
    groups = np.array([number for number, *_ in some], dtype=np.int64)
    if len(np.unique(groups)) < 2:
        raise MetricError(f"the corpora have {len(some)} replies to two utterances, to train on or held out; take "
                          "larger ones, of two dialogues or more each")
    before, replies = [said[: -TURNS - 1 : -1] for _, said, _ in some], [text for *_, text in some]
    rows, rng, false = np.arange(len(replies)), data.rng, []
    if kind == "random":
        false.append(negatives.random_others(rows, groups, rng))
    if kind in ("both", "lexical"):
        false.append(negatives.lexical_others(rows, negatives.Index(replies), groups, rng, ranks=RANKS))
    if kind in ("both", "embedding"):
        vectors = data.vectors(replies)
        false.append(negatives.nearest_others(rows, vectors[:, : vectors.shape[1] // 2], groups, rng))
    whose, chosen = np.tile(rows, len(false)), np.concatenate(false)
    graphs = None if source is None else topics.item_topics(
        [*before, *(before[row] for row in whose)], [*replies, *(replies[row] for row in chosen)], source, tagger,
        weighted)
    return Pairs(before, replies, whose, chosen, graphs)


def objective(data: TrainingData, source: topics.TopicSource | None, kind: str, tagger: Tagger, weighted: bool,
              khop: bool) -> Objective:
    """Give true replies more than false ones that are like them, by a margin."""
    from metrics.graph.grade import network  # noqa: F401, it registers its architectures
    from metrics.training.objectives import contrast
    from metrics.training.tuned import built

    training, held = (pairs(some, data, source, kind, tagger, weighted)
                      for some in (data.dialogues(), data.held_out()))
    built(data, nodes=0 if training.graphs is None else int(training.graphs.features.shape[-1]), hops=2 if khop else 0)
    return contrast(data, training.examples(), held.examples())


def of_topics(data: TrainingData, source: topics.TopicSource, tagger: Tagger) -> Objective:
    """The same from the graphs of topics alone (TCM of MME-CRS)."""
    from metrics.graph.grade.network import TopicCoherence
    from metrics.training.objectives import margin_ranking, shares

    training, held = (pairs(some, data, source, "both", tagger, True) for some in (data.dialogues(), data.held_out()))
    rng = data.rng

    def batch(part: Pairs, rng: np.random.Generator) -> tuple[Any, ...]:
        rows = rng.integers(len(part.whose), size=data.recipe.batch)
        return () if part.graphs is None else (
            part.graphs.batch(part.whose[rows]), part.graphs.batch(len(part.replies) + rows))

    config: dict[str, Any] = {
        "nodes": int(training.graphs.features.shape[-1]) if training.graphs else 0, **data.recipe.network}
    batches = [batch(held, rng) for _ in range(HELD_OUT)]
    return Objective(
        TopicCoherence(**config), config, lambda rng: batch(training, rng), batches,
        lambda network, both: margin_ranking(network(both[0]), network(both[1]), data.recipe.margin),
        shares(batches, lambda network, both: {"pairs in order": network(both[0]) > network(both[1])}),
        len(training.whose))


def scores(weights: str, items: Sequence[Item], models: Models, encoder: str, tagger: Tagger,
           source: topics.TopicSource | None, weighted: bool) -> Column:
    """0 to 1, higher is more coherent; NaN without a context."""
    from metrics.graph.grade import network  # noqa: F401, it registers its architectures

    before = [texts[:TURNS] for texts in contexts(items)]
    graphs = None if source is None else topics.item_topics(before, [reply(item) for item in items], source, tagger,
                                                            weighted)
    readings = [TopicPair(Pair(said(texts), reply(item)), graphs, row) if texts[0] else None
                for row, (texts, item) in enumerate(zip(before, items, strict=True))]
    return models.scorer(weights, encoder).probabilities(readings)
