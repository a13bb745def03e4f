"""How likely each of several continuations is after one text, as a causal network computes it.

There are two ways. A text with one continuation is read with it, in a batch with others. A text that many continuations
follow is read with all of them in one pass: they form a tree, in which tokens that begin alike stand once, and each
sees the text and what leads to it, at the position it would have by itself. Scores over the vocabulary are computed
only from the last token of a text on; they take most of the memory.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.models.encoder import padded
from metrics.models.memory import Vectors
from metrics.models.tokens import Tokenized

SAVED = 64
"""How many tokens must be saved for a text to be read once, in a call of its own."""


@dataclass(frozen=True, slots=True)
class Following:
    """The tokens of a text, one or more, and of the continuations that are to be read after it."""

    start: list[int]
    afters: list[list[int]]

    @property
    def size(self) -> int:
        """How many tokens there are to read."""
        return len(self.start) + sum(map(len, self.afters))

    def units(self, together: bool) -> list[Following]:
        """What is read at once: all of it where that pays and the network can, else one by one."""
        if together and (len(self.afters) - 1) * len(self.start) >= SAVED:
            return [self]
        return [Following(self.start, [after]) for after in self.afters]


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
    @functools.lru_cache(maxsize=8)
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


@dataclass(frozen=True, slots=True)
class Reader:
    """A causal network on its device; `pad` fills up its batches."""

    network: Any
    device: str
    pad: int

    def read(self, units: Sequence[Following]) -> list[list[Vectors]]:
        """Compute log p of every token of each continuation, unit by unit."""
        import torch

        single = [unit for unit in units if len(unit.afters) == 1]
        with torch.inference_mode():
            whole = iter(self._whole(single) if single else ())
            return [[next(whole)] if len(unit.afters) == 1 else self._once(unit) for unit in units]

    def last(self, units: Sequence[Following], wanted: Sequence[int]) -> list[Vectors]:
        """Score each wanted token after each text with each of its continuations: (continuations, wanted).

        A score is log p up to a constant of the text. A text that several continuations follow is read once, and each
        continuation after it by itself.
        """
        import torch

        output = self.network.get_output_embeddings()
        exact = output.weight[list(wanted)].float() if type(output) is torch.nn.Linear and output.bias is None else None

        def read(rows: list[list[int]], cache: Any = None) -> Any:
            inputs = {"input_ids": torch.tensor(rows, device=self.device), "past_key_values": cache,
                      "use_cache": cache is not None}
            if exact is None:
                return self.network(**inputs, logits_to_keep=1).logits[:, -1, list(wanted)].float().cpu().numpy()
            states = self.network.base_model(**inputs).last_hidden_state[:, -1]  # its scores would be rounded to bf16
            return (states.float() @ exact.T).cpu().numpy()

        with torch.inference_mode():
            if all(len(unit.afters) == 1 for unit in units) and len({unit.size for unit in units}) == 1:
                return [row[None] for row in read([unit.start + unit.afters[0] for unit in units])]
            arrays = []
            for unit in units:
                if len(unit.afters) == 1:
                    arrays.append(read([unit.start + unit.afters[0]]))
                    continue
                start = self.network(**self._tensors([unit.start]), use_cache=True, logits_to_keep=1).past_key_values
                arrays.append(np.concatenate([read([after], copy.deepcopy(start)) for after in unit.afters]))
        return arrays

    def _whole(self, units: Sequence[Following]) -> list[Vectors]:
        """Each text with its one continuation, as one batch."""
        inputs = self._tensors([unit.start + unit.afters[0] for unit in units])
        first = min(len(unit.start) for unit in units)
        ids = inputs["input_ids"]
        logits = self.network(**inputs, use_cache=False, logits_to_keep=ids.shape[1] - first + 1).logits
        values = _taken(logits[:, :-1], ids[:, first:]).cpu().numpy()
        return [row[len(unit.start) - first :][: len(unit.afters[0])].copy()
                for unit, row in zip(units, values, strict=True)]

    def _once(self, unit: Following) -> list[Vectors]:
        """A text and the tree of its continuations in one pass; each continuation's last token need not be read."""
        import torch

        tree = Tree.of(tuple(map(tuple, unit.afters)))
        length = len(unit.start)
        depths = torch.tensor(tree.depths, dtype=torch.long, device=self.device)
        seen = torch.ones((length + len(tree.tokens),) * 2, dtype=torch.bool, device=self.device).tril()
        seen[length:, length:] = torch.from_numpy(tree.seen).to(self.device)
        ids = torch.tensor([[*unit.start, *tree.tokens]], device=self.device)
        logits = self.network(
            input_ids=ids, attention_mask=seen[None, None], use_cache=False, logits_to_keep=len(tree.tokens) + 1,
            position_ids=torch.cat([torch.arange(length, device=self.device), length + depths])[None]).logits[0].float()
        rows, tokens = (torch.tensor([place for branch in some for place in branch], device=self.device)
                        for some in (tree.branches, unit.afters))
        values = (logits[rows, tokens] - torch.logsumexp(logits, -1)[rows]).cpu().numpy()
        ends = np.cumsum([len(after) for after in unit.afters])
        return [part.copy() for part in np.split(values, ends[:-1])]

    def _tensors(self, rows: Sequence[list[int]]) -> dict[str, Any]:
        import torch

        arrays = padded([Tokenized(ids) for ids in rows], self.pad)
        return {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}


def _taken(logits: Any, following: Any) -> Any:
    """Take log p of the token that follows each place: (rows, places)."""
    import torch

    scores = logits.float()
    return scores.gather(-1, following[..., None])[..., 0] - torch.logsumexp(scores, -1)
