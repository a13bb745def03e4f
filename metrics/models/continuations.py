"""Likelihoods of continuations after a text, as a causal network computes them.

There are two ways. In a batch, each row is a text with one continuation. Or a single row without padding holds several
texts, each once and followed by its continuations. These form trees (prefix trees), in which a shared beginning occurs
once; each token attends to its text and its own beginning, at the position that it would have in a separate text.
Logits, which take most of the memory, are computed only from the last token of a text on.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.models.encoder import padded
from metrics.models.memory import Vectors
from metrics.models.networks import log_likelihoods
from metrics.models.tokens import Tokenized

NEAR, ROUNDINGS = 0.01, 16
"""Largest rounding difference between likelihoods: absolute, and in epsilons of the network's type."""

TREES = 16
"""Maximum number of trees after one copy of a text."""

TREE = 256
"""Maximum number of tokens in a tree; what a continuation shares with the one before is not counted."""

PIECES = "pieces"
"""The name under which `attend` is registered in transformers."""


@dataclass(frozen=True, slots=True)
class Continuations:
    """The tokens of a text, at least one, and of its continuations, tree by tree."""

    start: list[int]
    trees: list[list[list[int]]]

    @property
    def afters(self) -> list[list[int]]:
        return [after for tree in self.trees for after in tree]

    @property
    def size(self) -> int:
        return len(self.start) + sum(map(len, self.afters))

    def units(self, pieces: bool) -> list[Continuations]:
        """Return the smallest units of a batch: up to TREES trees if `pieces`, else one continuation."""
        if not pieces:
            return [Continuations(self.start, [[after]]) for after in self.afters]
        return [Continuations(self.start, self.trees[i : i + TREES]) for i in range(0, len(self.trees), TREES)]


def small_trees(afters: Sequence[list[int]]) -> list[list[list[int]]]:
    """Group neighbouring continuations into trees, small ones since attention is quadratic in a tree's size."""
    trees: list[list[list[int]]] = []
    size = 0
    for after in afters:
        added = len(after) - (_shared(trees[-1][-1], after) if trees else 0)
        if trees and size + added <= TREE:
            trees[-1].append(after)
            size += added
        else:
            trees.append([after])
            size = len(after)
    return trees


def _shared(first: list[int], second: list[int]) -> int:
    """Return the length of the common beginning of two token lists."""
    return next((index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]),
                min(len(first), len(second)))


@dataclass(frozen=True, slots=True)
class Tree:
    """A prefix tree of continuations, without the last token of each, which need not be processed.

    `seen` (tokens, tokens) is True where a token attends to another. For each token of each continuation, `branches`
    holds the index of the token before it: 0 is the text's last token, 1 + n the n-th token of the tree.
    """

    tokens: list[int]
    depths: list[int]
    seen: npt.NDArray[np.bool_]
    branches: list[list[int]]

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, afters: tuple[tuple[int, ...], ...]) -> Tree:
        beginnings = dict.fromkeys(after[:end] for after in afters for end in range(1, len(after)))
        rows = {beginning: row for row, beginning in enumerate(beginnings)}
        seen = np.eye(len(rows), dtype=bool)
        for beginning, row in rows.items():
            if len(beginning) > 1:
                seen[row] |= seen[rows[beginning[:-1]]]
        return cls([beginning[-1] for beginning in rows], [len(beginning) - 1 for beginning in rows], seen,
                   [[rows[after[:end]] + 1 if end else 0 for end in range(len(after))] for after in afters])


Piece = tuple[slice, Any]
"""A span of tokens in a row and its attention mask; None for the usual causal mask."""


def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, pieces: Sequence[list[Piece]] = (),
           scaling: float | None = None, **options: Any) -> tuple[Any, None]:
    """Attend within the `pieces` of one row: from each text to itself, from each tree to its text and itself.

    (1, heads, tokens, width) to (1, tokens, heads, width). Without pieces, this is transformers' own attention; with
    them, anything more than scaled dot-product attention raises ValueError.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention
    from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward

    if not pieces:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **options)[0], None
    if foreign := [name for name in ("softcap", "sliding_window", "s_aux", "position_bias") if options.get(name)]:
        raise ValueError(f"attention with {foreign[0]} is not supported")
    groups = query.shape[1] // key.shape[1]
    key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    attended = torch.empty_like(query.transpose(1, 2))
    for (start, _), *trees in pieces:
        attended[:, start] = scaled_dot_product_attention(
            query[:, :, start], key[:, :, start], value[:, :, start], is_causal=True, scale=scaling).transpose(1, 2)
        for tree, seen in trees:
            keys, values = (torch.cat([states[:, :, start], states[:, :, tree]], 2) for states in (key, value))
            attended[:, tree] = scaled_dot_product_attention(
                query[:, :, tree], keys, values, seen, scale=scaling).transpose(1, 2)
    return attended, None


def reads_pieces(network: Any, device: str, pad: int) -> bool:
    """Return True if the network scores a tree like separate texts, and then switch its attention to `attend`."""
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    before = network.config._attn_implementation
    if before != "sdpa":
        return False
    AttentionInterface.register(PIECES, attend)
    AttentionMaskInterface.register(PIECES, sdpa_mask)
    network.set_attn_implementation(PIECES)
    reader = Reader(network, device, pad)
    near = max(NEAR, ROUNDINGS * torch.finfo(network.dtype).eps)
    tree = Continuations([1, 2, 3], [[[1, 2, 1], [1, 3, 2], [2, 1]]])
    try:
        same = all(np.allclose(in_row, reader.batch([unit])[0], atol=near)
                   for in_row, unit in zip(reader.row([tree])[0], tree.units(pieces=False), strict=True))
    except (RuntimeError, TypeError, ValueError, IndexError):
        same = False
    if not same:
        network.set_attn_implementation(before)
    return same


@dataclass(frozen=True, slots=True)
class Reader:
    """A causal network on its device; `pad` is the padding token id, `pieces` enables rows of trees."""

    network: Any
    device: str
    pad: int
    pieces: bool = True

    def read(self, units: Sequence[Continuations]) -> list[list[Vectors]]:
        """Return log p of each token of each continuation, unit by unit."""
        in_row = [self.pieces and (self.device == "cpu" or len(unit.afters) > 1) for unit in units]
        rows, texts = ([unit for unit, as_row in zip(units, in_row, strict=True) if as_row == selected]
                       for selected in (True, False))
        from_rows, from_texts = iter(self.row(rows) if rows else ()), iter(self.batch(texts) if texts else ())
        return [next(from_rows) if as_row else [next(from_texts)] for as_row in in_row]

    def last(self, units: Sequence[Continuations], token_ids: Sequence[int]) -> list[Vectors]:
        """Score each token id in place of the last token of each continuation: (continuations, token_ids).

        A score is log p plus a constant per text, computed in float32, since bf16 would round it.
        """
        import torch

        output = self.network.get_output_embeddings()
        with torch.inference_mode():
            if self.pieces:
                states, rows = self._states(units)
                ends = np.cumsum([len(after) for unit in units for after in unit.afters]) - 1
                states = states[rows[ends]]
            else:
                texts = [unit.start + after[:-1] for unit in units for after in unit.afters]
                states = torch.cat([self.network.base_model(input_ids=torch.tensor([text], device=self.device),
                                                            use_cache=False).last_hidden_state[:, -1]
                                    for text in texts])
            if type(output) is torch.nn.Linear and getattr(output, "bias", None) is None:
                scores = states.float() @ output.weight[list(token_ids)].float().T
            else:
                scores = output(states)[:, list(token_ids)].float()
        return np.split(scores.cpu().numpy(), np.cumsum([len(unit.afters) for unit in units])[:-1])

    def batch(self, units: Sequence[Continuations]) -> list[Vectors]:
        """Return log p of each token of the single continuation of each unit, computed as one batch."""
        import torch

        arrays = padded([Tokenized(unit.start + unit.afters[0]) for unit in units], self.pad)
        inputs = {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}
        first = min(len(unit.start) for unit in units)
        ids = inputs["input_ids"]
        with torch.inference_mode():
            logits = self.network(**inputs, use_cache=False, logits_to_keep=ids.shape[1] - first + 1).logits
            scores = logits[:, :-1].float()
            following = scores.gather(-1, ids[:, first:, None])[..., 0] - torch.logsumexp(scores, -1)
            values = following.cpu().numpy()  # (units, longest)
        return [row[len(unit.start) - first :][: len(unit.afters[0])].copy()
                for unit, row in zip(units, values, strict=True)]

    def row(self, units: Sequence[Continuations]) -> list[list[Vectors]]:
        import torch

        tokens = [token for unit in units for after in unit.afters for token in after]
        with torch.inference_mode():
            states, rows = self._states(units)
            values = log_likelihoods(self.network.get_output_embeddings(), states, rows,
                                     torch.tensor(tokens, dtype=torch.long, device=self.device)).cpu().numpy()
        parts = iter(np.split(values, np.cumsum([len(after) for unit in units for after in unit.afters])[:-1]))
        return [[next(parts).copy() for _ in unit.afters] for unit in units]

    def _states(self, units: Sequence[Continuations]) -> tuple[Any, Any]:
        """Return the states that predict the tokens of the continuations, and for each token the index of its state.

        All texts, each followed by its trees, are processed as one row.
        """
        import torch

        ids: list[int] = []
        positions: list[int] = []
        before: list[int] = []
        pieces: list[list[Piece]] = []
        for unit in units:
            piece: list[Piece] = [(slice(len(ids), len(ids) + len(unit.start)), None)]
            ids += unit.start
            positions += range(len(unit.start))
            last = len(ids) - 1
            for tree in (Tree.of(tuple(map(tuple, afters))) for afters in unit.trees):
                before += [len(ids) + row - 1 if row else last for branch in tree.branches for row in branch]
                if tree.tokens:
                    piece.append((slice(len(ids), len(ids) + len(tree.tokens)), self._mask(tree, len(unit.start))))
                ids += tree.tokens
                positions += [len(unit.start) + depth for depth in tree.depths]
            pieces.append(piece)
        inputs = {"input_ids": torch.tensor([ids], device=self.device), "pieces": pieces, "use_cache": False,
                  "position_ids": torch.tensor([positions], device=self.device),
                  "attention_mask": torch.zeros(1, 1, 1, 1, device=self.device)}  # 4-D masks are used unchanged
        needed, rows = torch.unique(torch.tensor(before, dtype=torch.long, device=self.device), return_inverse=True)
        return self.network.base_model(**inputs).last_hidden_state[0, needed], rows

    def _mask(self, tree: Tree, before: int) -> Any:
        """Return the mask to add to attention scores: −∞ where a token does not attend to another, else 0."""
        import torch

        seen = torch.from_numpy(np.pad(tree.seen, ((0, 0), (before, 0)), constant_values=True)).to(self.device)
        return torch.zeros(seen.shape, dtype=self.network.dtype, device=self.device).masked_fill_(~seen, -torch.inf)
