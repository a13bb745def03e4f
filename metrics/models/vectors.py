"""Word vectors: of a file in the formats of word2vec and GloVe, or an encoder's own input embeddings.

A file may be larger than memory. It is converted once, into HOME/vectors/DIGEST.table (vector_table.py), which
is mapped; a table that is found damaged is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from metrics.models.memory import Vectors
from metrics.models.vector_table import Damaged, Table, converted

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.resources import Resource


class WordVectors:
    """Vectors of words; each word is looked up once and then remembered."""

    def __init__(self, name: str, width: int, look_up: Callable[[str], Vectors | None]) -> None:
        """`look_up` finds the vector of a word, None for one that is unknown."""
        self.name = name
        self.width = width
        self._look_up = look_up
        self._places: dict[str, int | None] = {}
        self._held = 0
        self._table: Vectors = np.empty((1024, width), dtype=np.float32)

    def __contains__(self, word: str) -> bool:
        return self._place(word) is not None

    def of(self, words: Iterable[str]) -> Vectors:
        """The vectors of those words that are known, in their order: (known, width)."""
        places = [place for word in words if (place := self._place(word)) is not None]
        found: Vectors = self._table[np.array(places, dtype=np.intp)]  # only now: a new word can move the table
        return found

    def _place(self, word: str) -> int | None:
        if word not in self._places:
            vector = self._look_up(word)
            self._places[word] = None if vector is None else self._keep(vector)
        return self._places[word]

    def _keep(self, vector: Vectors) -> int:
        if self._held == len(self._table):
            self._table = np.concatenate([self._table, np.empty_like(self._table)])
        self._table[self._held] = vector
        self._held += 1
        return self._held - 1


def from_encoder(encoder: Encoder) -> WordVectors:
    """An encoder's input embeddings: a word is the mean of its tokens, read as after a space; [UNK] is none of them."""
    table, tokenizer = encoder.embeddings(), encoder.tokenizer
    space = " " if len(tokenizer.plain([" a"])[0]) == 1 else ""  # where a space is not a token of its own
    unknown = tokenizer.whole.unk_token_id

    def look_up(word: str) -> Vectors | None:
        known = [token for token in tokenizer.plain([space + word])[0] if token != unknown]
        return np.asarray(table[known].mean(axis=0)) if known else None

    return WordVectors(f"input embeddings of {encoder.name}", table.shape[1], look_up)


def from_file(resource: Resource, home: Path) -> WordVectors:
    """The vectors in a file, converted under `home` when it is first asked for."""
    file = _File(resource, home / "vectors" / f"{resource.digest[:16]}.table")
    return WordVectors(resource.name, file.table.width, file.look_up)


class _File:
    """A file of word vectors and what it was converted to."""

    def __init__(self, resource: Resource, path: Path) -> None:
        self._source, self._path = resource.path, path
        try:
            self.table = Table(path)
        except (OSError, Damaged):
            self.table = converted(resource.path, path)

    def look_up(self, word: str) -> Vectors | None:
        """A word as it is, else lower-cased, else as the parts of a contraction, whose mean it is.

        The words of GloVe are those of the Penn Treebank, where `don't` is `do` and `n't`.
        """
        plain = word.lower().replace("’", "'")
        for spelling in dict.fromkeys((word, word.lower(), plain)):
            if (found := self._find(spelling)) is not None:
                return found
        known = [vector for part in _parts(plain) if (vector := self._find(part)) is not None]
        return np.mean(known, axis=0, dtype=np.float32) if known else None

    def _find(self, word: str) -> Vectors | None:
        try:
            return self.table.find(word)
        except Damaged:
            self.table = converted(self._source, self._path)
            return self.table.find(word)


def _parts(word: str) -> tuple[str, ...]:
    """A contraction as the Penn Treebank parts it: do n't, it 's."""
    at = len(word) - 3 if word.endswith("n't") else word.rfind("'")
    return (word[:at], word[at:]) if at > 0 else ()
