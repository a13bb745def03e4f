"""Cells of a table: votes, turns of a conversation, and texts.

    4    4.5    4,5    4/5    80 %    4 - good    (4) good        the number
    ★★★★    ★★★★☆                                                 the number of stars
    yes, no; true, false; bad ... excellent; ...                  the position in the scale, from 0
    empty, N/A, none, ?, -                                        no vote

Turns are chat messages, a list, or a text with a turn per line.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Quality, Utterance
from benchmarks.formats.official import MAX_VOTE, alternating

NAMED: dict[str, Any] = tomllib.loads((files(__package__) / "names.toml").read_text(encoding="utf-8"))
"""Usual names of columns and speakers, and known labels."""
MISSING = frozenset(NAMED["missing"])
NUMBER = re.compile(r"\(?\s*([+-]?\d+(?:[.,]\d+)?(?:e[+-]?\d+)?)\s*(?:/\s*\d+|%)?\s*\)?"
                    r"(?:(?:\s*[-–:=.(]\s*|\s+)[^\W\d_].*|[^\W\d_]+(?:\W.*)?)?",
                    re.IGNORECASE | re.DOTALL)
DATE = re.compile(rf"\d{{1,2}}[\s./-]+({'|'.join(NAMED['months'])})\.?([\s./-]+\d+)?")
"""A date that a spreadsheet has made from a fraction."""
SCALES = tuple(map(tuple, NAMED["scales"]))
MAX_LABELS = 10  # maximum number of distinct labels in a column of votes
MAX_NON_NUMERIC = 0.1  # maximum share of non-numeric cells in a numeric column

SPEAKERS: dict[str, str] = {name: side for side, names in NAMED["speakers"].items() for name in names}
PROMPT_SPEAKERS = frozenset(("system", "developer"))
PROMPT = "system prompt"  # speaker of a system prompt, which is not a turn of the dialogue
PREFIX = re.compile(rf"^\s*({'|'.join(sorted(SPEAKERS, key=len, reverse=True))})\s*[:：]\s*",
                    re.IGNORECASE | re.MULTILINE)
LINE = re.compile(r"[\r\n]")
SPEAKER_LINE = re.compile(r"\s*([^:：]{1,30})[:：](?!//)\s*(.*)")  # a line of a dialogue with the name of its speaker
TIME = re.compile(r"^\s*\[?\d{1,2}:\d\d(:\d\d)?(\s*[ap]m)?\]?\s*-?\s+(?=\D)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Scale:
    """Conversion of the cells of a rating column to votes; without labels, cells are numbers."""

    labels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def or_labels(self, recognised: Scale | None) -> Scale:
        """Return this scale; if it has no labels, add those of the recognised scale."""
        return self if self.labels or recognised is None else replace(self, labels=recognised.labels)

    def vote(self, cell: Any) -> float | None:
        """Return the vote in a cell, None if it is missing; raise ValueError for an invalid one."""
        text = label(cell) if cell is not None else ""
        if text in self.labels:
            return float(self.labels.index(text))
        if text in MISSING or text.startswith("n/a"):
            return None
        if not self.labels and DATE.fullmatch(text):
            raise ValueError(f"{text!r} is a date, which a spreadsheet makes from a fraction such as 4/5")
        value = math.nan if self.labels else number(cell)
        if not abs(value) <= MAX_VOTE:  # or NaN
            raise ValueError(f"{text!r:.60} is not {f'one of {self}' if self.labels else 'a vote'}")
        if not (bounds := Quality("", self.low, self.high)).accepts(value):
            raise ValueError(f"{value:g} is outside the scale, {bounds.scale}")
        return value

    def __str__(self) -> str:
        return " < ".join(self.labels)


def elements(cell: Any) -> Sequence[Any]:
    """Return the elements of a cell that is a list, or a list in JSON; else the cell alone.

    Label Studio writes a rating as `[{"rating": 4}]`.
    """
    if not isinstance(cell := _parsed(cell, "["), list):
        return (cell,)
    return [element["rating"] if isinstance(element, dict) and element.keys() == {"rating"} else element
            for element in cell]


def fields(value: Any) -> Iterable[str]:
    """Return the names of the fields of an object, or of an object in JSON; else none."""
    return value if isinstance(value := _parsed(value, "{"), dict) else ()


def _parsed(cell: Any, bracket: str) -> Any:
    """Parse a cell that is JSON and starts with this bracket; return any other unchanged."""
    if isinstance(cell, str) and cell.lstrip()[:1] == bracket:
        with contextlib.suppress(ValueError):
            return json.loads(cell)
    return cell


def label(cell: Any) -> str:
    """Return a cell as a label of a scale, in lower case; pandas writes 5 as 5.0 in columns with missing cells."""
    return re.sub(r"^([+-]?\d+)[.,]0+$", r"\1", str(cell).strip().casefold())


def number(cell: Any) -> float:
    """Return the number that a cell contains or starts with, or NaN."""
    if isinstance(cell, int | float):
        return float(cell) if math.isfinite(cell) else math.nan
    text = str(cell).strip()
    if text and not text.strip("★☆⭐"):
        return float(len(text) - text.count("☆"))
    matched = NUMBER.fullmatch(text)
    return float(matched[1].replace(",", ".")) if matched else math.nan


def scale_of(values: Mapping[str, int], scales: Sequence[tuple[str, ...]] = ()) -> Scale | None:
    """Return the scale of a column's values (with counts), trying the user's `scales` first; None if not votes.

    A scale of the user may lack labels of the column: Scale.vote reports them, with their line.
    """
    labels = set(map(label, values)) - MISSING
    for scale in (*scales, *SCALES):
        shared = labels & set(scale)
        if shared and (shared == labels or (scale in scales and len(shared) > 1 and len(labels) <= MAX_LABELS)):
            return Scale(tuple(scale))
    vote_counts = {value: count for value, count in values.items() if label(value) in labels}
    non_numeric = sum(count for value, count in vote_counts.items() if math.isnan(number(value)))
    return Scale() if vote_counts and non_numeric <= MAX_NON_NUMERIC * sum(vote_counts.values()) else None


def parse_scale(text: str) -> tuple[str, ...]:
    """Parse `No < To some extent < Yes`; raise ValueError without at least two distinct labels."""
    labels = tuple(map(label, text.split("<")))
    if len(labels) < 2 or not all(labels) or len(set(labels)) < len(labels):
        raise ValueError(f'a scale is written "No < To some extent < Yes", lowest first, not {text!r:.60}')
    return labels


def turns(cell: Any, *, single: bool = False, last: str = USER) -> tuple[Utterance, ...]:
    """Return the turns of a cell: one or several chat messages, a list of texts, or one text.

    A text has speaker prefixes, or one turn per line with speakers alternating back from `last`; with `single` it is
    one turn. The speaker of a system prompt is PROMPT.
    """
    if cell is None:
        return ()
    if isinstance(messages := [cell] if isinstance(cell, dict) else elements(cell), list):
        if all(isinstance(turn, dict) for turn in messages):
            chat = all("role" in turn for turn in messages)
            speakers = [str(turn.get("role") or turn.get("speaker") or turn.get("from") or "user").casefold()
                        for turn in messages]
            return _utterances(list(zip(speakers, map(_content, messages), strict=True)), chat=chat)
        return alternating((_normal(str(turn)) for turn in messages), last)
    text = str(cell)
    if single:
        return alternating([_unescaped(text)], last)
    return (split_by_speaker(text, "turn" if last == USER else "dialogue")
            or alternating(map(str.strip, LINE.split(_unescaped(text))), last))


def split_by_speaker(text: str, level: str) -> tuple[Utterance, ...]:
    """Split a text at its speaker prefixes (in a dialogue, any names); empty if it has none."""
    text = TIME.sub("", _unescaped(text))
    if PREFIX.match(text):
        _, *pieces = PREFIX.split(text)
        return _utterances(list(zip(pieces[::2], pieces[1::2], strict=True)))
    lines = [SPEAKER_LINE.fullmatch(line) for line in LINE.split(text) if line.strip()]
    return () if level == "turn" or not all(lines) else _utterances([(line[1], line[2]) for line in lines if line])


def _utterances(messages: Sequence[tuple[str, str]], *, chat: bool = False) -> tuple[Utterance, ...]:
    prompt_speakers = system_prompt_speakers([speaker.casefold().strip() for speaker, _ in messages], chat=chat)
    sides = {**SPEAKERS, **dict.fromkeys(prompt_speakers, PROMPT)}
    return tuple(Utterance(sides.get(speaker.casefold().strip(), speaker.strip()), text.strip())
                 for speaker, text in messages if text.strip())


def system_prompt_speakers(names: Sequence[str], *, chat: bool) -> Collection[str]:
    """Return the speakers of system prompts: `system` and `developer`, if another name stands for the bot.

    In a chat, a first message from `system` or `developer` is also a system prompt if no later message is from either.
    """
    named_bot = any(SPEAKERS.get(name) == SYSTEM for name in names if name not in PROMPT_SPEAKERS)
    return PROMPT_SPEAKERS if named_bot or (chat and names[1:] and PROMPT_SPEAKERS.isdisjoint(names[1:])) else ()


def _unescaped(text: str) -> str:
    r"""Return a text without surrounding space; `\n` stands for a line break in texts without one."""
    text = _normal(text)
    return text if "\n" in text else text.replace("\\n", "\n")


def _normal(text: str) -> str:
    """Return a text without surrounding space, with line breaks as on Linux."""
    return re.sub(r"\r\n?", "\n", text).strip()


def _content(turn: Mapping[str, Any]) -> str:
    content = turn.get("content", turn.get("text", turn.get("value")))
    if isinstance(content, list):  # parts of a message
        content = "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
    return _normal(str(content or ""))


def texts(cell: Any) -> Iterator[str]:
    """Yield the texts of a cell with one or several references or facts."""
    for text in elements(cell):
        if isinstance(text, dict):
            text = text.get("text") or text.get("content")
        if text is not None and str(text).strip():
            yield str(text).strip()
