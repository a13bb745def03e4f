"""Turns of a conversation in a cell: chat messages, a list, or a text with a turn per line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Utterance
from benchmarks.formats.official import alternating
from benchmarks.tables.votes import NAMED, elements

SPEAKERS: dict[str, str] = {name: side for side, names in NAMED["speakers"].items() for name in names}
PROMPTERS = frozenset(("system", "developer"))
PROMPT = "system prompt"
"""Speaker of a system prompt, which is not a turn of the dialogue."""
PREFIX = re.compile(rf"^\s*({'|'.join(sorted(SPEAKERS, key=len, reverse=True))})\s*[:：]\s*",
                  re.IGNORECASE | re.MULTILINE)
LINE = re.compile(r"[\r\n]")
SPOKEN = re.compile(r"\s*([^:：]{1,30})[:：](?!//)\s*(.*)")
"""A line of a dialogue with the name of its speaker."""
TIME = re.compile(r"^\s*\[?\d{1,2}:\d\d(:\d\d)?(\s*[ap]m)?\]?\s*-?\s+(?=\D)", re.IGNORECASE | re.MULTILINE)
"""The time before a turn."""


def turns(cell: Any, *, single: bool = False, last: str = USER) -> tuple[Utterance, ...]:
    """Return the turns of a cell: one or several chat messages, a list of texts, or one text.

    A text has speaker prefixes, or one turn per line with speakers alternating back from `last`; with `single` it is
    one turn. The speaker of a system prompt is PROMPT.
    """
    if cell is None:
        return ()
    if isinstance(listed := [cell] if isinstance(cell, dict) else elements(cell), list):
        if all(isinstance(turn, dict) for turn in listed):
            chat = all("role" in turn for turn in listed)
            return _utterances([(_speaker(turn), _content(turn)) for turn in listed], chat=chat)
        return alternating((_in_line(str(turn)) for turn in listed), last)
    text = str(cell)
    if single:
        return alternating([_in_line(_unescaped(text))], last)
    return (spoken(text, "turn" if last == USER else "dialogue")
            or alternating(map(_in_line, LINE.split(_unescaped(text))), last))


def spoken(text: str, level: str) -> tuple[Utterance, ...]:
    """Split a text at its speaker prefixes (in a dialogue, any names); empty if it has none."""
    text = TIME.sub("", _unescaped(text))
    if PREFIX.match(text):
        _, *pieces = PREFIX.split(text)
        said_by = list(zip(pieces[::2], pieces[1::2], strict=True))
    else:
        named = [SPOKEN.fullmatch(line) for line in LINE.split(text) if line.strip()]
        if level == "turn" or not all(named):
            return ()
        said_by = [(line[1], line[2]) for line in named if line]
    return _utterances(said_by)


def _utterances(said_by: Sequence[tuple[str, str]], *, chat: bool = False) -> tuple[Utterance, ...]:
    prompting = prompters([speaker.casefold().strip() for speaker, _ in said_by], chat=chat)
    sides = {**SPEAKERS, **dict.fromkeys(prompting, PROMPT)}
    return tuple(Utterance(sides.get(speaker.casefold().strip(), speaker.strip()), _in_line(said))
                 for speaker, said in said_by if said.strip())


def prompters(names: Sequence[str], *, chat: bool) -> Collection[str]:
    """Return the speakers of system prompts: `system` and `developer`, if the bot has another name.

    In a chat, they are also those of a first message that only others follow.
    """
    named_bot = any(SPEAKERS.get(name) == SYSTEM for name in names if name not in PROMPTERS)
    return PROMPTERS if named_bot or (chat and names[1:] and PROMPTERS.isdisjoint(names[1:])) else ()


def _unescaped(text: str) -> str:
    return text.strip().replace("\\n", "\n")


def _in_line(text: str) -> str:
    return " ".join(text.split())


def _speaker(turn: Mapping[str, Any]) -> str:
    return str(turn.get("role") or turn.get("speaker") or turn.get("from") or "user").casefold()


def _content(turn: Mapping[str, Any]) -> str:
    content = turn.get("content", turn.get("text", turn.get("value")))
    if isinstance(content, list):  # parts of a message
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return _in_line(str(content or ""))


def texts(cell: Any) -> Iterator[str]:
    """Yield the texts of a cell with one or several references or facts."""
    for text in elements(cell):
        if isinstance(text, dict):
            text = text.get("text") or text.get("content")
        if text is not None and str(text).strip():
            yield str(text).strip()
