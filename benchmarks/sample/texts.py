"""The hand-written conversations in `texts/`, the tables in `tables.toml`, and replies of graded quality.

A short conversation ends where a reply is due and lists fitting ones; a long one is whole, with a slip for one turn of
the model: a line that denies something said before. A line of a file starts with a mark (`U:`, `S:`, `=`, `+`, `!`,
`*`, `==`); `#` opens a remark.
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
    """A whole conversation; `slip` is the index of a turn and what the model could wrongly say there."""

    turns: tuple[tuple[str, str], ...]
    slip: tuple[int, str]


def short_conversations() -> tuple[Short, ...]:
    """Return every short conversation, in the order of the files."""
    return tuple(_short(block) for kind in SHORT for block in _blocks(kind))


def long_conversations(kind: str) -> tuple[Long, ...]:
    """Return the long conversations of one kind, in the order of its file."""
    talks = []
    for _, *block in _blocks(kind):
        (slip,) = (index for index, (mark, _) in enumerate(block) if mark == "!")
        turns = tuple((mark[0], text) for mark, text in block if mark != "!")
        talks.append(Long(turns, (slip - 1, block[slip][1])))
    return tuple(talks)


def _blocks(kind: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the conversations of a file, each a list of (mark, text) that opens with `==`."""
    block: list[tuple[str, str]] = []
    for line in (TEXTS / f"{kind}.txt").read_text(encoding="ascii").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "==" and block:
            yield block
            block = []
        if mark and mark != "#":
            block.append((mark, text))
    yield block


def _short(block: list[tuple[str, str]]) -> Short:
    name, kind, *held_out = block[0][1].replace("(", "").replace(")", "").replace(",", "").split()
    texts = {sign: tuple(text for mark, text in block if mark in sign.split()) for sign in ("= +", "!", "*")}
    turns = tuple((mark[0], text) for mark, text in block if mark in ("U:", "S:"))
    return Short(name, kind, held_out == ["test"], turns, texts["= +"], texts["!"][0], texts["*"])


def garble(text: str, rng: np.random.Generator) -> str:
    """Return the text without most of its light words and commas, with two pairs of neighbours swapped."""
    every = text.lower().replace(",", "").replace(".", "").split()
    words = [word for word in every if word not in LIGHT_WORDS or rng.random() < 0.25] or every
    for _ in range(2):
        if len(words) > 2:
            at = int(rng.integers(len(words) - 1))
            words[at], words[at + 1] = words[at + 1], words[at]
    return " ".join(words)


def pick(texts: Sequence[str], rng: np.random.Generator) -> str:
    """Return a random text."""
    return texts[int(rng.integers(len(texts)))]


def reply(construction: str, talk: Short, every: Sequence[Short], rng: np.random.Generator) -> str:
    """Return the reply of a construction's system in a conversation."""
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
            return pick([reply for other in every if other.name != talk.name for reply in other.replies[:3]], rng)
        case _:
            return pick(SAYINGS["brief" if construction == "short" else "generic"], rng)
