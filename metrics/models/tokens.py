"""Texts as token ids: one text, a pair of context and response, or a dialogue.

A text that is too long keeps its beginning; of a pair the context keeps its end, since the response answers the last
utterance. Half of a surrogate pair is read as the replacement character (U+FFFD).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource, in_one_line
from metrics.models.weights import Weights

_UNBOUNDED = 1 << 20


@dataclass(frozen=True, slots=True)
class Tokenized:
    """The token ids of a text or pair, the types of a pair's tokens, and the positions of the (second) text."""

    ids: list[int]
    types: list[int] | None = None
    own: range = field(default=range(0), compare=False)


class Tokenizer:
    """A model's fast tokenizer, with the special tokens where the model expects them."""

    def __init__(self, weights: Weights, longest: int) -> None:
        """`longest` is the number of the model's positions."""
        from transformers import AutoTokenizer

        try:
            self.whole: Any = AutoTokenizer.from_pretrained(str(weights.folder), local_files_only=True)
            self._fast: Any = self.whole.backend_tokenizer
        except Exception as error:  # every kind of broken tokenizer raises another one
            raise MissingResource(f"model {weights.name}: {weights.folder} holds no tokenizer that can be used "
                                  f"({in_one_line(error)})") from error
        self._fast.no_padding()
        self._fast.no_truncation()
        self.limit = min(longest, self.whole.model_max_length or _UNBOUNDED, _sentence_limit(weights.folder))
        example = self._fast.encode("a").sequence_ids
        if 0 not in example:
            raise MissingResource(f"model {weights.name}: the tokenizer in {weights.folder} reads no text")
        self.frame = example.index(0), example[::-1].index(0)
        self._pair_specials = self._fast.num_special_tokens_to_add(is_pair=True)
        self._typed = "token_type_ids" in self.whole.model_input_names

    @property
    def pad(self) -> int:
        """The token id that fills a batch."""
        token = self.whole.pad_token_id
        return int(token if token is not None else self.whole.eos_token_id or 0)

    @property
    def specials(self) -> frozenset[int]:
        """The ids of the special tokens."""
        return frozenset(self.whole.all_special_ids)

    def plain(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text without special tokens, of any length."""
        return [encoding.ids for encoding in self._encoded(texts)]

    def texts(self, texts: Sequence[str], limit: int | None = None) -> list[Tokenized]:
        """Return each text between its special tokens, cut at its end."""
        room = self._room(limit, sum(self.frame))
        encodings = self._encoded(texts)
        for encoding in encodings:
            encoding.truncate(room)
        return [self._framed(encoding) for encoding in encodings]

    def pairs(self, pairs: Sequence[tuple[str, str]], limit: int | None = None) -> list[Tokenized]:
        """Return each context and response as one sequence; where both are long, each keeps half of the room.

        The context loses its beginning first, then the response its end.
        """
        room = self._room(limit, self._pair_specials)
        rows = []
        for context, response in zip(*(self._encoded(texts) for texts in zip(*pairs, strict=True)), strict=True):
            response.truncate(max(room - room // 2, room - len(context)))
            context.truncate(room - len(response), direction="left")
            rows.append(self._framed(context, response))
        return rows

    def dialogues(self, dialogues: Sequence[Sequence[str]], separator: int,
                  limit: int | None = None) -> list[Tokenized]:
        """Return each dialogue as one sequence, `separator` behind every utterance; it loses its beginning."""
        empty = self._framed(self._encoded([""])[0]).ids
        before, after = empty[: self.frame[0]], empty[self.frame[0] :]
        room = self._room(limit, len(empty))
        ids = iter(self.plain([text for texts in dialogues for text in texts]))
        whole = [[token for _ in texts for token in (*next(ids), separator)] for texts in dialogues]
        return [Tokenized([*before, *row[max(0, len(row) - room):], *after]) for row in whole]

    def _encoded(self, texts: Sequence[str]) -> Any:
        return self._fast.encode_batch_fast([sound(text) for text in texts], add_special_tokens=False)

    def _room(self, limit: int | None, specials: int) -> int:
        return max(0, min(limit or self.limit, self.limit) - specials)

    def _framed(self, first: Any, second: Any = None) -> Tokenized:
        """Return an encoding, or two, with the special tokens around them."""
        whole = self._fast.post_process(first, second)
        end = len(whole.ids) - self.frame[1]
        types = whole.type_ids if second is not None and self._typed and any(whole.type_ids) else None
        return Tokenized(whole.ids, types, range(end - len(first if second is None else second), end))


def sound(text: str) -> str:
    """Return the text with every half of a surrogate pair joined to its other half, or replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _sentence_limit(folder: Path) -> int:
    """Return the most tokens that a sentence encoder was made for, as its folder says."""
    try:
        return int(json.loads((folder / "sentence_bert_config.json").read_text(encoding="utf-8"))["max_seq_length"])
    except (OSError, ValueError, KeyError, TypeError):
        return _UNBOUNDED
