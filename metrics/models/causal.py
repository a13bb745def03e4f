"""A causal language model: how likely a text is after another.

All likelihoods are natural logarithms, one per token of the continuation. What comes before begins as the model's
tokenizer begins every text; where nothing comes before, the continuation stands after the beginning-of-text token,
else after the token that ends a text, so that its first token has a probability as well. Where both together are too
long, what comes before loses its oldest turns whole; a last turn that is too long by itself loses its beginning, and a
continuation its end.

A text that several continuations follow is read once: its keys and values are kept and repeated for them.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from metrics.errors import BadOption, CannotScore
from metrics.models import networks
from metrics.models.batches import Batches, Forward, Result
from metrics.models.continuations import SAVED, Following, Reader, reads_pieces, small_trees
from metrics.models.device import Machine
from metrics.models.hub import quiet
from metrics.models.memory import MEBIBYTE, Memory, Vectors
from metrics.models.tokens import Tokenizer
from metrics.models.weights import Weights

LOGITS = {"cpu": 256 * MEBIBYTE, "mps": 512 * MEBIBYTE, "cuda": 2048 * MEBIBYTE}
"""Bytes that the scores over the vocabulary may take in all batches that are read at a time."""


Before: TypeAlias = str | tuple[str, ...]
"""What comes before a continuation: a text, or its turns from the oldest to the last, to be joined as they are."""


Asked: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The texts of a question, and texts of another: what they all begin with is what other questions begin with too."""


class LanguageModel:
    """A causal language model that tells likelihoods; it generates nothing."""

    def __init__(self, weights: Weights, machine: Machine, memory: Memory) -> None:
        self.weights = weights
        self.machine = machine
        self._memory = memory

    @property
    def name(self) -> str:
        """The name to show beside a score."""
        return self.weights.name

    @property
    def end(self) -> str:
        """The text that ends a turn for this model: its end-of-text token, else a line's end."""
        return str(self.tokenizer.whole.eos_token or "\n")

    @cached_property
    def networks(self) -> list[Any]:
        """The network, once per device; loaded when the first text is to be read."""
        loaded = networks.transformer("AutoModelForCausalLM", self.weights, self.machine)
        if not networks.reads_one_way(loaded[0], self.machine.devices[0]):
            raise BadOption(f"model {self.name}: every token sees what follows it; only causal models tell likelihoods")
        return loaded

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, with the limit of the network's positions."""
        return Tokenizer(self.weights, networks.positions(self.networks[0].config))

    def log_likelihoods(self, pairs: Sequence[tuple[Before, str]]) -> list[Vectors]:
        """Tell log p of every token of the second text, after the first: (tokens,); empty where it has no token.

        The two are joined as they are: a space between them is the caller's to write.
        """
        return self._memory.through((self.weights.identity, "likelihoods"), pairs, self._pairs)

    def after_each(self, befores: Sequence[Before], continuations: Sequence[str]) -> Vectors:
        """Tell the mean log p per token of every continuation after every text: (befores, continuations).

        All continuations meet the same text: one that is too long is cut for the longest of them. A continuation
        without a token has NaN.
        """
        rows = self._memory.through((self.weights.identity, "after each", tuple(continuations)), befores,
                                    lambda missing: self._means(missing, continuations))
        return np.stack(rows) if rows else np.zeros((0, len(continuations)), np.float32)

    def answers(self, questions: Sequence[Asked], answers: Sequence[str]) -> list[Vectors]:
        """Score each answer, a single token, after each text of each question: log p up to a constant (texts, answers).

        What comes before is read once for all questions after it; no question changes the last bits of another.
        """
        wanted = [self._single_token(answer) for answer in answers]
        return self._memory.through((self.weights.identity, "answers", tuple(wanted)), questions,
                                    lambda missing: self._answers(missing, wanted))

    def tokens_among(self, texts: Sequence[str]) -> list[str]:
        """Those of the texts that are a single token; BadOption where none is."""
        single = [text for text, ids in zip(texts, self.tokenizer.plain(texts), strict=True) if len(ids) == 1]
        if not single:
            raise BadOption(f"model {self.name}: none of {', '.join(map(repr, texts))} is a single token to it")
        return single

    def _single_token(self, text: str) -> int:
        ids = self.tokenizer.plain([text])[0]
        if len(ids) != 1:
            raise BadOption(f"model {self.name}: {text!r} is {len(ids)} tokens to it; an answer is one")
        return ids[0]

    def conversation(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The messages as the model was trained to read them, up to where its answer begins; BadOption without such.

        A mark of the model that stands in a message is broken, so that nobody can speak for another.
        """
        tokenizer = self.tokenizer.whole
        if not tokenizer.chat_template:
            raise BadOption(f"model {self.name} has no chat template: it was not trained to answer; name a chat model "
                            "(often ...-Instruct or ...-Chat)")
        marks = sorted(map(str, tokenizer.all_special_tokens), key=len, reverse=True)
        plain = [{"role": message["role"], "content": _without(marks, message["content"])} for message in messages]
        try:
            return str(tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # a template is a program of its author's
            reason = " ".join(str(error).split())
            raise BadOption(f"model {self.name}: its chat template fails ({reason:.160})") from error

    def fits(self, text: str) -> bool:
        """Whether a text is short enough for the model."""
        return len(self.tokenizer.plain([text])[0]) <= self.tokenizer.limit

    def sizes(self, texts: Sequence[str]) -> npt.NDArray[np.intp]:
        """How many tokens of each text are read as a continuation."""
        return np.array([len(ids) for ids in self._cut(texts)], dtype=np.intp)

    @cached_property
    def _in_pieces(self) -> bool:
        """Whether the network reads several texts in one row, each with what follows it."""
        with quiet():
            return all(reads_pieces(network, device, self.tokenizer.pad)
                       for network, device in zip(self.networks, self.machine.devices, strict=True))

    @property
    def _rows(self) -> bool:
        """Whether everything is read in rows: on a processor, where they need no padding."""
        return self.machine.kind == "cpu" and self._in_pieces

    @cached_property
    def _opening(self) -> list[int]:
        """What the tokenizer puts before every text; mostly nothing."""
        return self.tokenizer.texts([""])[0].ids[: self.tokenizer.frame[0]]

    @cached_property
    def _beginning(self) -> list[int]:
        """What stands before a text that nothing comes before."""
        first = self.tokenizer.whole.bos_token_id
        return self._opening or ([int(first)] if first is not None else self.tokenizer.plain([self.end])[0] or [0])

    @cached_property
    def _batches(self) -> Batches:
        vocabulary = int(self.networks[0].config.vocab_size)
        at_once = len(networks.workers(self.networks, self.machine))
        tokens = max(1, min(self.machine.tokens, LOGITS[self.machine.kind] // (4 * vocabulary * at_once)))
        return Batches(tokens, even=self.machine.kind == "cpu")

    @cached_property
    def _row_batches(self) -> Batches:
        return Batches(self._batches.budget)

    def _cut(self, continuations: Sequence[str]) -> list[list[int]]:
        room = self.tokenizer.limit - len(self._beginning)
        return [ids[:room] for ids in self.tokenizer.plain(continuations)]

    def _starts(self, befores: Sequence[Before], following: Sequence[int]) -> Iterator[list[int]]:
        """What stands before continuations of so many tokens: the last turns that there is room for, never nothing."""
        texts = self.tokenizer.plain(["".join(before) for before in befores])
        for before, ids, after in zip(befores, texts, following, strict=True):
            room = self.tokenizer.limit - after - len(self._opening)
            kept = ids if len(ids) <= room or isinstance(before, str) else self._last_turns(before, room)
            yield [*self._opening, *kept[max(0, len(kept) - room):]] or self._beginning

    def _last_turns(self, turns: tuple[str, ...], room: int) -> list[int]:
        """As many of the last turns as there is room for, and at least one."""
        def ids(first: int) -> list[int]:
            return self.tokenizer.plain(["".join(turns[first:])])[0]

        return ids(bisect.bisect_left(range(len(turns) - 1), True, key=lambda first: len(ids(first)) <= room))

    def _pairs(self, pairs: Sequence[tuple[Before, str]]) -> list[Vectors]:
        """The likelihoods of pairs, gathered by what comes before; on a processor none moves another's last bits."""
        afters = self._cut([after for _, after in pairs])
        starts = list(map(tuple, self._starts([before for before, _ in pairs], list(map(len, afters)))))
        places: dict[tuple[int, ...], list[int]] = {}
        for place, start in enumerate(starts):
            places.setdefault(start, []).append(place)
        alone = self.machine.kind == "cpu"
        read = self._read([Following(list(start), [[afters[place]] for place in here] if alone else
                                     small_trees([afters[place] for place in here]))
                           for start, here in places.items()])
        likelihoods = {place: values for here, group in zip(places.values(), read, strict=True)
                 for place, values in zip(here, group, strict=True)}
        return [likelihoods[place] for place in range(len(pairs))]

    def _means(self, befores: Sequence[Before], continuations: Sequence[str]) -> list[Vectors]:
        afters = self._cut(continuations)
        longest = max(map(len, afters), default=0)
        order = sorted(range(len(afters)), key=afters.__getitem__)  # what begins alike stands together
        groups = [Following(start, small_trees([afters[place] for place in order]))
                  for start in self._starts(befores, [longest] * len(befores))]
        means = np.array([[value.mean() if value.size else np.nan for value in values]
                          for values in self._read(groups)], dtype=np.float32)
        return [row[np.argsort(order)] for row in means]

    def _answers(self, questions: Sequence[Asked], wanted: Sequence[int]) -> list[Vectors]:
        """The scores of questions, gathered by what comes before; each is a tree of its own."""
        places: dict[tuple[int, ...], list[int]] = {}
        trees = []
        for place, both in enumerate(questions):
            rows, others = ([self._opening + ids for ids in self.tokenizer.plain(texts)] for texts in both)
            if (most := max(map(len, rows))) > self.tokenizer.limit:
                raise CannotScore(f"model {self.name} reads {self.tokenizer.limit} tokens; a question has {most}")
            columns = itertools.takewhile(lambda tokens: len(set(tokens)) == 1, zip(*rows, *others, strict=False))
            shared = max(1, len(list(columns)))
            places.setdefault(tuple(rows[0][:shared]), []).append(place)
            trees.append([[*row[shared:], self.tokenizer.pad] for row in rows])
        units = [unit for start, here in places.items()
                 for unit in Following(list(start), [trees[place] for place in here]).units(self._in_pieces, 0)]
        read = self._run(Batches(self.machine.tokens), units, lambda reader, units: reader.last(units, wanted))
        scores = iter(np.concatenate(read))
        kept = {place: np.stack([next(scores) for _ in trees[place]]) for here in places.values() for place in here}
        return [kept[place] for place in range(len(questions))]

    def _read(self, groups: Sequence[Following]) -> list[list[Vectors]]:
        """Compute log p of every token of each group's continuations, on all devices."""
        if not groups:
            return []
        parts = [group.units(self._in_pieces, 0 if self._rows else SAVED) for group in groups]
        units = [unit for part in parts for unit in part]
        read = iter(self._run(self._row_batches if self._rows else self._batches, units, Reader.read))
        return [[values for _ in part for values in next(read)] for part in parts]

    def _run(self, batches: Batches, units: Sequence[Following],
             read: Callable[[Reader, Sequence[Following]], Sequence[Result]]) -> list[Result]:
        """What `read` gives of each unit, on all devices at once."""
        def on(reader: Reader) -> Forward[Result]:
            return lambda batch: read(reader, [units[place] for place in batch])

        readers = [Reader(network, device, self.tokenizer.pad, self._in_pieces, self._rows)
                   for network, device in networks.workers(self.networks, self.machine)]
        return batches.run([unit.size for unit in units], [on(reader) for reader in readers])


def _without(marks: Sequence[str], text: str) -> str:
    """The text with a space behind the first sign of each mark."""
    for mark in marks:
        text = text.replace(mark, f"{mark[0]} {mark[1:]}") if len(mark) > 1 else text
    return text
