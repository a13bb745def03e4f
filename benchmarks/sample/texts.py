"""The hand-written conversations in `texts/`, the tables in `tables.toml`, and replies of graded quality made of them.

A short conversation stops where a reply is due and lists fitting ones; a long one is whole, and has one turn of the
model for which there is also a slip: a line that denies something said before. A line of a file starts with a mark
(`U:`, `S:`, `=`, `+`, `!`, `*`, `==`); `#` opens a remark.
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
"""Levels, weights, sets and sayings, from tables.toml."""
SAYINGS: dict[str, list[str]] = TABLES["sayings"]
LIGHT_WORDS = frozenset(TABLES["sayings"]["light"].split())


def levels(of: str) -> dict[str, dict[str, float]]:
    """How good each construction of a `reply` or `dialogue` truly is on each dimension, from 0 to 1."""
    table = TABLES[of]
    return {name: dict(zip(table["dimensions"], values, strict=True)) for name, values in table["levels"].items()}


LEVELS = levels("reply")


@dataclass(frozen=True, slots=True)
class Short:
    """A conversation up to the user's last turn; `replies` all fit, the first one is the ground truth."""

    name: str
    kind: str
    held_out: bool
    turns: tuple[tuple[str, str], ...]
    replies: tuple[str, ...]
    denial: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Long:
    """A whole conversation; `slip` is the number of a turn and what the model could wrongly say there."""

    name: str
    kind: str
    turns: tuple[tuple[str, str], ...]
    slip: tuple[int, str]


def short_conversations() -> tuple[Short, ...]:
    """Every short conversation, in the order of the files."""
    return tuple(_short(block) for kind in SHORT for block in _blocks(TEXTS / f"{kind}.txt"))


def long_conversations(kind: str) -> tuple[Long, ...]:
    """The long conversations of one kind, in the order of its file."""
    talks = []
    for (_, head), *block in _blocks(TEXTS / f"{kind}.txt"):
        (slip,) = (place for place, (mark, _) in enumerate(block) if mark == "!")
        turns = tuple((mark[0], text) for mark, text in block if mark != "!")
        talks.append(Long(head.split()[0], kind, turns, (slip - 1, block[slip][1])))
    return tuple(talks)


def _blocks(path: Path) -> Iterator[list[tuple[str, str]]]:
    """The conversations of a file, each a list of (mark, text) that opens with `==`."""
    block: list[tuple[str, str]] = []
    for line in path.read_text(encoding="ascii").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "==" and block:
            yield block
            block = []
        if mark and mark != "#":
            block.append((mark, text))
    yield block


def _short(block: list[tuple[str, str]]) -> Short:
    name, kind, *held_out = block[0][1].replace("(", "").replace(")", "").replace(",", "").split()
    return Short(
        name=name,
        kind=kind,
        held_out=held_out == ["test"],
        turns=tuple((mark[0], text) for mark, text in block if mark in ("U:", "S:")),
        replies=tuple(text for mark, text in block if mark in ("=", "+")),
        denial=next(text for mark, text in block if mark == "!"),
        facts=tuple(text for mark, text in block if mark == "*"),
    )


def garble(text: str, rng: np.random.Generator) -> str:
    """The text without most of its light words and commas, with two pairs of neighbours swapped."""
    words = text.lower().replace(",", "").replace(".", "").split()
    words_left = [word for word in words if word not in LIGHT_WORDS or rng.random() < 0.25] or words
    for _ in range(2):
        if len(words_left) > 2:
            at = int(rng.integers(len(words_left) - 1))
            words_left[at], words_left[at + 1] = words_left[at + 1], words_left[at]
    return " ".join(words_left)


def pick(texts: Sequence[str], rng: np.random.Generator) -> str:
    """One of the texts, each with the same chance."""
    return texts[int(rng.integers(len(texts)))]


def reply(construction: str, talk: Short, every: Sequence[Short], rng: np.random.Generator) -> str:
    """What the system of a construction answers in a conversation."""
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
            own, last = talk.turns[-2][1], talk.turns[-1][1]
            return pick((last, own, f"{own} {own}"), rng)
        case "off-topic":
            return pick([reply for other in every if other.name != talk.name for reply in other.replies[:3]], rng)
        case _:
            return pick(SAYINGS["brief" if construction == "short" else "generic"], rng)
