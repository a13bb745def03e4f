"""The networks of DynaEval and S-DiCoh, on a torch-geometric Batch of dialogues with a node for each utterance.

Dialogues of similar length are batched. A batch has N utterances, E edges and B dialogues.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch_geometric.data import Batch
from torch_geometric.nn import GraphConv, MessagePassing
from torch_geometric.nn.pool import global_add_pool, global_max_pool, global_mean_pool
from torch_geometric.utils import degree, softmax, to_dense_batch

from benchmarks.dataset import Utterance
from metrics.graph.dynaeval.dialogues import Turns, graphs
from metrics.models.architectures.base import Architecture
from metrics.models.architectures.heads import means, standardised
from metrics.models.text_table import TextTable
from metrics.text.words import tokens

WORDS, END = 30, "__eou__"
"""Number of words of an utterance that the published DynaEval uses, and the token it appends."""


def recurrent(lstm: Any, vectors: Any, sequence_ids: Any) -> Any:
    """Return the states (N, 2 · hidden) of an LSTM over vectors (N, width) whose sequences have the ids (N,)."""
    dense, present = to_dense_batch(vectors, sequence_ids)  # (B, T, width), (B, T)
    packed = pack_padded_sequence(dense, present.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
    return states[present]


class DialogueNetwork(Architecture):
    """A network over utterances of dialogues; a batch has up to `max_utterances`, padding included."""

    speakers = 1
    max_utterances = 1 << 13

    def texts(self, reading: Turns) -> Iterable[str]:
        return reading.texts

    def inputs(self, readings: Sequence[Turns], table: TextTable) -> tuple[Any, ...]:
        return (graphs(readings, table, self.speakers),)

    def blocks(self, readings: Sequence[Turns]) -> Iterator[list[int]]:
        block: list[int] = []
        for row in sorted(range(len(readings)), key=lambda row: len(readings[row].utterances)):
            if block and (len(block) + 1) * len(readings[row].utterances) > self.max_utterances:
                yield block
                block = []
            block.append(row)
        yield block


class RelationalConvolution(MessagePassing):  # type: ignore[misc]
    """Σ_θ Σ_{j in S_i^θ} a_ij / |S_i^θ| · W_θ e_j, over all relations, including that of i to itself.

    Messages are summed by node and relation first, so there is one matrix product for all relations. The published
    version has no cosines and does not divide by |S_i^θ|; with a_ij = 1 it is PyG's RGCNConv(aggr="sum",
    root_weight=False).
    """

    def __init__(self, size: int, out: int, relations: int, published: bool = False) -> None:
        super().__init__(aggr="sum")
        self.relations, self.published = relations, published
        self.weight = nn.Linear(relations * (size + (not published)), out)

    def forward(self, states: Any, edges: Any, relation: Any, attention: Any, cosines: Any) -> Any:
        """Return (N, out) from states (N, size) and each edge's relation, weight and cosine (E,)."""
        source, target = edges
        slot = target * self.relations + relation  # a sum for each node and relation
        slots = len(states) * self.relations
        sums = self.propagate(torch.stack([source, slot]), x=states, attention=attention, cosines=cosines,
                              size=(len(states), slots))
        if not self.published:
            sums = sums / degree(slot, slots, dtype=states.dtype).clamp_min(1).unsqueeze(-1)
        return self.weight(sums.view(len(states), -1))

    def message(self, x_j: Any, attention: Any, cosines: Any) -> Any:
        weighted = attention.unsqueeze(-1) * x_j
        return weighted if self.published else torch.cat([weighted, cosines.unsqueeze(-1)], dim=-1)


class GraphConvolution(MessagePassing):  # type: ignore[misc]
    """Σ_{j ≠ i} W h_j + W_0 h_i, over edges without loops: (N, size) to (N, out)."""

    def __init__(self, size: int, out: int) -> None:
        super().__init__(aggr="sum")
        self.neighbours = nn.Linear(size, out, bias=False)
        self.own = nn.Linear(size, out)

    def forward(self, states: Any, edges: Any) -> Any:
        return self.propagate(edges, x=self.neighbours(states), size=(len(states), len(states))) + self.own(states)


class DialogueGraph(DialogueNetwork, name="dialogue-graph"):
    """BiLSTM, similarity attention, two convolutions, [h ; e], pooling and a linear layer.

    With `lift`, this is the published network: a first linear layer of this width takes the vectors unstandardised.
    """

    def __init__(self, width: int, hidden: int = 56, size: int = 56, speakers: int = 2, pooling: str = "unit",
                 dropout: float = 0.3, likeness: bool = True, lift: int = 0, layers: int = 1) -> None:
        super().__init__()
        self.width, self.speakers, self.pooling, self.likeness = width, speakers, pooling, likeness
        self.lift = nn.Linear(width, lift) if lift else None
        self.lstm = nn.LSTM(lift or width, hidden, layers, batch_first=True, bidirectional=True,
                            dropout=dropout if layers > 1 else 0.0)
        states = 2 * hidden
        self.alike = nn.Linear(states, states, bias=False)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
            # torch-geometric writes the source of a layer to the temporary folder and does not delete it
            self.relational = RelationalConvolution(states, size, 2 * speakers * speakers + 1, bool(lift))
            self.convolution = GraphConv(size, size) if lift else GraphConvolution(size, size)
        self.dropout = nn.Dropout(dropout)
        self.score = nn.Linear((states + size) * (2 if pooling == "both" else 1), 1)

    def texts(self, reading: Turns) -> Iterable[str]:
        return self.truncated(reading).texts

    def inputs(self, readings: Sequence[Turns], table: TextTable) -> tuple[Any, ...]:
        return super().inputs([self.truncated(reading) for reading in readings], table)

    def truncated(self, reading: Turns) -> Turns:
        """Return the dialogue; for the published network, truncate each utterance to WORDS words and append END."""
        if self.lift is None:
            return reading
        return reading._replace(utterances=tuple(
            Utterance(turn.speaker, " ".join([*words[:WORDS], END]) if (words := turn.text.split()) else "")
            for turn in reading.utterances))

    def forward(self, graphs: Any) -> Any:
        x, ids, (source, target) = graphs.x, graphs.batch, graphs.edge_index  # (N, 2 · width), (N,), (E,) each
        u = standardised(x)[:, : self.width] if self.lift is None else self.lift(x[:, : self.width])
        e = recurrent(self.lstm, self.dropout(u), ids)  # (N, 2 · hidden)
        attention = softmax((e[target] * self.alike(e)[source]).sum(-1), target, num_nodes=len(e))  # (E,)
        units = means(x) if self.likeness else torch.zeros_like(x)
        cosines = 10 * (units[source] * units[target]).sum(-1)  # (E,)
        h = functional.relu(self.relational(e, graphs.edge_index, graphs.edge_type, attention, cosines))  # (N, size)
        h = functional.relu(self.convolution(self.dropout(h), graphs.edge_index[:, source != target]))
        return self.score(self.pooled(torch.cat([h, e], dim=-1), ids, graphs.num_graphs)).squeeze(-1)  # (B,)

    def pooled(self, g: Any, dialogue_ids: Any, count: int) -> Any:
        """Pool the states g (N, width) of each dialogue's utterances: (B, width), or (B, 2 · width) for `both`."""
        if self.pooling == "unit":
            return functional.normalize(global_add_pool(g, dialogue_ids, count), dim=-1)
        pools = {"mean": [global_mean_pool], "max": [global_max_pool], "both": [global_mean_pool, global_max_pool]}
        return torch.cat([pool(g, dialogue_ids, count) for pool in pools[self.pooling]], dim=-1)


class DialogueSequence(DialogueNetwork, name="dialogue-sequence"):
    """e = BiLSTM([u_i ; cos(u_i, u_{i−1})]); a = softmax(vᵀ tanh(W e_i)) over the dialogue; linear in Σ a_i e_i."""

    def __init__(self, width: int, hidden: int = 56, size: int = 56, dropout: float = 0.3) -> None:
        super().__init__()
        self.width = width
        self.lstm = nn.LSTM(width + 1, hidden, batch_first=True, bidirectional=True)
        self.weigh = nn.Sequential(nn.Linear(2 * hidden, size), nn.Tanh(), nn.Linear(size, 1, bias=False))
        self.dropout = nn.Dropout(dropout)
        self.score = nn.Linear(2 * hidden, 1)

    def forward(self, graphs: Any) -> Any:
        e = recurrent(self.lstm, torch.cat([self.dropout(standardised(graphs.x)[:, : self.width]), self.cosines(
            graphs.x, graphs.batch)], -1), graphs.batch)  # (N, 2 · hidden)
        weights = softmax(self.weigh(e).squeeze(-1), graphs.batch)  # (N,)
        summed = global_add_pool(weights.unsqueeze(-1) * e, graphs.batch, graphs.num_graphs)
        return self.score(self.dropout(summed)).squeeze(-1)  # (B,)

    def cosines(self, vectors: Any, dialogue_ids: Any) -> Any:
        """Return 10 times the cosine of each utterance with the preceding one; 0 for the first: (N, 1)."""
        units = means(vectors)
        cosines = 10 * (units[1:] * units[:-1]).sum(-1) * (dialogue_ids[1:] == dialogue_ids[:-1])
        return functional.pad(cosines, (1, 0)).unsqueeze(-1)


class DialogueWords(DialogueNetwork, name="dialogue-words"):
    """e = BiLSTM(x); a = softmax(vᵀ e); Σ a e: over the words of an utterance, then over the utterances; linear."""

    max_utterances = 256

    def __init__(self, width: int, hidden: int = 128, size: int = 256) -> None:
        super().__init__()
        self.words = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.utterances = nn.LSTM(2 * hidden, size, batch_first=True, bidirectional=True)
        self.weigh_words = nn.Linear(2 * hidden, 1, bias=False)
        self.weigh_utterances = nn.Linear(2 * size, 1, bias=False)
        self.score = nn.Linear(2 * size, 1)

    def inputs(self, readings: Sequence[Turns], table: TextTable) -> tuple[Any, ...]:
        """Return a Batch: x (words, width), utterance (words,), batch (utterances,); zeros if no word is known."""
        vectors: Any = readings[0].words
        words = [vectors.of(tokens(text, lowercase=True)) for reading in readings for text in reading.texts]
        words = [found if len(found) else np.zeros((1, vectors.width), np.float32) for found in words]
        lengths = [len(reading.utterances) for reading in readings]
        batch = Batch(x=torch.from_numpy(np.concatenate(words).astype(np.float32)),
                      utterance=torch.arange(len(words)).repeat_interleave(torch.tensor(list(map(len, words)))),
                      batch=torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths)))
        batch._num_graphs = len(readings)
        return (batch,)

    def forward(self, dialogues: Any) -> Any:
        u = self.attention_pool(self.words, self.weigh_words, dialogues.x, dialogues.utterance, len(dialogues.batch))
        d = self.attention_pool(self.utterances, self.weigh_utterances, u, dialogues.batch, dialogues.num_graphs)
        return self.score(d).squeeze(-1)

    def attention_pool(self, lstm: Any, weigh: Any, vectors: Any, sequence_ids: Any, count: int) -> Any:
        """Return a vector for each of `count` sequences; `sequence_ids` gives the sequence of each vector."""
        e = recurrent(lstm, vectors, sequence_ids)
        weights = softmax(weigh(e).squeeze(-1), sequence_ids, num_nodes=count)
        return global_add_pool(weights.unsqueeze(-1) * e, sequence_ids, count)
