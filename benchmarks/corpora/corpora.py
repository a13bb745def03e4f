"""Corpora of dialogues to train metrics on.

`load` returns the dialogues of the training splits, without dialogues in an evaluation set (overlap.py) or repeated in
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

DIALOGUE_FIELDS = frozenset({"dialogue_id", "source", "split", "utterances", "duplicate_of_split"})
HELD_OUT = ("valid", "val", "dev", "test", "eval")  # prefixes of the splits of a user's file that are not trained on


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
    rows = [(row, overlap.digests(turn["text"] for turn in row["utterances"])) for row in content]
    repeats = overlap.Contexts(
        utterance_digests for row, utterance_digests in rows if row["split"] not in corpus_card.training)
    evaluated, contexts = overlap.evaluation_ids(home), overlap.evaluation_contexts(home)
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
