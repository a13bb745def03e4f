"""Corpora of dialogues to train metrics on, and what of them may be trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.dataset import Utterance


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation between people, or its beginning; `labels` holds what else its corpus tells of it."""

    id: str
    corpus: str
    split: str
    utterances: tuple[Utterance, ...]
    labels: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CorpusCard:
    """What is known of a corpus; `training` are the splits that may be trained on."""

    name: str
    title: str
    training: tuple[str, ...]
    licence: str
    citation: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Corpus:
    """The dialogues of a corpus that may be trained on, and how many were left out for which reason."""

    card: CorpusCard
    digest: str
    dialogues: tuple[Dialogue, ...]
    left_out: Mapping[str, int]


def names() -> tuple[str, ...]:
    """Every corpus that is known by name."""
    raise NotImplementedError


def card(name: str) -> CorpusCard:
    """The card of a corpus; an unknown name is answered with the nearest."""
    raise NotImplementedError


def load(name: str, home: Path) -> Corpus:
    """What may be trained on of a corpus in the home, or of a file of the same format."""
    raise NotImplementedError
