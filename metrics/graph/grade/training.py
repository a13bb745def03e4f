"""What GRADE and TCM are trained on: replies with a false one each that is like the true one, as vectors and graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.graph.grade import topics
from metrics.graph.grade.topics import Source, Topics, Words
from metrics.text import bm25
from metrics.text.keywords import Tagger
from metrics.trained.heads.pairs import TURNS, Rows, Table, last_turns
from metrics.training import negatives
from metrics.training.recipe import TrainingData

PAIRS, HELD = 60_000, 3_000
"""How many pairs are trained on, and how many are held out."""
BATCH = 128

Negatives: TypeAlias = Literal["both", "lexical", "embedding", "random"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A reply after what was said, the last first, and the number of its dialogue."""

    context: tuple[str, ...]
    reply: str
    dialogue: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows of a table for contexts, true and false replies; the graphs of the true and of the false pairs."""

    table: Table
    contexts: Rows
    true: Rows
    false: Rows
    right: Topics | None
    wrong: Topics | None
    lexical: int

    def __len__(self) -> int:
        return len(self.true)

    @property
    def features(self) -> int:
        """The width of a node's vector; 0 without graphs."""
        return 0 if self.right is None else int(self.right.features.shape[-1])

    def batch(self, rows: Rows, utterances: bool = True) -> dict[str, Any]:
        """Vectors and graphs of some pairs; the graphs of the false follow those of the true."""
        found: dict[str, Any] = {}
        if utterances:
            tensor = self.table.tensor
            found = {"context": tensor(self.contexts[rows]), "true": tensor(self.true[rows]),
                     "false": tensor(self.false[rows])}
        if self.right is not None and self.wrong is not None:
            from torch_geometric.data import Batch

            parts = self.right.batch(rows), self.wrong.batch(rows)
            nodes, shift = len(parts[0].x), len(rows)
            found["graphs"] = Batch(
                x=_joined(*(one.x for one in parts)), batch=_joined(parts[0].batch, parts[1].batch + shift),
                edge_index=_joined(parts[0].edge_index, parts[1].edge_index + nodes, axis=1),
                edge_attr=_joined(*(one.edge_attr for one in parts)),
                ptr=_joined(parts[0].ptr, parts[1].ptr[1:] + nodes))
        return found


def prepared(data: TrainingData, source: Source | None, kind: Negatives, tagger: Tagger = "lists",
             weighted: bool = True) -> tuple[Prepared, Prepared]:
    """Pairs to train on and pairs held out."""
    rng = data.rng
    parts = [_pairs(some, most, rng) for some, most in ((data.dialogues(), PAIRS), (data.held_out(), HELD))]
    if min(len({pair.dialogue for pair in some}) for some in parts) < 2:
        raise MetricError(f"the corpora have {len(parts[0])} replies to train on and {len(parts[1])} held out; take "
                          "larger ones, of two dialogues or more each")
    table = Table((text for some in parts for pair in some for text in (pair.reply, *pair.context)), data.vectors)
    training, held = (_prepared(some, table, source, kind, tagger, weighted, rng) for some in parts)
    return training, held


def _prepared(some: Sequence[Pair], table: Table, source: Source | None, kind: Negatives, tagger: Tagger,
              weighted: bool, rng: np.random.Generator) -> Prepared:
    replies = [pair.reply for pair in some]
    true = table.rows(replies)
    groups = np.array([pair.dialogue for pair in some], dtype=np.int64)
    chosen, lexical = false_replies(replies, table.vectors[true][:, : table.width], groups, kind, rng)
    contexts = np.array([table.rows(pair.context) for pair in some], dtype=np.intp).reshape(-1, TURNS)
    right = wrong = None
    if source is not None:
        before = [topics.said(pair.context[topics.READ - 1::-1], tagger) for pair in some]
        after = [topics.said([text], tagger) for text in replies]
        right, wrong = _two(source, before, after, [after[row] for row in chosen.tolist()], weighted)
    return Prepared(table, contexts, true, true[chosen], right, wrong, lexical)


def _two(source: Source, before: Sequence[Words], true: Sequence[Words], false: Sequence[Words],
         weighted: bool) -> tuple[Topics, Topics]:
    """The graphs of the true and of the false pairs, over the same table of features."""
    whole = topics.topics(source, [*zip(before, true, strict=True), *zip(before, false, strict=True)], weighted)
    return whole.split(len(before))


def false_replies(replies: Sequence[str], vectors: Any, groups: Rows, kind: Negatives,
                  rng: np.random.Generator) -> tuple[Rows, int]:
    """A row of a false reply for each, and for how many of the first it was found by its words."""
    rows = np.arange(len(replies))
    if kind == "random":
        return negatives.random_others(rows, groups, 1, rng)[:, 0], 0
    lexical = {"both": len(rows) // 2, "lexical": len(rows), "embedding": 0}[kind]
    found = [np.zeros(0, np.int64)]
    if lexical:
        found.append(negatives_by_words(rows[:lexical], replies, groups, rng))
    if lexical < len(rows):
        found.append(negatives.nearest_others(rows[lexical:], vectors, groups, rng))
    return np.concatenate(found), lexical


def negatives_by_words(rows: Rows, replies: Sequence[str], groups: Rows, rng: np.random.Generator) -> Rows:
    """The middle one of the ten replies that share most words with each."""
    return bm25.lexical_others(rows, bm25.Index(replies), groups, rng)


def accuracies(held: Prepared, batches: Callable[[Rows], Mapping[str, Any]]) -> Callable[[Any], Mapping[str, float]]:
    """How often the true reply of what is held out is above its false one, by how the false one was found."""
    def told(network: Any) -> Mapping[str, float]:
        import torch

        from metrics.graph.grade.network import both
        from metrics.training.loop import on_device

        device = next(network.parameters()).device
        hits = []
        with torch.inference_mode():
            for start in range(0, len(held), BATCH):
                rows = np.arange(start, min(start + BATCH, len(held)))
                right, wrong = both(network, on_device(batches(rows), str(device)))
                hits.append((right > wrong).cpu().numpy())
        found = np.concatenate(hits)
        named = {"lexical": found[:held.lexical], "other": found[held.lexical:]}
        return {f"accuracy against {name} false replies": round(float(part.mean()), 4)
                for name, part in named.items() if len(part)}

    return told


def _pairs(dialogues: Sequence[Dialogue], most: int, rng: np.random.Generator) -> list[Pair]:
    """Replies after what was said, of utterances that hold words: `most` at random."""
    found = []
    for number, dialogue in enumerate(dialogues):
        texts = [turn.text for turn in dialogue.utterances if turn.text.strip()]
        found += [Pair(tuple(last_turns(texts[:place])), texts[place], number) for place in range(1, len(texts))]
    return [found[place] for place in rng.permutation(len(found))[:most].tolist()]


def _joined(*parts: Any, axis: int = 0) -> Any:
    import torch

    return torch.cat(parts, dim=axis)
