"""The network of the small language model while it is trained, and a cross entropy that is sparing with memory.

Over a vocabulary of thousands most of the time goes into the scores of every piece at every place: written, read and
written again for softmax, loss and gradient. Here they are made for a few hundred places at a time, and turned into
their gradient at once, while they lie in the cache.
"""

from __future__ import annotations

from typing import Any

import torch

from metrics.models.small_lm import Pieces, configuration

PLACES = 256
"""For how many places scores are made at a time."""


class DialogueLM(torch.nn.Module):  # type: ignore[misc]
    """A GPT-NeoX over these pieces; its parts are named as transformers names them."""

    def __init__(self, pieces: str, width: int, layers: int, heads: int, positions: int) -> None:
        from transformers import GPTNeoXModel

        super().__init__()
        config = configuration(len(Pieces.read(pieces).numbers), width, layers, heads, positions)
        config._attn_implementation = "eager"  # faster than PyTorch's own, backwards, on the processor
        self.gpt_neox = GPTNeoXModel(config)

    def forward(self, rows: Any) -> Any:
        """Tell the mean of −log p of each token after those before it: (rows, tokens) to one number."""
        with torch.autocast("cpu", torch.bfloat16, enabled=rows.device.type == "cpu" and _quick_in_bf16()):
            states = self.gpt_neox(input_ids=rows[:, :-1], use_cache=False).last_hidden_state
        halved = torch.is_autocast_enabled(rows.device.type) or (rows.device.type == "cpu" and _quick_in_bf16())
        return _CrossEntropy.apply(states.flatten(0, 1), self.gpt_neox.embed_in.weight, rows[:, 1:].flatten(),
                                   torch.bfloat16 if halved else torch.float32)


def _quick_in_bf16() -> bool:
    """Whether this processor has matrix products in bfloat16."""
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return supported is not None and bool(supported())


class _CrossEntropy(torch.autograd.Function):  # type: ignore[misc]
    """The mean cross entropy of states (places, width) times a table (pieces, width), with its gradients."""

    @staticmethod
    def forward(ctx: Any, states: Any, table: Any, targets: Any, dtype: Any) -> Any:
        wanted = ctx.needs_input_grad[0]
        columns, total = table.detach().to(dtype), torch.zeros((), device=states.device)
        to_states, to_table = torch.zeros_like(states, dtype=torch.float32), torch.zeros_like(table)
        for first in range(0, len(states), PLACES):
            rows, right = states[first : first + PLACES].to(dtype), targets[first : first + PLACES, None]
            scores = (rows @ columns.T).float()
            wholes = scores.logsumexp(1, keepdim=True)
            total += (wholes - scores.gather(1, right)).sum()
            if wanted:
                slopes = scores.sub_(wholes).exp_().scatter_add_(1, right, -torch.ones_like(wholes)).to(dtype)
                to_states[first : first + PLACES] = slopes @ columns
                to_table += slopes.T @ rows
        ctx.save_for_backward(to_states / len(states), to_table / len(states))
        return total / len(states)

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        to_states, to_table = ctx.saved_tensors
        return to_states * slope, to_table * slope, None, None
