"""The hand-written conversations in `texts/`, the tables in `tables.toml`, and replies of graded quality.

A short conversation ends where a reply is due and lists fitting replies; a long one is complete, with a slip: an
alternative to one of the model's turns that contradicts an earlier turn. A line of a file starts with a marker (`U:`,
`=`, `+`, `!`, ...), explained in the comment (`#`) at the top of the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = Path(__file__).parent / "texts"
SHORT = ("daily", "persona", "topical", "feeling", "service")

TABLES: dict[str, Any] = tomllib.loads((TEXTS.parent / "tables.toml").read_text(encoding="ascii"))
SAYINGS: dict[str, list[str]] = TABLES["sayings"]
LIGHT_WORDS = frozenset(TABLES["sayings"]["light"].split())
REPLY_LEVELS, DIALOGUE_LEVELS = ({name: dict(zip(table["dimensions"], values, strict=True))
                                  for name, values in table["levels"].items()}
                                 for table in (TABLES["reply"], TABLES["dialogue"]))
"""The latent levels of each construction of a reply or dialogue, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Short:
    """A conversation up to the user's last turn; all `replies` fit, the first is the ground truth."""

    name: str
    kind: str
    held_out: bool
    turns: tuple[tuple[str, str], ...]
    replies: tuple[str, ...]
    denial: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Long:
    """A whole conversation; `slip` is the index of a turn and what the model could wrongly say instead."""

    turns: tuple[tuple[str, str], ...]
    slip: tuple[int, str]


def short_conversations() -> tuple[Short, ...]:
    return tuple(_short(block) for kind in SHORT for block in _blocks(kind))


def long_conversations(kind: str) -> tuple[Long, ...]:
    talks = []
    for _, *block in _blocks(kind):
        (slip,) = (index for index, (marker, _) in enumerate(block) if marker == "!")
        turns = tuple((marker[0], text) for marker, text in block if marker != "!")
        talks.append(Long(turns, (slip - 1, block[slip][1])))
    return tuple(talks)


def _blocks(kind: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the conversations of a file, each a list of (marker, text) that starts with `==`."""
    block: list[tuple[str, str]] = []
    for line in (TEXTS / f"{kind}.txt").read_text(encoding="ascii").splitlines():
        marker, _, text = line.partition(" ")
        if marker == "==" and block:
            yield block
            block = []
        if marker and marker != "#":
            block.append((marker, text))
    yield block


def _short(block: list[tuple[str, str]]) -> Short:
    name, kind, *held_out = block[0][1].replace("(", "").replace(")", "").replace(",", "").split()
    texts = {kinds: tuple(text for marker, text in block if marker in kinds.split()) for kinds in ("= +", "!", "*")}
    turns = tuple((marker[0], text) for marker, text in block if marker in ("U:", "S:"))
    return Short(name, kind, held_out == ["test"], turns, texts["= +"], texts["!"][0], texts["*"])


def garble(text: str, rng: np.random.Generator) -> str:
    """Drop most function words, commas and full stops, and swap neighbouring words twice."""
    original = text.lower().replace(",", "").replace(".", "").split()
    words = [word for word in original if word not in LIGHT_WORDS or rng.random() < 0.25] or original
    for _ in range(2):
        if len(words) > 2:
            index = int(rng.integers(len(words) - 1))
            words[index], words[index + 1] = words[index + 1], words[index]
    return " ".join(words)


def pick(texts: Sequence[str], rng: np.random.Generator) -> str:
    return texts[int(rng.integers(len(texts)))]


def reply(construction: str, talk: Short, talks: Sequence[Short], rng: np.random.Generator) -> str:
    match construction:
        case "fitting":
            return talk.replies[0]
        case "paraphrase":
            return pick(talk.replies[1:], rng)
        case "rambling":
            return f"{pick(SAYINGS['tangents'], rng)} {pick(talk.replies, rng)}"
        case "contradicting":
            return talk.denial
        case "ungrammatical":
            return garble(pick(talk.replies, rng), rng)
        case "repetitive":
            previous, last = talk.turns[-2][1], talk.turns[-1][1]
            return pick((last, previous, f"{previous} {previous}"), rng)
        case "off-topic":
            return pick([reply for other in talks if other.name != talk.name for reply in other.replies[:3]], rng)
        case _:
            return pick(SAYINGS["brief" if construction == "short" else "generic"], rng)
