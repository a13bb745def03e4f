"""How likely each of several continuations is after one text, as a causal network computes it.

There are two ways. A text with one continuation is read with it, in a batch with others. Or texts stand one behind the
other in a single row without padding, each once, with what follows it: continuations form trees, in which tokens that
begin alike stand once, and each token sees its text and what leads to it, at the position it would have by itself. On
a processor no tree changes the last bits of another. Scores over the vocabulary are computed only from the last token
of a text on; they take most of the memory.
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
from metrics.models.tokens import Tokenized
from metrics.models.vocabulary import log_likelihoods

NEAR = 0.01
"""How far likelihoods may lie apart by rounding in float32; in shorter numbers by ROUNDINGS of theirs."""

ROUNDINGS = 16
"""Of the numbers that a network computes in, where these are shorter than float32."""

SAVED = 64
"""How many tokens must be saved for a text to be read once, in a call of its own."""

MOST = 16
"""How many trees stand behind a text, before it is read anew for others."""

TREE = 128
"""Tokens of the continuations that form one tree, at most."""

PIECES = "pieces"
"""The name under which transformers knows `attend`."""


@dataclass(frozen=True, slots=True)
class Following:
    """The tokens of a text, one or more, and of the continuations that are to be read after it, tree by tree."""

    start: list[int]
    trees: list[list[list[int]]]

    @property
    def afters(self) -> list[list[int]]:
        """The continuations of all trees."""
        return [after for tree in self.trees for after in tree]

    @property
    def size(self) -> int:
        """How many tokens there are to read, at most."""
        return len(self.start) + sum(map(len, self.afters))

    def units(self, together: bool, saved: int = SAVED) -> list[Following]:
        """What is read at once: all of it where that saves so many tokens and the network can, else one by one."""
        if not together or (len(self.afters) - 1) * len(self.start) < saved:
            return [Following(self.start, [[after]]) for after in self.afters]
        return [Following(self.start, self.trees[place : place + MOST]) for place in range(0, len(self.trees), MOST)]


def small_trees(afters: Sequence[list[int]]) -> list[list[list[int]]]:
    """The trees of continuations, neighbours together; small ones, since each attends to itself."""
    trees: list[list[list[int]]] = []
    for after in afters:
        if trees and sum(map(len, trees[-1])) + len(after) <= TREE:
            trees[-1].append(after)
        else:
            trees.append([after])
    return trees


@dataclass(frozen=True, slots=True)
class Tree:
    """Continuations whose beginnings are shared: each token but the last of each once.

    `seen` says which tokens each one sees, itself among them; `branches` after which row of scores each token of a
    continuation stands: 0 is the text's last token, 1 + n the n-th token of the tree.
    """

    tokens: list[int]
    depths: list[int]
    seen: npt.NDArray[np.bool_]
    branches: list[list[int]]

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, afters: tuple[tuple[int, ...], ...]) -> Tree:
        """The tree of these continuations."""
        beginnings = dict.fromkeys(after[:end] for after in afters for end in range(1, len(after)))
        places = {beginning: place for place, beginning in enumerate(beginnings)}
        seen = np.zeros((len(places), len(places)), dtype=bool)
        for beginning, place in places.items():
            if len(beginning) > 1:
                seen[place] = seen[places[beginning[:-1]]]
            seen[place, place] = True
        return cls([beginning[-1] for beginning in places], [len(beginning) - 1 for beginning in places], seen,
                   [[places[after[:end]] + 1 if end else 0 for end in range(len(after))] for after in afters])


Piece = tuple[slice, Any]
"""Tokens in a row, and which each of them sees; None where every one sees those before it."""


def attend(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, pieces: Sequence[list[Piece]] = (),
           scaling: float | None = None, **options: Any) -> tuple[Any, None]:
    """Attention within the `pieces` of one row: each text by itself, and what follows it after the text.

    (1, heads, tokens, width) to (1, tokens, heads, width). Without pieces it is transformers' own; with them, attention
    that is more than a product and a softmax is a ValueError.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention
    from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward

    if not pieces:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **options)[0], None
    if foreign := [name for name in ("softcap", "sliding_window", "s_aux", "position_bias") if options.get(name)]:
        raise ValueError(f"attention with {foreign[0]}")
    groups = query.shape[1] // key.shape[1]
    key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    found = torch.empty_like(query.transpose(1, 2))
    for (start, _), *rest in pieces:
        found[:, start] = scaled_dot_product_attention(
            query[:, :, start], key[:, :, start], value[:, :, start], is_causal=True, scale=scaling).transpose(1, 2)
        for after, seen in rest:
            keys, values = (torch.cat([states[:, :, start], states[:, :, after]], 2) for states in (key, value))
            found[:, after] = scaled_dot_product_attention(
                query[:, :, after], keys, values, seen, scale=scaling).transpose(1, 2)
    return found, None


def reads_pieces(network: Any, device: str, pad: int) -> bool:
    """Whether a network reads a tree of continuations as it reads each by itself; it is changed so that it can."""
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
    tree = Following([1, 2, 3], [[[1, 2, 1], [1, 3, 2], [2, 1]]])
    apart = [Following(tree.start, [[after]]) for after in tree.afters]
    try:
        same = all(np.allclose(one, reader.whole([other])[0], atol=near)
                   for one, other in zip(reader.row([tree])[0], apart, strict=True))
    except (RuntimeError, TypeError, ValueError, IndexError):
        same = False
    if not same:
        network.set_attn_implementation(before)
    return same


@dataclass(frozen=True, slots=True)
class Reader:
    """A causal network on its device; `pad` fills up its batches, `pieces` says whether it reads trees in a row, and
    `rows` that nothing is read in batches.
    """

    network: Any
    device: str
    pad: int
    pieces: bool = True
    rows: bool = False

    def read(self, units: Sequence[Following]) -> list[list[Vectors]]:
        """Compute log p of every token of each continuation, unit by unit."""
        in_row = [self.rows or len(unit.afters) > 1 for unit in units]
        several, single = ([unit for unit, here in zip(units, in_row, strict=True) if here == wanted]
                           for wanted in (True, False))
        row, whole = iter(self.row(several) if several else ()), iter(self.whole(single) if single else ())
        return [next(row) if here else [next(whole)] for here in in_row]

    def last(self, units: Sequence[Following], wanted: Sequence[int]) -> list[Vectors]:
        """Score each wanted token in place of the last of each continuation: (continuations, wanted).

        A score is log p up to a constant of the text. It is computed in float32, as scores in bf16 would be rounded.
        """
        import torch

        output = self.network.get_output_embeddings()
        with torch.inference_mode():
            if self.pieces:
                states, rows, _ = self._states(units)
                ends = np.cumsum([len(after) for unit in units for after in unit.afters]) - 1
                states = states[rows[ends]]
            else:
                texts = [unit.start + after[:-1] for unit in units for after in unit.afters]
                states = torch.cat([self.network.base_model(input_ids=torch.tensor([text], device=self.device),
                                                            use_cache=False).last_hidden_state[:, -1]
                                    for text in texts])
            if type(output) is torch.nn.Linear and getattr(output, "bias", None) is None:
                scores = states.float() @ output.weight[list(wanted)].float().T
            else:
                scores = output(states)[:, list(wanted)].float()
        return np.split(scores.cpu().numpy(), np.cumsum([len(unit.afters) for unit in units])[:-1])

    def whole(self, units: Sequence[Following]) -> list[Vectors]:
        """Each text with its one continuation, as one batch."""
        import torch

        inputs = self._tensors([unit.start + unit.afters[0] for unit in units])
        first = min(len(unit.start) for unit in units)
        ids = inputs["input_ids"]
        with torch.inference_mode():
            logits = self.network(**inputs, use_cache=False, logits_to_keep=ids.shape[1] - first + 1).logits
            values = _taken(logits[:, :-1], ids[:, first:]).cpu().numpy()
        return [row[len(unit.start) - first :][: len(unit.afters[0])].copy()
                for unit, row in zip(units, values, strict=True)]

    def row(self, units: Sequence[Following]) -> list[list[Vectors]]:
        """Compute log p of every token of each continuation, all units in one row."""
        import torch

        tokens = [self.pad, *(token for unit in units for after in unit.afters for token in after)]
        with torch.inference_mode():
            states, rows, first = self._states(units)
            values = log_likelihoods(self.network.get_output_embeddings(), states, torch.cat([first, rows]),
                                     torch.tensor(tokens, device=self.device))[1:].cpu().numpy()
        parts = iter(np.split(values, np.cumsum([len(after) for unit in units for after in unit.afters])[:-1]))
        return [[next(parts).copy() for _ in unit.afters] for unit in units]

    def _states(self, units: Sequence[Following]) -> tuple[Any, Any, Any]:
        """States that are read before the tokens of the continuations, which one before each, and the row's first.

        Texts and the trees behind them stand in one row; the last token of each continuation need not be read. A token
        of padding begins the row, since matrix products of a single row may differ in their last bits.
        """
        import torch

        ids, positions, places = [self.pad], [0], [0]
        pieces: list[list[Piece]] = [[(slice(0, 1), None)]]
        for unit in units:
            piece: list[Piece] = [(slice(len(ids), len(ids) + len(unit.start)), None)]
            ids += unit.start
            positions += range(len(unit.start))
            last = len(ids) - 1
            for tree in (Tree.of(tuple(map(tuple, afters))) for afters in unit.trees):
                places += [len(ids) + place - 1 if place else last for branch in tree.branches for place in branch]
                if tree.tokens:
                    piece.append((slice(len(ids), len(ids) + len(tree.tokens)), self._seen(tree, len(unit.start))))
                ids += tree.tokens
                positions += [len(unit.start) + depth for depth in tree.depths]
            pieces.append(piece)
        inputs = {"input_ids": torch.tensor([ids], device=self.device), "pieces": pieces, "use_cache": False,
                  "position_ids": torch.tensor([positions], device=self.device),
                  "attention_mask": torch.zeros(1, 1, 1, 1, device=self.device)}  # in four dimensions it is left alone
        kept, rows = torch.unique(torch.tensor(places, device=self.device), return_inverse=True)
        return self.network.base_model(**inputs).last_hidden_state[0, kept], rows[1:], rows[:1]

    def _seen(self, tree: Tree, before: int) -> Any:
        """What is added to the scores of attention: nothing, or −∞ for what a token of a tree does not see."""
        import torch

        seen = torch.from_numpy(np.pad(tree.seen, ((0, 0), (before, 0)), constant_values=True)).to(self.device)
        return torch.zeros(seen.shape, dtype=self.network.dtype, device=self.device).masked_fill_(~seen, -torch.inf)

    def _tensors(self, rows: Sequence[list[int]]) -> dict[str, Any]:
        import torch

        arrays = padded([Tokenized(ids) for ids in rows], self.pad)
        return {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}


def _taken(logits: Any, following: Any) -> Any:
    """Take log p of the token that follows each place: (rows, places)."""
    import torch

    scores = logits.float()
    return scores.gather(-1, following[..., None])[..., 0] - torch.logsumexp(scores, -1)
