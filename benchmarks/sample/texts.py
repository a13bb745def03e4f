"""The hand-written conversations in `texts/`, and replies of graded quality made from them.

A short conversation stops where a reply is due and lists fitting ones; a long one is whole, and has one turn of the
model for which there is also a slip: a line that denies something said before. A line of a file starts with a mark
(`U:`, `S:`, `=`, `+`, `!`, `*`, `==`); `#` opens a remark.

`LEVELS` says how good each construction of a reply truly is, from 0 to 1 on each dimension. A construction's name is
the name of the simulated system that answers so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TEXTS = Path(__file__).parent / "texts"
SHORT = ("daily", "persona", "topical", "feeling", "service")
DIMENSIONS = ("relevance", "fluency", "clarity", "content", "engagement", "consistency", "knowledge")

LEVELS: dict[str, tuple[float, ...]] = {
    #                relev fluen clear conte engag consi knowl
    "fitting":       (0.95, 0.97, 0.97, 0.82, 0.80, 0.95, 0.80),  # written as the reply to this context
    "paraphrase":    (0.92, 0.96, 0.95, 0.74, 0.72, 0.93, 0.62),  # also written for it, less of it uses the fact
    "rambling":      (0.66, 0.74, 0.62, 0.76, 0.42, 0.62, 0.48),  # a fitting reply buried under tangents
    "contradicting": (0.62, 0.95, 0.84, 0.52, 0.38, 0.05, 0.32),  # on the subject, but denies what was said
    "ungrammatical": (0.64, 0.12, 0.36, 0.55, 0.44, 0.68, 0.46),  # a fitting reply with words lost and swapped
    "short":         (0.52, 0.78, 0.80, 0.06, 0.12, 0.76, 0.03),  # one or two words that hardly ever clash
    "generic":       (0.44, 0.95, 0.90, 0.12, 0.18, 0.78, 0.05),  # fits everywhere and says nothing
    "repetitive":    (0.36, 0.84, 0.66, 0.18, 0.10, 0.52, 0.16),  # says again what has just been said
    "off-topic":     (0.05, 0.94, 0.56, 0.58, 0.30, 0.36, 0.10),  # a good reply to another conversation
    "empty":         (0.00, 0.00, 0.00, 0.00, 0.00, 0.05, 0.00),  # no text at all; its system is named otherwise
}  # fmt: skip

GENERIC = (
    "I don't know, that's nice.",
    "That sounds good to me.",
    "Oh, really? I see.",
    "I'm not sure about that.",
    "Okay, that's interesting.",
    "I think so too, you are right.",
    "That's cool. I like that.",
    "Well, it depends, I guess.",
    "I don't really know what to say.",
    "Yes, I understand what you mean.",
    "That is a good question.",
    "It is what it is, I suppose.",
)
BRIEF = ("Ok.", "Yes.", "Sure.", "Hm.", "No.", "Right.", "Maybe.", "Fine.", "I see.", "Oh well.")
TANGENTS = (
    "Which reminds me of my cousin, who once waited for a ferry that had been scrapped the year before.",
    "Not that it matters, but I said the same to somebody at the market, or it may have been at the bank.",
    "There was a programme about it, or about something like it, on a Tuesday, I think, with that man with the hat.",
    "I used to keep a list of such things in a blue notebook, and then the notebook got wet.",
    "And speaking of that, the price of stamps has gone up again, not that I write many letters.",
    "My aunt would tell it better, she had a way with these stories, and with soup.",
    "But then again, you never know, and when you do know it's usually too late, or too early.",
    "Anyway, where was I, it was on the tip of my tongue, something with a ladder.",
    "I could go on about this for hours, people say I do, and then they look at their watches.",
    "It was the same in the year of the big storm, when we lived near the mill, before the mill was a hotel.",
    "So, in a manner of speaking, that's that, although it could just as well be something else.",
    "I have a drawer full of keys and no idea what they open, which is the same thing, really.",
)
LIGHT = ("a an the is are was were be been to of in on at it its it's i i'm i've he's she's they're we're that's have "
         "has had do does did and but so than")
LIGHT_WORDS = frozenset(LIGHT.split())


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


def level(construction: str, dimension: str) -> float:
    """The latent level of a construction on a dimension, from 0 to 1."""
    return LEVELS[construction][DIMENSIONS.index(dimension)]


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
            tangents = [TANGENTS[at] for at in rng.permutation(len(TANGENTS))[:3]]
            return " ".join([tangents[0], pick(talk.replies, rng), *tangents[1:]])
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
            return pick(BRIEF if construction == "short" else GENERIC, rng)
