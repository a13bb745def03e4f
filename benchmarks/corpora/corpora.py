"""Corpora of dialogues to train metrics on, and what of them may be trained on.

`load` gives the training splits alone, without what stands in an evaluation set (overlap.py) and without what another
split of the corpus repeats. files.py has the format, docs/training.md the corpora.
"""

from __future__ import annotations

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
FORMAT = frozenset({"dialogue_id", "source", "split", "utterances", "duplicate_of_split"})
TURN = frozenset({"speaker", "text"})
HELD = ("valid", "val", "dev", "test", "eval")
"""How the splits of a user's own file begin that are not trained on."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation between people, or its beginning; `labels` holds what else its corpus tells of it."""

    id: str
    corpus: str
    split: str
    utterances: tuple[Utterance, ...]
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The dialogues of a corpus that may be trained on, and how many were left out for which reason."""

    card: CorpusCard
    digest: str
    dialogues: tuple[Dialogue, ...]
    left_out: Mapping[str, int]


def card(name: str) -> CorpusCard:
    """Return the card of a corpus; the error for an unknown name suggests the nearest."""
    try:
        return CARDS[name]
    except KeyError:
        raise UnknownDataset(f"no corpus {name!r}; {nearest(name, CARDS)}; or the path of a .jsonl file") from None


def path(name: str, home: Path) -> Path:
    """Return the path of a corpus in the home, or `name` itself if it is a path."""
    if name not in CARDS and name.endswith(files.SUFFIXES):
        return Path(name).expanduser()
    stored = files.stored(Path(name).name, home)
    return stored if stored.is_file() else files.stored(card(name).name, home)


def load(name: str, home: Path) -> Corpus:
    """What may be trained on of a corpus in the home, or of a file of the same format."""
    file = path(name, home)
    if not file.is_file():
        where = "`harness import FOLDER` takes it from a folder, `harness fetch --corpora` from its source"
        raise BenchmarkError(f"{file}: no such file" if name not in CARDS else f"{name} is not in {home}; {where}")
    content = files.read(file)
    chosen = CARDS.get(name) or _own_card(file, content.rows)
    digests = [overlap.digests(turn["text"] for turn in row["utterances"]) for row in content.rows]
    repeats = overlap.Contexts(digest for row, digest in zip(content.rows, digests, strict=True)
                               if row["split"] not in chosen.training)
    listed, evaluated = overlap.listed(home), overlap.evaluated(home)
    dialogues: list[Dialogue] = []
    left_out: Counter[str] = Counter()
    for row, digest in zip(content.rows, digests, strict=True):
        if row["split"] not in chosen.training:
            continue
        if row["dialogue_id"] in listed or evaluated.meet(digest):
            left_out[EVALUATED] += 1
        elif "duplicate_of_split" in row or repeats.meet(digest):
            left_out[REPEATED] += 1
        else:
            dialogues.append(_dialogue(row, chosen.name))
    if not dialogues:
        why = "".join(f"; {many} left out, {reason}" for reason, many in left_out.items())
        raise BenchmarkError(f"{file}: holds nothing to train on; its training splits are {', '.join(chosen.training)}"
                             f"{why}")
    return Corpus(chosen, content.digest, tuple(dialogues), dict(left_out))


def _own_card(file: Path, rows: Iterable[Mapping[str, Any]]) -> CorpusCard:
    """Make up the card of a user's own file."""
    stem = files.plain_name(file)
    splits = tuple(dict.fromkeys(str(row["split"]) for row in rows))
    training = tuple(split for split in splits if not split.casefold().startswith(HELD))
    return CorpusCard(stem, stem, training, "unknown", "unknown", f"a file of the user's: {file.name}")


def _dialogue(row: Mapping[str, Any], corpus: str) -> Dialogue:
    turns = row["utterances"]
    labels = {key: value for key, value in row.items() if key not in FORMAT}
    if any(len(turn) > len(TURN) for turn in turns):
        labels["utterances"] = tuple({key: turn[key] for key in turn if key not in TURN} for turn in turns)
    spoken = tuple(Utterance(turn["speaker"], turn["text"]) for turn in turns)
    return Dialogue(row["dialogue_id"], corpus, row["split"], spoken, labels)
