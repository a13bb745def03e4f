"""Readings (the texts, pairs and dialogues that models read, made from items) and their token ids.

An overlong text is truncated at its end; in a pair, the context at its start, since the response answers the last
utterance. Lone surrogates become the replacement character (U+FFFD).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from benchmarks.dataset import Item
from metrics.column import Column
from metrics.errors import MissingResource, in_one_line
from metrics.models.weights import Weights
from metrics.text.words import Aggregation, over_references, reference_groups, reply

_UNBOUNDED = 1 << 20


class Pair(NamedTuple):
    """A response and the utterances or facts before it, in order; `reference` is a known good response."""

    context: tuple[str, ...]
    response: str
    reference: str = ""


Dialogue: TypeAlias = tuple[str, ...]
Reading: TypeAlias = str | Pair | Dialogue


def non_blank(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip())


def pairs(items: Sequence[Item]) -> list[Pair | None]:
    """Return each item's context and response; None without a context."""
    contexts = [non_blank(turn.text for turn in item.context) for item in items]
    return [Pair(context, reply(item)) if context else None for context, item in zip(contexts, items, strict=True)]


def responses(items: Sequence[Item]) -> list[str]:
    return [reply(item) for item in items]


def dialogues(items: Sequence[Item]) -> list[Dialogue | None]:
    """Return each item's utterances; None for fewer than two, or for a blank response."""
    texts = [() if item.response is not None and not item.response.text.strip() else
             non_blank(turn.text for turn in item.utterances) for item in items]
    return [dialogue if len(dialogue) > 1 else None for dialogue in texts]


def by_reference(items: Sequence[Item], references: Aggregation,
                 score: Callable[[Sequence[tuple[int, str, str]]], Column]) -> Column:
    """Return the mean or best `score` over each item's references; NaN without references.

    `score` takes tuples of the item's index, a reference and the response; `standard` means `max`.
    """
    rows = [(row, reference.text, response)
            for shared, members in reference_groups(items, "max" if references == "standard" else references)
            for row, response in members for reference in shared]
    column = np.full(len(items), np.nan)
    scores: dict[int, list[float]] = {}
    for (row, *_), value in zip(rows, score(rows) if rows else (), strict=True):
        scores.setdefault(row, []).append(float(value))
    for row, values in scores.items():
        column[row] = over_references(values, references)
    return column


@dataclass(frozen=True, slots=True)
class Tokenized:
    """The token ids of a text or pair, and the types of a pair's tokens; `positions` cover the (second) text."""

    ids: list[int]
    types: list[int] | None = None
    positions: range = field(default=range(0), compare=False)


class Tokenizer:
    """A model's fast tokenizer, which adds special tokens where the model expects them."""

    def __init__(self, weights: Weights, longest: int) -> None:
        """`longest` is the model's number of positions."""
        from transformers import AutoTokenizer

        try:
            self.wrapped: Any = AutoTokenizer.from_pretrained(str(weights.folder), local_files_only=True)
            self._fast: Any = self.wrapped.backend_tokenizer
        except Exception as error:  # each kind of broken tokenizer raises a different exception
            raise MissingResource(f"model {weights.name}: the tokenizer in {weights.folder} cannot be loaded "
                                  f"({in_one_line(error)})") from error
        self._fast.no_padding()
        self._fast.no_truncation()
        self.limit = min(longest, self.wrapped.model_max_length or _UNBOUNDED, _sentence_limit(weights.folder))
        self._single, self._pair = self._template("a"), self._template("a", "a")
        if len(self._single) != 2 or len(self._pair) != 3:  # no token for the letter a
            raise MissingResource(f"model {weights.name}: the tokenizer in {weights.folder} finds no tokens in a text")

    @property
    def pad(self) -> int:
        token = self.wrapped.pad_token_id
        return int(token if token is not None else self.wrapped.eos_token_id or 0)

    @property
    def specials(self) -> frozenset[int]:
        return frozenset(self.wrapped.all_special_ids)

    @property
    def frame(self) -> tuple[int, int]:
        """The number of special tokens before and after a text."""
        return len(self._single[0]), len(self._single[-1])

    def plain(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, without special tokens and not truncated."""
        encodings = self._fast.encode_batch_fast([well_formed(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def texts(self, texts: Sequence[str], limit: int | None = None) -> list[Tokenized]:
        """Return each text with its special tokens, truncated at the end."""
        before, after = self._single
        room = max(0, min(limit or self.limit, self.limit) - sum(self.frame))
        return [Tokenized([*before, *ids[:room], *after], positions=range(len(before), len(before) + len(ids[:room])))
                for ids in self.plain(texts)]

    def pairs(self, pairs: Sequence[tuple[str, str]], limit: int | None = None) -> list[Tokenized]:
        """Return each context and response as one sequence, truncated to the limit.

        The context loses its beginning first, then the response its end; if both are long, each keeps half.
        """
        before, between, after = self._pair
        room = max(0, min(limit or self.limit, self.limit) - len(before) - len(between) - len(after))
        contexts, responses = self.plain([pair[0] for pair in pairs]), self.plain([pair[1] for pair in pairs])
        rows = []
        for context, response in zip(contexts, responses, strict=True):
            answer = response[: max(room - room // 2, room - len(context))]
            context_end = context[max(0, len(context) - (room - len(answer))):]
            first, second = [*before, *context_end, *between], [*answer, *after]
            positions = range(len(first), len(first) + len(answer))
            rows.append(Tokenized([*first, *second], self._types_of(len(first), len(second)), positions))
        return rows

    def readings(self, readings: Sequence[Any], separator: int, limit: int | None = None) -> list[Tokenized]:
        """Return texts, pairs or dialogues as sequences; each utterance of a dialogue ends with `separator`."""
        if isinstance(readings[0], str):
            return self.texts(readings, limit)
        if isinstance(readings[0], Pair):
            return self.pairs([(" ".join(pair.context), pair.response) for pair in readings], limit)
        return self.dialogues(readings, separator, limit)

    def dialogues(self, dialogues: Sequence[Sequence[str]], separator: int,
                  limit: int | None = None) -> list[Tokenized]:
        """Return each dialogue as one sequence with `separator` after every utterance, truncated at the beginning."""
        before, after = self._single
        room = max(0, min(limit or self.limit, self.limit) - sum(self.frame))
        ids = iter(self.plain([text for texts in dialogues for text in texts]))
        rows = [[token for _ in texts for token in (*next(ids), separator)] for texts in dialogues]
        return [Tokenized([*before, *row[max(0, len(row) - room):], *after]) for row in rows]

    def _types_of(self, first: int, second: int) -> list[int] | None:
        if "token_type_ids" not in self.wrapped.model_input_names or not any(self._types):
            return None
        return [self._types[0]] * first + [self._types[1]] * second

    def _template(self, *parts: str) -> list[list[int]]:
        """Return the special tokens before, between and after `parts`."""
        encoding = self._fast.encode(*parts)
        runs: list[list[int]] = [[]]
        last: int | None = None
        for token, part in zip(encoding.ids, encoding.sequence_ids, strict=True):
            if part is None:
                runs[-1].append(token)
            elif part != last:
                runs.append([])
                last = part
        if len(parts) > 1:
            types = [kind for kind, part in zip(encoding.type_ids, encoding.sequence_ids, strict=True)
                     if part is not None]
            self._types = (types[0], types[-1]) if types else (0, 0)
        return runs


def well_formed(text: str) -> str:
    """Return the text with surrogate pairs joined and lone surrogates replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _sentence_limit(folder: Path) -> int:
    """Return the maximum number of tokens according to sentence_bert_config.json, if the folder has one."""
    try:
        return int(json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"])
    except (OSError, ValueError, KeyError, TypeError):
        return _UNBOUNDED
