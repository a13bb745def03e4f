"""How likely each of several continuations is after one text, as a causal network computes it.

There are two ways. A text with one continuation is read with it, in a batch with others. A text that many
continuations follow is read once: its keys and values are kept, and repeated for the continuations. Scores over the
vocabulary are computed only from the first token of a continuation on; they take most of the memory.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.models.batches import cut
from metrics.models.encoder import padded
from metrics.models.memory import MEBIBYTE, Vectors
from metrics.models.tokens import Tokenized

REPEATED = 512 * MEBIBYTE
"""Bytes that the repeated keys and values of a text may take."""

TOGETHER = 128
"""How many tokens of continuations, padding included, are read at a time after a text that was read once."""

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

    def units(self, keeps: bool) -> list[Following]:
        """What is read at once: all of it where that pays and the network `keeps` states, else one by one."""
        if keeps and (len(self.afters) - 1) * len(self.start) >= SAVED:
            return [self]
        return [Following(self.start, [after]) for after in self.afters]


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
        """A text by itself, then its continuations, some at a time."""
        import torch

        read = self.network(**self._tensors([unit.start]), use_cache=True, logits_to_keep=1)
        opening = torch.log_softmax(read.logits[0, -1].float(), -1)
        likelihoods: list[Vectors] = [np.zeros(0, np.float32)] * len(unit.afters)
        for places in self._parts(unit):
            cache = copy.deepcopy(read.past_key_values)
            for place, values in zip(places, self._after(opening, cache, [unit.afters[place] for place in places]),
                                     strict=True):
                likelihoods[place] = values
        return likelihoods

    def _after(self, opening: Any, cache: Any, afters: Sequence[list[int]]) -> list[Vectors]:
        """The continuations after a text whose states are in the cache; `opening` is log p of each first token.

        What pads a continuation stands after its last token, where nothing that counts can see it.
        """
        import torch

        ids = self._tensors(afters)["input_ids"]
        values = opening[ids[:, :1]]
        if ids.shape[1] > 1:
            cache.batch_repeat_interleave(len(afters))
            logits = self.network(input_ids=ids[:, :-1], past_key_values=cache, use_cache=True).logits
            values = torch.cat([values, _taken(logits, ids[:, 1:])], dim=1)
        return [row[: len(after)].copy() for row, after in zip(values.cpu().numpy(), afters, strict=True)]

    def _parts(self, unit: Following) -> Iterator[list[int]]:
        """Continuations of like length, as many as memory and padding allow; without those that have no token."""
        config = self.network.config
        states = 8 * config.num_hidden_layers * config.hidden_size * (len(unit.start) + max(map(len, unit.afters)))
        most = max(1, REPEATED // states)
        nonempty = [place for place, after in enumerate(unit.afters) if after]
        for batch in cut([len(unit.afters[place]) for place in nonempty], TOGETHER):
            for begin in range(0, len(batch), most):
                yield [nonempty[place] for place in batch[begin : begin + most]]

    def _tensors(self, rows: Sequence[list[int]]) -> dict[str, Any]:
        import torch

        arrays = padded([Tokenized(ids) for ids in rows], self.pad)
        return {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}


def _taken(logits: Any, following: Any) -> Any:
    """Take log p of the token that follows each place: (rows, places)."""
    import torch

    scores = logits.float()
    return scores.gather(-1, following[..., None])[..., 0] - torch.logsumexp(scores, -1)
