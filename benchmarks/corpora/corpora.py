"""Corpora of dialogues to train metrics on.

`load` returns the dialogues of the training splits, without dialogues in an evaluation set or repeated in another
split. A dialogue overlaps a context if it shares at least two of the context's utterances and at least half of them; a
context with a single utterance overlaps if that utterance is shared. Case, punctuation, spaces, and utterances with
fewer than 12 letters and digits are ignored; a conversation with only short utterances must match as a whole.

`overlap.npz` holds the contexts of the ten public evaluation sets of the organisers' release, of the test part of
DailyDialog++ and of the recent datasets whose conversations come from corpora (BEGIN, DECO), as digests that reveal no
text; `tools/shipped.py` makes it. The contexts of evaluation sets in the home are added.

files.py defines the file format; docs/training.md describes the corpora.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import registry
from benchmarks.corpora import files
from benchmarks.corpora.files import CARDS
from benchmarks.corpora.files import CorpusCard as CorpusCard
from benchmarks.dataset import Dataset, Utterance
from benchmarks.errors import BenchmarkError, UnknownDataset, nearest
from benchmarks.storage import store

DIALOGUE_FIELDS = frozenset({"dialogue_id", "source", "split", "utterances", "duplicate_of_split"})
HELD_OUT = ("valid", "val", "dev", "test", "eval")  # prefixes of the splits of a user's file that are not trained on
MIN_LETTERS = 12
IGNORED = re.compile(r"[\W_]+")
SHIPPED = "overlap.npz"


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A training dialogue or pair of texts, possibly truncated, with the labels of its corpus."""

    id: str
    corpus: str
    split: str
    utterances: tuple[Utterance, ...]
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The training dialogues of a corpus, and how many were left out for each reason."""

    card: CorpusCard
    digest: str
    dialogues: tuple[Dialogue, ...]
    left_out: Mapping[str, int]


def card(name: str) -> CorpusCard:
    if name not in CARDS:
        raise UnknownDataset(f"no corpus {name!r}; {nearest(name, CARDS)}; or give the path of a .jsonl file")
    return CARDS[name]


def path(name: str, home: Path) -> Path:
    """Return the path of a corpus in the home, or `name` itself if it is a path."""
    if name not in CARDS and name.endswith(files.SUFFIXES):
        return Path(name).expanduser()
    stored = files.corpus_path(Path(name).name, home)
    return stored if stored.is_file() else files.corpus_path(card(name).name, home)


def load(name: str, home: Path) -> Corpus:
    """Load the dialogues to train on from a corpus in the home, or from a file of the same format."""
    file = path(name, home)
    if not file.is_file():
        remedy = "`harness import FOLDER` imports it from a folder, `harness fetch --corpora` downloads it"
        raise BenchmarkError(f"{file}: no such file" if name not in CARDS else f"{name} is not in {home}; {remedy}")
    content = files.read(file)
    corpus_card = CARDS.get(name) or _user_card(file, content)
    rows = [(row, digests(turn["text"] for turn in row["utterances"])) for row in content]
    repeats = Contexts(utterance_digests for row, utterance_digests in rows if row["split"] not in corpus_card.training)
    evaluated, contexts = evaluation_ids(home), evaluation_contexts(home)
    dialogues: list[Dialogue] = []
    left_out: Counter[str] = Counter()
    for row, utterance_digests in rows:
        if row["split"] not in corpus_card.training:
            continue
        if row["dialogue_id"] in evaluated or contexts.overlaps(utterance_digests):
            left_out["in an evaluation set"] += 1
        elif "duplicate_of_split" in row or repeats.overlaps(utterance_digests):
            left_out["also in another split"] += 1
        else:
            dialogues.append(_dialogue(row, corpus_card.name))
    if not dialogues:
        left_out_counts = "".join(f"; {count} left out, {reason}" for reason, count in left_out.items())
        raise BenchmarkError(f"{file}: has no dialogues to train on; its training splits are "
                             f"{', '.join(corpus_card.training)}{left_out_counts}")
    return Corpus(corpus_card, hashlib.sha256(file.read_bytes()).hexdigest(), tuple(dialogues), dict(left_out))


def _user_card(file: Path, rows: Iterable[Mapping[str, Any]]) -> CorpusCard:
    name = files.plain_name(file)
    splits = dict.fromkeys(str(row["split"]) for row in rows)
    training = tuple(split for split in splits if not split.casefold().startswith(HELD_OUT))
    return CorpusCard(name, name, training, "unknown", "unknown", f"user's file {file.name}")


def _dialogue(row: Mapping[str, Any], corpus: str) -> Dialogue:
    turns = row["utterances"]
    utterances = tuple(Utterance(turn["speaker"], turn["text"]) for turn in turns)
    labels = {key: value for key, value in row.items() if key not in DIALOGUE_FIELDS}
    if any(turn_labels := tuple({key: turn[key] for key in turn if key not in ("speaker", "text")} for turn in turns)):
        labels["utterances"] = turn_labels
    return Dialogue(row["dialogue_id"], corpus, row["split"], utterances, labels)


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
