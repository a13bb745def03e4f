"""Pairs of GRADE and TCM: contexts with a true reply and one like it in words or meaning, and their graphs of topics.

The recipe `paper` follows the released code where the paper is silent: the reply to two utterances or more, against one
false reply like it in words and one like it in meaning; the rank of the former by how many share a word; keywords by
part of speech and rarity; ways counted by their nodes, 20 where there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.graph.grade import topics
from metrics.models import readings
from metrics.models.readings import Pair
from metrics.text.keywords import Tagger
from metrics.training import negatives
from metrics.training.examples import FIVE, WHOLE, Contrast, exchanges
from metrics.training.recipe import Objective, Recipe, TrainingData

RANKS = {20: 11, 50: 16, 100: 46, 200: 96, 500: 196, 1_000: 696}
"""Of more than so many texts that share a word with a reply, the rank of the false one; the first of fewer."""
SMALL = Recipe(FIVE, steps=1_200, rate=1e-3, every=100, margin=0.1, examples={
    "turns": 1, "most": (60_000, 3_000), "each": False, "ranks": {}, "apart": 0})
RECIPE = Recipe(
    ("dailydialog",), steps=37_040, epochs=5.0, rate=2e-5, warmup=0.1, every=5_000, patience=99, clip=10.0,
    encoder="bert-base-uncased", batch=16, margin=0.1, architecture="grade-cross-encoder",
    network={"heads": 4, "layers": 3, "branch": 512, "hidden": 512, "second": 128},
    examples={"turns": 2, "most": None, "each": True, "ranks": RANKS, "apart": 20},
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


class TopicPair(NamedTuple):
    """A context with a reply, and the row of their graph of topics."""

    pair: Pair
    graphs: topics.Topics | None
    row: int


def of_items(items: Sequence[Item], source: topics.TopicSource | None, tagger: Tagger,
             weighted: bool = True) -> list[TopicPair | None]:
    """Return the context and response of each item with their graphs; None without a context."""
    pairs = readings.pairs(items)
    graphs = None if source is None else topics.item_topics(
        [pair.context[::-1] if pair else () for pair in pairs], [pair.response if pair else "" for pair in pairs],
        source, tagger, weighted)
    return [TopicPair(pair, graphs, row) if pair else None for row, pair in enumerate(pairs)]


def of_dialogues(data: TrainingData, dialogues: Sequence[Dialogue], source: topics.TopicSource | None, kind: str,
                 tagger: Tagger, weighted: bool, most: int | None) -> list[Contrast]:
    """Return replies, at most so many, beside false replies of this kind; `both` are lexical and by embedding."""
    settings, rng = data.recipe.examples, data.rng
    said = [exchange for exchange in exchanges(dialogues) if len(exchange[1]) >= settings["turns"]]
    said = [said[row] for row in (range(len(said)) if most is None else rng.permutation(len(said))[:most])]
    groups = np.array([number for number, *_ in said], dtype=np.int64)
    if len(np.unique(groups)) < 2:
        raise MetricError(f"the corpora have {len(said)} replies to {settings['turns']} utterances or more, to train "
                          "on or held out; take larger ones, of two dialogues or more each")
    contexts, replies = [tuple(before[-WHOLE:]) for _, before, _ in said], [text for *_, text in said]
    kinds = ("lexical", "embedding") if kind == "both" else (kind,)
    rows = np.arange(len(replies))
    parts = [rows] * len(kinds) if settings["each"] else np.array_split(rows, len(kinds))
    others: list[Any] = []
    for name, part in zip(kinds, parts, strict=True):
        if name == "lexical":
            index = negatives.Index(replies)
            others.append(negatives.lexical_others(part, index, groups, rng, ranks=settings["ranks"]))
        elif name == "embedding":
            vectors = data.vectors(replies)
            others.append(negatives.nearest_others(part, vectors[:, : vectors.shape[1] // 2], groups, rng))
        else:
            others.append(negatives.random_others(part, groups, rng))
    true, false = np.concatenate(parts).tolist(), np.concatenate(others).tolist()
    graphs = None if source is None else topics.item_topics(
        [contexts[row][::-1] for row in true] * 2, [replies[row] for row in (*true, *false)], source, tagger, weighted)
    return [Contrast(TopicPair(Pair(contexts[row], replies[row]), graphs, place),
                     TopicPair(Pair(contexts[row], replies[wrong]), graphs, len(true) + place))
            for place, (row, wrong) in enumerate(zip(true, false, strict=True))]


def objective(data: TrainingData, source: topics.TopicSource | None, kind: str, tagger: Tagger, weighted: bool = True,
              **network: Any) -> Objective:
    """Give true replies more than false ones that are like them, by a margin."""
    from metrics.graph.grade import network as _  # noqa: F401, it registers its architectures
    from metrics.training.objectives import contrast
    from metrics.training.tuned import built

    most = data.recipe.examples["most"] or (None, None)
    training, held_out = (of_dialogues(data, dialogues, source, kind, tagger, weighted, count)
                          for dialogues, count in zip((data.dialogues(), data.held_out()), most, strict=True))
    graphs = training[0].right.graphs
    built(data, nodes=0 if graphs is None else int(graphs.features.shape[-1]), **network)
    return contrast(data, training, held_out)
