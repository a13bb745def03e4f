"""Overlap of a corpus with evaluation sets, found by content.

A dialogue overlaps a context if it shares at least two of the context's utterances and at least half of them; a
context with a single utterance overlaps if that utterance is shared. Case, punctuation, spaces, and utterances with
fewer than 12 letters and digits are ignored; a conversation with only short utterances must match as a whole.

`overlap.npz` holds the contexts of the ten public evaluation sets of the organisers' release, of the test part of
DailyDialog++ and of the recent datasets whose conversations come from corpora (BEGIN, DECO), as digests that reveal no
text; `tools/shipped.py` makes it. The contexts of evaluation sets in the home are added.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.corpora import files
from benchmarks.dataset import Dataset
from benchmarks.storage import store

MIN_LETTERS = 12
IGNORED = re.compile(r"[\W_]+")
SHIPPED = "overlap.npz"


class Contexts:
    """A set of contexts, each the digests of its utterances."""

    def __init__(self, contexts: Iterable[frozenset[int]] = ()) -> None:
        self.known: set[frozenset[int]] = set()
        self._by_digest: defaultdict[int, list[frozenset[int]]] = defaultdict(list)
        self.add(contexts)

    def add(self, contexts: Iterable[frozenset[int]]) -> None:
        for context in contexts:
            if context not in self.known:
                self.known.add(context)
                for digest in context:
                    self._by_digest[digest].append(context)

    def overlaps(self, dialogue: frozenset[int]) -> bool:
        return next(self.matches(dialogue), None) is not None

    def matches(self, dialogue: frozenset[int]) -> Iterator[frozenset[int]]:
        """Yield the contexts that a dialogue overlaps."""
        shared = Counter(context for digest in dialogue for context in self._by_digest.get(digest, ()))
        return (context for context, count in shared.items()
                if count >= min(2, len(context)) and 2 * count >= len(context))


def digests(texts: Iterable[str]) -> frozenset[int]:
    """Return the digests of the long utterances; if all are short, the digest of the whole conversation."""
    normalised = [IGNORED.sub("", text.casefold()) for text in texts]
    long_texts = [text for text in normalised if len(text) >= MIN_LETTERS] or [str(normalised)]
    return frozenset(int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest())
                     for text in long_texts)


def context_digests(dataset: Dataset) -> list[frozenset[int]]:
    return [digests(turn.text for turn in item.context) for item in dataset.items]


def evaluation_ids(home: Path) -> frozenset[str]:
    path = files.corpus_path(files.EVALUATION_IDS, home)
    return frozenset(files.read_ids(path)) if path.is_file() else frozenset()


def evaluation_contexts(home: Path) -> Contexts:
    """Return the contexts of all evaluation sets, shipped with the project or in the home."""
    notes = ((name, store.stored_record(home, name)) for name in registry.names())
    return _evaluation_contexts(home, tuple((name, note.items) for name, note in notes if note))


@functools.lru_cache(maxsize=4)
def _evaluation_contexts(home: Path, stored: tuple[tuple[str, str], ...]) -> Contexts:
    contexts = shipped()
    for name, _ in stored:
        contexts.add(context_digests(registry.load(name, home)))
    return contexts


def overlaps_by_corpus(dataset: Dataset, home: Path) -> Iterator[tuple[str, int]]:
    """Yield each corpus in the home, with the number of items whose context it overlaps."""
    items = context_digests(dataset)
    contexts = Contexts(items)
    for path in sorted((home / "corpora").glob("*.jsonl.gz")):
        name = files.plain_name(path)
        if name != files.EVALUATION_IDS:
            matched = {context for row in files.read(path)
                       for context in contexts.matches(digests(turn["text"] for turn in row["utterances"]))}
            yield name, sum(context in matched for context in items)


def shipped() -> Contexts:
    with resources.as_file(resources.files(__package__) / SHIPPED) as path, np.load(path) as table:
        all_digests, members, sizes = (table[key] for key in ("digests", "members", "sizes"))
    return Contexts(frozenset(context.tolist()) for context in np.split(all_digests[members], np.cumsum(sizes)[:-1]))
