"""A causal language model: the likelihood of a continuation after a text.

All likelihoods are natural logarithms, one per token of the continuation. The preceding text starts with the special
tokens that the model's tokenizer adds to every text. An empty preceding text is replaced by the beginning-of-text
token, or else the end-of-text token, so that the first token of the continuation also has a probability. If both
together are too long, the oldest turns are dropped; if the last turn alone is too long, it is truncated at its start,
and an overlong continuation at its end. A text with several continuations is processed once (continuations.py).
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
from metrics.models.continuations import Continuations, Reader, reads_trees, rows
from metrics.models.device import Machine
from metrics.models.hub import quiet
from metrics.models.memory import MEBIBYTE, ArrayCache, Vectors
from metrics.models.tokens import Tokenizer
from metrics.models.weights import Weights

LOGITS_BYTES = {"cpu": 256 * MEBIBYTE, "mps": 512 * MEBIBYTE, "cuda": 2048 * MEBIBYTE}
"""Bytes for logits, in all batches that are processed at the same time."""
UNLIMITED = 1 << 20
"""More tokens than any context has."""
Before: TypeAlias = str | tuple[str, ...]
"""The text before a continuation, or its turns, the oldest first, to be joined without a separator."""


class LanguageModel:
    """A causal language model that computes likelihoods and generates nothing."""

    def __init__(self, weights: Weights, machine: Machine, memory: ArrayCache) -> None:
        self.weights = weights
        self.machine = machine
        self._memory = memory

    @property
    def name(self) -> str:
        return self.weights.name

    @property
    def end(self) -> str:
        """The text that ends a turn: the model's end-of-text token, or else a newline."""
        return str(self.tokenizer.wrapped.eos_token or "\n")

    @cached_property
    def networks(self) -> list[Any]:
        loaded = networks.transformer("AutoModelForCausalLM", self.weights, self.machine)
        if not networks.is_causal(loaded[0], self.machine.devices[0]):
            raise BadOption(f"model {self.name} is not causal: tokens attend to later ones; --lm needs a causal model")
        return loaded

    @cached_property
    def tokenizer(self) -> Tokenizer:
        return Tokenizer(self.weights, networks.positions(self.networks[0].config))

    def log_likelihoods(self, pairs: Sequence[tuple[Before, str]], longest: int = UNLIMITED) -> list[Vectors]:
        """Return, for each pair, log p of each token of the second text after the first: (tokens,).

        At most the last `longest` tokens of the first text are used.
        """
        return self._memory.get_all((self.weights.identity, "likelihoods", longest), pairs,
                                    lambda missing: self._pairs(missing, longest))

    def after_each(self, befores: Sequence[Before], continuations: Sequence[str], longest: int = UNLIMITED) -> Vectors:
        """Return the mean log p per token of every continuation after every text: (befores, continuations).

        A text is truncated to fit the longest continuation. A continuation without tokens gets NaN.
        """
        rows = self._memory.get_all((self.weights.identity, "after each", tuple(continuations), longest), befores,
                                    lambda missing: self._means(missing, continuations, longest))
        return np.stack(rows) if rows else np.zeros((0, len(continuations)), np.float32)

    def answers(self, questions: Sequence[tuple[str, ...]], answers: Sequence[str]) -> list[Vectors]:
        """Return, for each question, log p of each single-token answer after each prompt: (prompts, answers).

        The answers after a prompt share an unknown additive constant; only their differences are meaningful.
        """
        token_ids = self.tokenizer.plain(answers)
        for answer, ids in zip(answers, token_ids, strict=True):
            if len(ids) != 1:
                raise BadOption(f"model {self.name}: {answer!r} is {len(ids)} tokens; an answer must be one token")
        scored = tuple(token for [token] in token_ids)
        return self._memory.get_all((self.weights.identity, "answers", scored), questions,
                                    lambda missing: self._answers(missing, scored))

    def tokens_among(self, texts: Sequence[str]) -> list[str]:
        """Return the texts that are a single token; raise BadOption if there are none."""
        single = [text for text, ids in zip(texts, self.tokenizer.plain(texts), strict=True) if len(ids) == 1]
        if not single:
            raise BadOption(f"model {self.name}: none of {', '.join(map(repr, texts))} is a single token")
        return single

    def conversation(self, messages: Sequence[Mapping[str, str]]) -> str:
        """Format messages with the chat template, up to the start of the answer; raise BadOption without a template.

        Special tokens in a message are broken up, so that no message can end its own turn.
        """
        tokenizer = self.tokenizer.wrapped
        if not tokenizer.chat_template:
            raise BadOption(f"model {self.name} has no chat template: it was not trained to answer; choose a chat "
                            "model (often ...-Instruct or ...-Chat)")
        specials = sorted(map(str, tokenizer.all_special_tokens), key=len, reverse=True)
        plain = [{"role": message["role"], "content": _broken_up(specials, message["content"])} for message in messages]
        try:
            return str(tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # a template is a program, which may raise any exception
            reason = " ".join(str(error).split())
            raise BadOption(f"model {self.name}: its chat template fails ({reason:.160})") from error

    def fits(self, text: str) -> bool:
        return len(self._with_opening([text])[0]) <= self.tokenizer.limit

    def sizes(self, texts: Sequence[str]) -> npt.NDArray[np.intp]:
        return np.array([len(ids) for ids in self._truncated_ids(texts)], dtype=np.intp)

    @cached_property
    def _in_trees(self) -> bool:
        with quiet():
            return all(reads_trees(network, device, self.tokenizer.pad)
                       for network, device in zip(self.networks, self.machine.devices, strict=True))

    @cached_property
    def _opening(self) -> list[int]:
        return self.tokenizer.texts([""])[0].ids[: self.tokenizer.frame[0]]

    def _with_opening(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text after the opening tokens, which a chat template may have added already."""
        opening = self._opening
        return [ids if ids[:len(opening)] == opening else opening + ids for ids in self.tokenizer.plain(texts)]

    @cached_property
    def _empty_start(self) -> list[int]:
        first = self.tokenizer.wrapped.bos_token_id
        return self._opening or ([int(first)] if first is not None else self.tokenizer.plain([self.end])[0] or [0])

    @cached_property
    def _batches(self) -> Batches:
        vocabulary = int(self.networks[0].config.vocab_size)
        at_once = len(networks.workers(self.networks, self.machine))
        tokens = max(1, min(self.machine.tokens, LOGITS_BYTES[self.machine.kind] // (4 * vocabulary * at_once)))
        return Batches(tokens, equal_lengths=self.machine.kind == "cpu" and not self._in_trees)

    def _truncated_ids(self, continuations: Sequence[str]) -> list[list[int]]:
        room = self.tokenizer.limit - len(self._empty_start)
        return [ids[:room] for ids in self.tokenizer.plain(continuations)]

    def _starts(self, befores: Sequence[Before], continuation_lengths: Sequence[int],
                longest: int) -> Iterator[list[int]]:
        """Yield the tokens before continuations of the given lengths: the last turns that fit, at least one token."""
        if longest < 1:
            raise BadOption(f"longest={longest}: must be at least 1")
        texts = self.tokenizer.plain(["".join(before) for before in befores])
        for before, ids, length in zip(befores, texts, continuation_lengths, strict=True):
            room = min(longest, self.tokenizer.limit - length - len(self._opening))
            fitting = ids if len(ids) <= room or isinstance(before, str) else self._last_turns(before, room)
            yield [*self._opening, *fitting[max(0, len(fitting) - room):]] or self._empty_start

    def _last_turns(self, turns: tuple[str, ...], room: int) -> list[int]:
        def ids(first: int) -> list[int]:
            return self.tokenizer.plain(["".join(turns[first:])])[0]

        return ids(bisect.bisect_left(range(len(turns) - 1), True, key=lambda first: len(ids(first)) <= room))

    def _pairs(self, pairs: Sequence[tuple[Before, str]], longest: int) -> list[Vectors]:
        afters = self._truncated_ids([after for _, after in pairs])
        starts = list(self._starts([before for before, _ in pairs], list(map(len, afters)), longest))
        chains = _chained(starts, afters)
        likelihoods = self._likelihoods([Continuations(starts[chain[0]], [
            starts[index][len(starts[chain[0]]):] + afters[index] for index in chain]) for chain in chains])
        by_index = dict(zip(itertools.chain(*chains), itertools.chain(*likelihoods), strict=True))
        return [by_index[index][by_index[index].size - len(after):].copy() for index, after in enumerate(afters)]

    def _means(self, befores: Sequence[Before], continuations: Sequence[str], longest: int) -> list[Vectors]:
        afters = self._truncated_ids(continuations)
        max_length = max(map(len, afters), default=0)
        order = sorted(range(len(afters)), key=afters.__getitem__)  # neighbours share their beginnings
        groups = [Continuations(start, [afters[index] for index in order])
                  for start in self._starts(befores, [max_length] * len(befores), longest)]
        means = np.array([[value.mean() if value.size else np.nan for value in values]
                          for values in self._likelihoods(groups)], dtype=np.float32)
        return [row[np.argsort(order)] for row in means]

    def _answers(self, questions: Sequence[tuple[str, ...]], token_ids: Sequence[int]) -> list[Vectors]:
        texts = [[*ids, self.tokenizer.pad] for question in questions for ids in self._with_opening(question)]
        if (longest := max(map(len, texts)) - 1) > self.tokenizer.limit:
            raise CannotScore(f"model {self.name} takes {self.tokenizer.limit} tokens; a question has {longest}")
        order = sorted(range(len(texts)), key=texts.__getitem__)  # neighbours share their beginnings
        last = self._run(Batches(self.machine.tokens), rows([texts[index] for index in order], self._in_trees),
                         lambda reader, units: reader.last(units, token_ids))
        scores = np.concatenate(last)[np.argsort(order)]
        return np.split(scores, np.cumsum([len(question) for question in questions])[:-1])

    def _likelihoods(self, groups: Sequence[Continuations]) -> list[list[Vectors]]:
        if not groups:
            return []
        parts = [group.units(self._in_trees) for group in groups]
        results = iter(self._run(self._batches, [unit for part in parts for unit in part], Reader.read))
        return [[values for _ in part for values in next(results)] for part in parts]

    def _run(self, batches: Batches, units: Sequence[Continuations],
             read: Callable[[Reader, Sequence[Continuations]], Sequence[Result]]) -> list[Result]:
        def forward_with(reader: Reader) -> Forward[Result]:
            return lambda batch: read(reader, [units[index] for index in batch])

        readers = [Reader(network, device, self.tokenizer.pad, self._in_trees)
                   for network, device in networks.workers(self.networks, self.machine)]
        return batches.run([unit.size for unit in units], [forward_with(reader) for reader in readers])


def _chained(starts: Sequence[list[int]], afters: Sequence[list[int]]) -> list[list[int]]:
    """Return the indices of texts to process in one row: equal starts, or starts that extend an earlier text.

    The turns of a dialogue, each after all earlier ones, form such a chain, so that the dialogue is processed once.
    """
    chains: list[list[int]] = []
    for index in sorted(range(len(starts)), key=lambda index: (starts[index], index)):
        last = chains[-1][-1] if chains else index
        text = starts[last] + afters[last]
        if chains and (starts[index] == starts[last] or starts[index][:len(text)] == text):
            chains[-1].append(index)
        else:
            chains.append([index])
    return chains


def _broken_up(specials: Sequence[str], text: str) -> str:
    for token in specials:
        text = text.replace(token, f"{token[0]} {token[1:]}") if len(token) > 1 else text
    return text
