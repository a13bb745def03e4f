"""How likely tokens are among a whole vocabulary: most numbers that a language model computes are such scores."""

from __future__ import annotations

from typing import Any

SCORED, SUMMED = 256, 32
"""States whose scores are computed at a time, and summed: what is read again stays in the processor's cache."""


def log_likelihoods(output: Any, states: Any, rows: Any, tokens: Any) -> Any:
    """Tell log p of each token under the scores that `output` gives of the state in its row: (tokens,)."""
    import torch

    values = torch.empty(len(rows), dtype=torch.float32, device=states.device)
    parts = torch.arange(len(states), device=states.device).tensor_split(-(-len(states) // SCORED))  # none of one row
    for part in parts:
        scores = output(states[part]).float()
        totals = torch.cat([some.logsumexp(-1) for some in scores.split(SUMMED)])
        here = ((rows >= part[0]) & (rows <= part[-1])).nonzero()[:, 0]
        own = rows[here] - part[0]
        values[here] = scores[own, tokens[here]] - totals[own]
    return values
