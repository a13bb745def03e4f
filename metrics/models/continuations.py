"""Likelihoods of continuations after a text, as a causal network computes them.

A text and its continuations are one row of a batch: the text once, followed by a prefix tree of the continuations, in
which a shared beginning occurs once. Each token attends to the text and to its own beginning, at the position that it
would have in a separate text. For networks that cannot do this, each row is a text with one continuation. Logits, which
take most of the memory, are computed only from a text's last token onwards.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.models.encoder import padded
from metrics.models.memory import Vectors
from metrics.models.networks import log_likelihoods
from metrics.models.tokens import Tokenized

MAX_DIFFERENCE, MAX_EPSILONS = 0.01, 16
"""Largest rounding difference between likelihoods: absolute, and in epsilons of the network's type."""

MAX_TREE_TOKENS, MAX_ROW_TOKENS = 512, 1536
"""Maximum number of tokens in a tree of several continuations, and in a row of several texts (attention is slow)."""


@dataclass(frozen=True)
class Continuations:
    """The tokens of a text, at least one, and of its continuations."""

    start: list[int]
    afters: list[list[int]]

    @functools.cached_property
    def tree(self) -> Tree:
        return Tree.of(tuple(map(tuple, self.afters)))

    @property
    def size(self) -> int:
        """The number of tokens to process."""
        return len(self.start) + len(self.tree.tokens)

    def units(self, trees: bool, room: int = MAX_TREE_TOKENS) -> list[Continuations]:
        """Return the rows of a batch: one per continuation, or with `trees` one for several neighbouring continuations.

        The continuations of a row have up to `room` tokens, or up to twice as many as the first of them.
        """
        groups: list[list[list[int]]] = []
        size = 0
        for after in self.afters:
            added = len(after) - (shared([groups[-1][-1], after]) if groups else 0)
            if trees and groups and size + added <= max(room, 2 * len(groups[-1][0])):
                groups[-1].append(after)
                size += added
            else:
                groups.append([after])
                size = len(after)
        return [Continuations(self.start, group) for group in groups]


def rows(texts: Sequence[list[int]], trees: bool) -> list[Continuations]:
    """Group sorted texts into rows that start with their common beginning; the last token of each text is scored."""
    units = [unit for first, group in itertools.groupby(texts, key=operator.itemgetter(0))
             for unit in Continuations([first], [text[1:] for text in group]).units(trees, MAX_ROW_TOKENS)]
    common = [min(shared(unit.afters), *(len(after) - 1 for after in unit.afters)) for unit in units]
    return [Continuations(unit.start + unit.afters[0][:end], [after[end:] for after in unit.afters])
            for unit, end in zip(units, common, strict=True)]


def shared(rows: Sequence[list[int]]) -> int:
    """Return the length of the common beginning of token lists."""
    first, last = min(rows), max(rows)
    return next((end for end, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))


@dataclass(frozen=True, slots=True)
class Tree:
    """A prefix tree of continuations, without the last token of each, which need not be processed.

    `attends` (tokens, tokens) is True where a token attends to another. For each token of each continuation,
    `predecessors` has the index of the token before it: 0 is the text's last token, 1 + n token n of the tree.
    """

    tokens: list[int]
    depths: list[int]
    attends: npt.NDArray[np.bool_]
    predecessors: list[list[int]]

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, afters: tuple[tuple[int, ...], ...]) -> Tree:
        beginnings = dict.fromkeys(after[:end] for after in afters for end in range(1, len(after)))
        rows = {beginning: row for row, beginning in enumerate(beginnings)}
        attends = np.eye(len(rows), dtype=bool)
        for beginning, row in rows.items():
            if len(beginning) > 1:
                attends[row] |= attends[rows[beginning[:-1]]]
        return cls([beginning[-1] for beginning in rows], [len(beginning) - 1 for beginning in rows], attends,
                   [[rows[after[:end]] + 1 if end else 0 for end in range(len(after))] for after in afters])


def reads_trees(network: Any, device: str, pad: int) -> bool:
    """Return True if the network scores a tree like separate texts."""
    import torch

    if getattr(network.config, "sliding_window", None):  # the mask of a tree would replace that of the window
        return False
    reader = Reader(network, device, pad)
    tolerance = max(MAX_DIFFERENCE, MAX_EPSILONS * torch.finfo(network.dtype).eps)
    branched, single = Continuations([1, 2, 3], [[1, 2, 1], [1, 3, 2], [2, 1]]), Continuations([3], [[2]])
    try:
        in_tree, _ = reader.trees([branched, single])
        return all(np.allclose(values, reader.texts([unit])[0], atol=tolerance)
                   for values, unit in zip(in_tree, branched.units(trees=False), strict=True))
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False


@dataclass(frozen=True, slots=True)
class Reader:
    """A causal network on its device; `in_trees` allows rows of trees."""

    network: Any
    device: str
    pad: int
    in_trees: bool = True

    def read(self, units: Sequence[Continuations]) -> list[list[Vectors]]:
        """Return log p of each token of each continuation, unit by unit."""
        return self.trees(units) if self.in_trees else [[values] for values in self.texts(units)]

    def last(self, units: Sequence[Continuations], token_ids: Sequence[int]) -> list[Vectors]:
        """Return, for each unit, log p of each token id as a continuation's last: (continuations, token_ids).

        The token ids of a continuation share an unknown additive constant; only their differences are meaningful.
        """
        import torch

        output = self.network.get_output_embeddings()
        with torch.inference_mode():
            if self.in_trees:
                states, rows = self._states(units)
                ends = np.cumsum([len(after) for unit in units for after in unit.afters]) - 1
                states = states[rows[ends]]
            else:
                texts = [unit.start + after[:-1] for unit in units for after in unit.afters]
                states = torch.cat([self.network.base_model(input_ids=torch.tensor([text], device=self.device),
                                                            use_cache=False).last_hidden_state[:, -1]
                                    for text in texts])
            if type(output) is torch.nn.Linear and getattr(output, "bias", None) is None:
                scores = states.float() @ output.weight[list(token_ids)].float().T  # bf16 would round them
            else:
                scores = output(states)[:, list(token_ids)].float()
        return np.split(scores.cpu().numpy(), np.cumsum([len(unit.afters) for unit in units])[:-1])

    def texts(self, units: Sequence[Continuations]) -> list[Vectors]:
        """Return log p of each token of the single continuation of each unit."""
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

    def trees(self, units: Sequence[Continuations]) -> list[list[Vectors]]:
        import torch

        afters = [after for unit in units for after in unit.afters]
        tokens = torch.tensor(list(itertools.chain(*afters)), dtype=torch.long, device=self.device)
        with torch.inference_mode():
            states, rows = self._states(units)
            values = log_likelihoods(self.network.get_output_embeddings(), states, rows, tokens).cpu().numpy()
        parts = iter(np.split(values, np.cumsum(list(map(len, afters)))[:-1]))
        return [[next(parts).copy() for _ in unit.afters] for unit in units]

    def _states(self, units: Sequence[Continuations]) -> tuple[Any, Any]:
        """Return the states that predict the tokens of the continuations, and for each token the index of its state."""
        import torch

        longest = max(unit.size for unit in units)
        ids = np.full((len(units), longest), self.pad)
        positions = np.zeros_like(ids)
        attends = np.tile(np.eye(longest, dtype=bool), (len(units), 1, 1))  # (rows, tokens, tokens)
        indices: list[int] = []
        for row, unit in enumerate(units):
            start, tree = len(unit.start), unit.tree
            end = start + len(tree.tokens)
            ids[row, :end] = unit.start + tree.tokens
            positions[row, :end] = [*range(start), *(start + depth for depth in tree.depths)]
            attends[row, :start, :start] = np.tri(start, dtype=bool)
            attends[row, start:end, :start] = True
            attends[row, start:end, start:end] = tree.attends
            indices += [row * longest + start - 1 + index for index in itertools.chain(*tree.predecessors)]
        masked = ~torch.from_numpy(attends[:, None]).to(self.device)
        mask = torch.zeros(masked.shape, dtype=self.network.dtype, device=self.device)
        states = self.network.base_model(
            input_ids=torch.from_numpy(ids).to(self.device), position_ids=torch.from_numpy(positions).to(self.device),
            attention_mask=mask.masked_fill_(masked, -torch.inf), use_cache=False).last_hidden_state.flatten(0, 1)
        needed, rows = torch.unique(torch.tensor(indices, dtype=torch.long, device=self.device), return_inverse=True)
        return states[needed], rows
