"""What of a corpus stands in an evaluation set, found by content.

A dialogue meets a context when it shares two of its utterances, which are half of it or more; or the only one, where it
has only one. Utterances of fewer than 12 letters and digits do not count, nor do case, punctuation and spaces; of a
conversation that has no others, all must be the same.

`corpus_overlap.npz` has the contexts of the ten public evaluation sets of the organisers' release, and those of the
test part of DailyDialog++, as digests that give no text away. It is remade from the organisers' folder and the
corpora, to the same bytes, by

    python -m benchmarks.corpora.overlap human_evaluation_data corpora

Evaluation sets in the home are added to it, as they are there.
"""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.corpora import files as corpus_files
from benchmarks.errors import BadRecord
from benchmarks.formats import official
from benchmarks.storage import store
from benchmarks.storage.files import write_atomically

LETTERS = 12
IGNORED = re.compile(r"[\W_]+")
SHIPPED = "overlap.npz"
LIST = "evaluation_overlap.jsonl.gz"
"""A list of dialogues, by id, that comes with some collections of corpora."""


class Contexts:
    """Conversations that are not to be met, by the digests of their utterances."""

    def __init__(self, contexts: Iterable[frozenset[int]] = ()) -> None:
        self.sizes: list[int] = []
        self._places: defaultdict[int, list[int]] = defaultdict(list)
        self._seen: set[frozenset[int]] = set()
        self.add(contexts)

    def add(self, contexts: Iterable[frozenset[int]]) -> None:
        """Add contexts, each the digests of its utterances; the same again is nothing new."""
        for context in contexts:
            if context and context not in self._seen:
                self._seen.add(context)
                for digest in context:
                    self._places[digest].append(len(self.sizes))
                self.sizes.append(len(context))

    def meet(self, dialogue: frozenset[int]) -> bool:
        """Whether a dialogue, by the digests of its utterances, is one of these, or holds half of one."""
        places = self._places
        shared = Counter(place for digest in dialogue if digest in places for place in places[digest])
        return any(count >= min(2, self.sizes[place]) and 2 * count >= self.sizes[place]
                   for place, count in shared.items())

    def __iter__(self) -> Iterator[frozenset[int]]:
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self.sizes)


def digests(texts: Iterable[str]) -> frozenset[int]:
    """The digests of the utterances that are long enough to tell where they are from, or else of the whole."""
    bare = [IGNORED.sub("", text.casefold()) for text in texts]
    return frozenset(map(_digest, (text for text in bare if len(text) >= LETTERS))) or frozenset({_digest(str(bare))})


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest())


def listed(home: Path) -> frozenset[str]:
    """The ids of the dialogues that a list beside the corpora names."""
    path = home / "corpora" / LIST
    return frozenset(ids(path)) if path.is_file() else frozenset()


def ids(path: Path) -> Iterator[str]:
    """The ids in such a list."""
    for place, row in corpus_files.objects(path):
        if not isinstance(row.get("dialogue_id"), str):
            raise BadRecord(place, None, "dialogue_id", "should be text")
        yield row["dialogue_id"]


def evaluated(home: Path) -> Contexts:
    """The contexts of the evaluation sets: those that are known, and those in the home."""
    kept = {name: store.entry(home, name) for name in registry.names()}
    return _evaluated(home, tuple((name, entry.items) for name, entry in kept.items() if entry))


@functools.lru_cache(maxsize=4)
def _evaluated(home: Path, kept: tuple[tuple[str, str], ...]) -> Contexts:
    contexts = shipped()
    for name, _ in kept:
        dataset = store.read(home, registry.card(name))
        contexts.add(digests(turn.text for turn in item.context) for item in (dataset.items if dataset else ()))
    return contexts


def shipped() -> Contexts:
    """The contexts that come with the project."""
    with as_file(files(__package__) / SHIPPED) as path, np.load(path) as table:
        known, members, sizes = (table[key] for key in ("digests", "members", "sizes"))
    found = Contexts()
    parts = np.split(known[members], np.cumsum(sizes)[:-1])
    found.add(frozenset(part.tolist()) for part in parts)
    return found


def made(release: Path, corpora: Path) -> Contexts:
    """The contexts of the organisers' release, and of DailyDialog++'s own test part."""
    found = Contexts()
    for name in registry.names():
        file = release / f"{name}_eval.json"
        if file.is_file():
            items = official.parse(file, registry.card(name)).items
            found.add(digests(turn.text for turn in item.context) for item in items)
    rows = corpus_files.read(corpora / "dailydialog_pp.jsonl.gz").rows
    found.add(digests(turn["text"] for turn in row["utterances"]) for row in rows if row["split"] == "test")
    return found


def save(contexts: Contexts, path: Path) -> None:
    """Write contexts in an order of their own, so that the same contexts give the same bytes."""
    import io

    ordered = sorted(sorted(context) for context in contexts)
    known = np.unique(np.array([digest for context in ordered for digest in context], dtype=np.uint64))
    members = np.searchsorted(known, np.array([digest for context in ordered for digest in context], dtype=np.uint64))
    stream = io.BytesIO()
    np.savez_compressed(stream, digests=known, members=members.astype(np.uint16),
                        sizes=np.array([len(context) for context in ordered], dtype=np.uint8))
    write_atomically(path, stream.getvalue())


if __name__ == "__main__":
    save(made(Path(sys.argv[1]), Path(sys.argv[2])), Path(__file__).with_name(SHIPPED))
