"""A recurrent layer over the utterances of several dialogues, which are nodes of one torch-geometric Batch."""

from __future__ import annotations

from typing import Any

from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch_geometric.utils import to_dense_batch


def recurrent(lstm: Any, utterances: Any, which: Any) -> Any:
    """What the layer makes of utterances (N, width) of the dialogues `which` (N,): (N, 2 · hidden)."""
    dense, there = to_dense_batch(utterances, which)  # (B, T, width), (B, T)
    packed = pack_padded_sequence(dense, there.sum(1).cpu(), batch_first=True, enforce_sorted=False)
    found, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
    return found[there]
