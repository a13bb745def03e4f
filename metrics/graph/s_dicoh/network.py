"""S-DiCoh's network (Mesgar et al. 2020, as DynaEval has it for a baseline): BiLSTM and attention over utterances."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn.pool import global_add_pool
from torch_geometric.utils import softmax

from metrics.graph.dynaeval.network import recurrent
from metrics.trained.heads.networks import means, standard


class DialogueSequence(nn.Module):  # type: ignore[misc]
    """e = BiLSTM([u_i ; cos(u_i, u_{i−1})]); a = softmax(vᵀ tanh(W e_i)) over the dialogue; linear in Σ a_i e_i."""

    def __init__(self, width: int, hidden: int = 56, size: int = 56, dropout: float = 0.3) -> None:
        super().__init__()
        self.width = width
        self.lstm = nn.LSTM(width + 1, hidden, batch_first=True, bidirectional=True)
        self.weigh = nn.Sequential(nn.Linear(2 * hidden, size), nn.Tanh(), nn.Linear(size, 1, bias=False))
        self.dropout = nn.Dropout(dropout)
        self.score = nn.Linear(2 * hidden, 1)

    def forward(self, graphs: Any) -> Any:
        """The score of each dialogue: (B,)."""
        u = standard(graphs.x)[:, : self.width]
        e = recurrent(self.lstm, torch.cat([self.dropout(u), self.cosines(graphs.x, graphs.batch)], -1), graphs.batch)
        summed = global_add_pool(self.attention(e, graphs.batch).unsqueeze(-1) * e, graphs.batch, graphs.num_graphs)
        return self.score(self.dropout(summed)).squeeze(-1)

    def cosines(self, vectors: Any, which: Any) -> Any:
        """The pre-trained cosine of each utterance with the one before it, tenfold; 0 of the first: (N, 1)."""
        units = means(vectors)
        cosines = 10 * (units[1:] * units[:-1]).sum(-1) * (which[1:] == which[:-1])
        return functional.pad(cosines, (1, 0)).unsqueeze(-1)

    def attention(self, e: Any, which: Any) -> Any:
        """How much each utterance weighs in its dialogue: (N,)."""
        weights: torch.Tensor = softmax(self.weigh(e).squeeze(-1), which)
        return weights
