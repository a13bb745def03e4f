"""What GRADE and TCM are trained on: replies with a false one each that is like the true one, as vectors and graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.graph.grade.topics import READ, Topics, TopicSource, keywords_of, topics
from metrics.text import bm25
from metrics.text.keywords import Tagger
from metrics.trained.heads.table import TURNS, Rows, TextTable, last_turns
from metrics.training import negatives
from metrics.training.recipe import Objective, TrainingData

PAIRS, HELD = 60_000, 3_000
"""How many pairs are trained on, and how many are held out."""
BATCH = 128

Negatives: TypeAlias = Literal["both", "lexical", "embedding", "random"]


@dataclass(frozen=True, slots=True)
class ContextReply:
    """A reply after its context, the last utterance first, and the number of its dialogue."""

    context: tuple[str, ...]
    reply: str
    dialogue: int


@dataclass(frozen=True, slots=True)
class GradePairs:
    """Rows of a table for contexts, true and false replies; the graphs of the true and of the false pairs.

    The false replies of the first `lexical` pairs share words with the true ones.
    """

    table: TextTable
    contexts: Rows
    true: Rows
    false: Rows
    graphs: tuple[Topics, Topics] | None
    lexical: int

    def __len__(self) -> int:
        return len(self.true)

    @property
    def features(self) -> int:
        """The width of a node's vector; 0 without graphs."""
        return 0 if self.graphs is None else int(self.graphs[0].features.shape[-1])

    def batch(self, rows: Rows, utterances: bool = True) -> dict[str, Any]:
        """Vectors and graphs of some pairs; the graphs of the false follow those of the true."""
        batch: dict[str, Any] = {}
        if utterances:
            tensor = self.table.tensor
            batch = {"context": tensor(self.contexts[rows]), "true": tensor(self.true[rows]),
                     "false": tensor(self.false[rows])}
        if self.graphs is not None:
            import torch
            from torch_geometric.data import Batch

            right, wrong = (graphs.batch(rows) for graphs in self.graphs)
            nodes = len(right.x)
            batch["graphs"] = Batch(
                x=torch.cat([right.x, wrong.x]), batch=torch.cat([right.batch, wrong.batch + len(rows)]),
                edge_index=torch.cat([right.edge_index, wrong.edge_index + nodes], dim=1),
                edge_attr=torch.cat([right.edge_attr, wrong.edge_attr]),
                ptr=torch.cat([right.ptr, wrong.ptr[1:] + nodes]))
        return batch

    def blocks(self, utterances: bool = True) -> list[dict[str, Any]]:
        """All pairs, batch by batch."""
        return [self.batch(np.arange(start, min(start + BATCH, len(self))), utterances)
                for start in range(0, len(self), BATCH)]


def grade_pairs(data: TrainingData, source: TopicSource | None, kind: Negatives, tagger: Tagger = "lists",
                weighted: bool = True) -> tuple[GradePairs, GradePairs]:
    """ReplyPairs to train on and pairs held out; without graphs where there is no source."""
    rng = data.rng
    parts = [_pairs(some, most, rng) for some, most in ((data.dialogues(), PAIRS), (data.held_out(), HELD))]
    if min(len({pair.dialogue for pair in some}) for some in parts) < 2:
        raise MetricError(f"the corpora have {len(parts[0])} replies to train on and {len(parts[1])} held out; take "
                          "larger ones, of two dialogues or more each")
    table = TextTable((text for some in parts for pair in some for text in (pair.reply, *pair.context)), data.vectors)
    training, held = (_grade_pairs(some, table, source, kind, tagger, weighted, rng) for some in parts)
    return training, held


def _pairs(dialogues: Sequence[Dialogue], most: int, rng: np.random.Generator) -> list[ContextReply]:
    """Replies after their contexts, of utterances that hold words: `most` at random."""
    pairs = []
    for number, dialogue in enumerate(dialogues):
        texts = [turn.text for turn in dialogue.utterances if turn.text.strip()]
        pairs += [ContextReply(tuple(last_turns(texts[:place])), texts[place], number)
                  for place in range(1, len(texts))]
    return [pairs[place] for place in rng.permutation(len(pairs))[:most].tolist()]


def _grade_pairs(some: Sequence[ContextReply], table: TextTable, source: TopicSource | None, kind: Negatives,
                 tagger: Tagger, weighted: bool, rng: np.random.Generator) -> GradePairs:
    replies = [pair.reply for pair in some]
    true = table.rows(replies)
    groups = np.array([pair.dialogue for pair in some], dtype=np.int64)
    chosen, lexical = false_replies(replies, table.vectors[true][:, : table.width], groups, kind, rng)
    contexts = np.array([table.rows(pair.context) for pair in some], dtype=np.intp).reshape(-1, TURNS)
    graphs = None
    if source is not None:
        before = [keywords_of(pair.context[READ - 1::-1], tagger) for pair in some]
        after = [keywords_of([text], tagger) for text in replies]
        false = [after[row] for row in chosen.tolist()]
        whole = topics(source, [*zip(before, after, strict=True), *zip(before, false, strict=True)], weighted)
        graphs = whole.split(len(before))  # both parts have the same table of features
    return GradePairs(table, contexts, true, true[chosen], graphs, lexical)


def false_replies(replies: Sequence[str], vectors: Any, groups: Rows, kind: Negatives,
                  rng: np.random.Generator) -> tuple[Rows, int]:
    """The row of a false reply for each, and for how many of the first it was chosen by its words."""
    rows = np.arange(len(replies))
    if kind == "random":
        return negatives.random_others(rows, groups, 1, rng)[:, 0], 0
    lexical = {"both": len(rows) // 2, "lexical": len(rows), "embedding": 0}[kind]
    parts = []
    if lexical:
        parts.append(bm25.lexical_others(rows[:lexical], bm25.Index(replies), groups, rng))
    if lexical < len(rows):
        parts.append(negatives.nearest_others(rows[lexical:], vectors, groups, rng))
    return np.concatenate(parts), lexical


def objective(network: Any, config: Mapping[str, Any], training: GradePairs, held: GradePairs,
              utterances: bool = True) -> Objective:
    """Give true replies more than false ones that are like them."""
    from metrics.graph.grade.network import loss

    blocks = held.blocks(utterances)
    return Objective(network, config, lambda rng: training.batch(rng.integers(len(training), size=BATCH), utterances),
                     blocks, loss, accuracies(held, blocks))


def accuracies(held: GradePairs, blocks: Sequence[Mapping[str, Any]]) -> Callable[[Any], Mapping[str, float]]:
    """The share of held-out true replies that score above their false one, by how the false one was chosen."""
    def report(network: Any) -> Mapping[str, float]:
        import torch

        from metrics.graph.grade.network import both
        from metrics.training.loop import on_device

        device = next(network.parameters()).device
        hits = []
        with torch.inference_mode():
            for block in blocks:
                right, wrong = both(network, on_device(block, str(device)))
                hits.append((right > wrong).cpu().numpy())
        above = np.concatenate(hits)
        parts = {"lexical": above[:held.lexical], "other": above[held.lexical:]}
        return {f"accuracy against {name} false replies": round(float(part.mean()), 4)
                for name, part in parts.items() if len(part)}

    return report
