"""Low-rank adapters, trained in place of an encoder's own weights, and the head of the masked language model.

An adapted layer computes W·x + b + U·(D·x), with W frozen, D of shape (rank, in) and U of shape (out, rank), which
starts at zero (LoRA, Hu et al. 2022). Once trained, U·D is merged into W, so inference costs nothing extra. The head is
BERT's: LayerNorm(GELU(dense(state))), times the encoder's own frozen input embeddings, plus a bias per token.

The encoder is passed as an argument rather than being a submodule, so its weights are neither trained nor saved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn import functional


class Adapters(torch.nn.Module):
    """Low-rank changes to linear layers; `linears` are their names, input sizes and output sizes."""

    def __init__(self, rank: int, linears: Sequence[tuple[str, int, int]]) -> None:
        super().__init__()
        self.names = [name for name, _, _ in linears]
        self.down = torch.nn.ParameterList(torch.randn(rank, inputs) / inputs ** 0.5 for _, inputs, _ in linears)
        self.up = torch.nn.ParameterList(torch.zeros(outputs, rank) for _, _, outputs in linears)

    @contextlib.contextmanager
    def applied_to(self, encoder: Any) -> Iterator[None]:
        """Apply the adapters to the encoder inside the `with` block."""
        with contextlib.ExitStack() as stack:
            for name, down, up in zip(self.names, self.down, self.up, strict=True):
                stack.callback(encoder.get_submodule(name).register_forward_hook(_adapter(down, up)).remove)
            yield

    def merge(self, encoder: Any) -> None:
        with torch.no_grad():
            for name, down, up in zip(self.names, self.down, self.up, strict=True):
                encoder.get_submodule(name).weight += up @ down


class AdaptersWithHead(Adapters):
    """The adapters, a learned offset to the mask token's embedding, and the head that predicts masked tokens."""

    def __init__(self, width: int, vocabulary: int, rank: int, linears: Sequence[tuple[str, int, int]]) -> None:
        super().__init__(rank, linears)
        self.mask = torch.nn.Parameter(torch.zeros(width), requires_grad=bool(linears))
        self.dense = torch.nn.Linear(width, width)
        self.norm = torch.nn.LayerNorm(width)
        self.bias = torch.nn.Parameter(torch.zeros(vocabulary))

    def initialise_bias(self, frequencies: Any) -> None:
        with torch.no_grad():
            self.bias.copy_(torch.from_numpy(frequencies).log())

    def logits(self, states: Any, table: Any) -> Any:
        """Return the vocabulary logits of each state: (positions, width) to (positions, vocabulary)."""
        return functional.linear(self.norm(functional.gelu(self.dense(states))), table, self.bias)

    @contextlib.contextmanager
    def masking(self, encoder: Any, mask_id: int) -> Iterator[None]:
        """Apply the adapters and the mask token's offset to the encoder inside the `with` block."""
        def add_offset(_: Any, ids: Any, embedded: Any) -> Any:
            return embedded + (ids[0] == mask_id)[..., None] * self.mask

        with contextlib.ExitStack() as stack:
            if self.names:
                stack.callback(encoder.get_input_embeddings().register_forward_hook(add_offset).remove)
            stack.enter_context(self.applied_to(encoder))
            yield


def _adapter(down: Any, up: Any) -> Any:
    def adapt(_: Any, inputs: Any, outputs: Any) -> Any:
        return outputs + functional.linear(functional.linear(inputs[0], down), up)

    return adapt


def linears(encoder: Any) -> list[tuple[str, int, int]]:
    """Return name, input size and output size of every linear layer except the pooler's."""
    return [(name, module.in_features, module.out_features) for name, module in encoder.named_modules()
            if isinstance(module, torch.nn.Linear) and not name.startswith("pooler")]


class Merged(torch.nn.Module):
    """The encoder with its adapters merged, and the head."""

    def __init__(self, adapted: AdaptersWithHead, encoder: Any, mask_id: int) -> None:
        super().__init__()
        table = encoder.get_input_embeddings().weight.detach().clone()  # before the mask's embedding changes
        with torch.no_grad():
            encoder.get_input_embeddings().weight[mask_id] += adapted.mask
        adapted.merge(encoder)
        self.encoder, self.dense, self.norm = encoder, adapted.dense, adapted.norm
        vocabulary, width = table.shape
        self.decoder = torch.nn.Linear(width, vocabulary, dtype=table.dtype, device=table.device)
        self.decoder.weight, self.decoder.bias = torch.nn.Parameter(table), adapted.bias

    def forward(self, rows: Any, positions: Any, **inputs: Any) -> Any:
        """Return the input of `decoder` at the given rows and positions: (positions, width)."""
        states = self.encoder(**inputs).last_hidden_state[rows, positions]
        return self.norm(functional.gelu(self.dense(states)))
