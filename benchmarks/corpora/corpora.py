"""Corpora of dialogues to train metrics on.

`load` returns the dialogues of the training splits, without those in an evaluation set (overlap.py) or repeated in
another split. files.py defines the file format; docs/training.md describes the corpora.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.corpora import files, overlap
from benchmarks.corpora.files import CARDS
from benchmarks.corpora.files import CorpusCard as CorpusCard
from benchmarks.dataset import Utterance
from benchmarks.errors import BenchmarkError, UnknownDataset, nearest

EVALUATED = "in an evaluation set"
REPEATED = "also in another split"
DIALOGUE_FIELDS = frozenset({"dialogue_id", "source", "split", "utterances", "duplicate_of_split"})
TURN_FIELDS = frozenset({"speaker", "text"})
HELD_OUT = ("valid", "val", "dev", "test", "eval")
"""Prefixes of split names in a user's file; splits with such names are not used for training."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A training dialogue, perhaps truncated or a single pair, with the labels of its corpus."""

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
    """Return the card of a corpus; the error for an unknown name suggests the nearest."""
    try:
        return CARDS[name]
    except KeyError:
        raise UnknownDataset(f"no corpus {name!r}; {nearest(name, CARDS)}; or give the path of a .jsonl file") from None


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
    chosen = CARDS.get(name) or _user_card(file, content)
    rows = [(row, overlap.digests(turn["text"] for turn in row["utterances"])) for row in content]
    repeats = overlap.Contexts(digests for row, digests in rows if row["split"] not in chosen.training)
    evaluation_ids, evaluation_contexts = overlap.evaluation_ids(home), overlap.evaluation_contexts(home)
    dialogues: list[Dialogue] = []
    left_out: Counter[str] = Counter()
    for row, digests in rows:
        if row["split"] not in chosen.training:
            continue
        if row["dialogue_id"] in evaluation_ids or evaluation_contexts.overlaps(digests):
            left_out[EVALUATED] += 1
        elif "duplicate_of_split" in row or repeats.overlaps(digests):
            left_out[REPEATED] += 1
        else:
            dialogues.append(_dialogue(row, chosen.name))
    if not dialogues:
        why = "".join(f"; {count} left out, {reason}" for reason, count in left_out.items())
        raise BenchmarkError(f"{file}: has no dialogues to train on; its training splits are "
                             f"{', '.join(chosen.training)}{why}")
    return Corpus(chosen, hashlib.sha256(file.read_bytes()).hexdigest(), tuple(dialogues), dict(left_out))


def _user_card(file: Path, rows: Iterable[Mapping[str, Any]]) -> CorpusCard:
    """Return a card for a user's file."""
    name = files.plain_name(file)
    splits = dict.fromkeys(str(row["split"]) for row in rows)
    training = tuple(split for split in splits if not split.casefold().startswith(HELD_OUT))
    return CorpusCard(name, name, training, "unknown", "unknown", f"user's file {file.name}")


def _dialogue(row: Mapping[str, Any], corpus: str) -> Dialogue:
    turns = row["utterances"]
    labels = {key: value for key, value in row.items() if key not in DIALOGUE_FIELDS}
    if any(len(turn) > len(TURN_FIELDS) for turn in turns):
        labels["utterances"] = tuple({key: turn[key] for key in turn if key not in TURN_FIELDS} for turn in turns)
    utterances = tuple(Utterance(turn["speaker"], turn["text"]) for turn in turns)
    return Dialogue(row["dialogue_id"], corpus, row["split"], utterances, labels)
