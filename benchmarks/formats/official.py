"""The organisers' JSON: one list of records a file, turn level and dialogue level alike.

A turn-level record has `context` (turns on lines of their own) and `response`; a dialogue-level record has
`dialog` or `dialogue`, a list of {speaker, text}. `annotations` maps a quality to its votes, `reference` lists
replies of people, `fact` is persona or knowledge, `model` or `model_name` the system.

What the files need, and get here:
- Padding around turns is dropped. A null response is an empty one: the system said nothing.
- Where a response starts with "System: ", the marks of its record name the speakers. Elsewhere the turns are taken
  to alternate, back from the response.
- Votes may be numbers or numbers in quotes; "N/A ..." is a vote that was not given. No votes is not zero votes of 0.
- esl and ncm are judged by `win_ratio` alone, as the challenge did; one that is no number is no vote.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Item, Origin, Rating, Reference, Utterance
from benchmarks.errors import BadRecord, nearest

SPEAKERS = {"system": SYSTEM, "model": SYSTEM, "bot": SYSTEM, "user": USER, "human": USER, "human_evaluator": USER}
"""What files call the two sides; a name that is not here is kept."""

SURROGATE = re.compile("[\ud800-\udfff]")
LARGEST = 1e6
"""No vote is larger, whatever the scale."""


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object with its place, so that every complaint can name it."""

    file: str
    id: str
    values: dict[str, Any]

    def bad(self, field: str, problem: str) -> BadRecord:
        """The complaint about one field of this record."""
        return BadRecord(self.file, self.id, field, problem)

    def text(self, field: str) -> str:
        """A text that must be there; null is an empty one."""
        if field not in self.values:
            raise self.bad(field, "is missing")
        value = self.values[field]
        if value is not None and not isinstance(value, str):
            raise self.bad(field, f"should be text, is {_kind(value)}")
        return (value or "").strip()


def parse(path: Path, card: DatasetCard, origin: Origin = "imported") -> Dataset:
    """Read one file of the organisers' release as the dataset of the card."""
    loaded = list(records(path))
    if not loaded:
        raise BadRecord(path.name, None, "", "holds no records")
    read = _turn_item if card.level == "turn" else _dialogue_item
    items = tuple(read(record) for record in loaded)
    ratings = tuple(rating for record in loaded for rating in votes(record, card))
    return Dataset(card, items, ratings, origin)


def load_json(path: Path) -> Any:
    """Read a JSON file, or complain in one line."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise BadRecord(path.name, None, "", problem) from error
    except (ValueError, RecursionError) as error:  # bytes that are no text, numbers of thousands of digits, depth
        raise BadRecord(path.name, None, "", f"is not JSON: {error}") from error


def records(path: Path) -> Iterator[Record]:
    """The objects of a file, each with an id of its own."""
    rows = load_json(path)
    if not isinstance(rows, list):
        raise BadRecord(path.name, None, "", f"should be a list of records, is {_kind(rows)}")
    ids: set[str] = set()
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise BadRecord(path.name, number, "", f"should be an object, is {_kind(row)}")
        name = row.get("dialogue_id")
        if not isinstance(name, str) or not name:
            problem = f"should be text, is {_kind(name)}" if name not in (None, "") else "is missing or empty"
            raise BadRecord(path.name, number, "dialogue_id", problem)
        if name in ids:
            raise BadRecord(path.name, name, "dialogue_id", "occurs twice")
        ids.add(name)
        record = Record(path.name, name, row)
        if broken := next((key for key, value in row.items() if not _encodes(value)), None):
            raise record.bad(broken, "holds half of a surrogate pair, which is no text")
        yield record


def _encodes(value: Any) -> bool:
    """Whether every text in a value can be written as UTF-8; JSON can smuggle in what cannot."""
    if isinstance(value, str):
        return value.isascii() or not SURROGATE.search(value)
    if isinstance(value, dict):
        return all(_encodes(key) and _encodes(member) for key, member in value.items())
    return not isinstance(value, list) or all(map(_encodes, value))


def _turn_item(record: Record) -> Item:
    response = record.text("response")
    context = lines(record.text("context"))
    if str(record.values.get("response") or "").startswith("System: "):
        response = response.removeprefix("System:").strip()
        turns = tuple(map(_marked, context))
    else:
        turns = alternating(context)
    return Item(record.id, turns, Utterance(SYSTEM, response), _references(record), _facts(record),
                _system(record))


def _dialogue_item(record: Record) -> Item:
    field = "dialog" if "dialog" in record.values else "dialogue"
    turns = record.values.get(field)
    if not isinstance(turns, list) or not turns:
        raise record.bad(field, "should be a list of utterances, " + ("is missing" if turns is None else "is not"))
    context = tuple(_utterance(record, field, turn) for turn in turns)
    if not any(turn.text for turn in context):
        raise record.bad(field, "holds no utterance with text")
    return Item(record.id, tuple(turn for turn in context if turn.text), None, _references(record), _facts(record),
                _system(record))


def _utterance(record: Record, field: str, turn: Any) -> Utterance:
    if not isinstance(turn, dict) or not all(isinstance(turn.get(key), str) for key in ("speaker", "text")):
        raise record.bad(field, "each utterance should have the texts speaker and text")
    speaker: str = turn["speaker"]
    return Utterance(SPEAKERS.get(speaker.casefold(), speaker), turn["text"].strip())


def _marked(line: str) -> Utterance:
    mark, separator, text = line.partition(": ")
    if separator and mark in {"System", "User"}:
        return Utterance(SPEAKERS[mark.casefold()], text.strip())
    return Utterance(USER, line)


def _references(record: Record) -> tuple[Reference, ...]:
    value = record.values.get("reference")
    texts = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise record.bad("reference", "should be a list of texts")
    return tuple(Reference(text.strip()) for text in texts if text.strip())


def _facts(record: Record) -> tuple[str, ...]:
    return tuple(lines(record.text("fact"))) if "fact" in record.values else ()


def _system(record: Record) -> str | None:
    return next((record.text(field) for field in ("model", "model_name")
                 if record.values.get(field) is not None), None)


def lines(text: str) -> list[str]:
    """The lines of a text that say something, stripped."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def alternating(texts: Sequence[str]) -> tuple[Utterance, ...]:
    """The speakers of unmarked turns, back from the response: the last turn is the user's."""
    return tuple(Utterance(USER if (len(texts) - place) % 2 else SYSTEM, text) for place, text in enumerate(texts))


def votes(record: Record, card: DatasetCard) -> Iterator[Rating]:
    """The ratings of a record, in the order of the card's qualities."""
    if card.rated_by == "win_ratio":
        if "win_ratio" in record.values:
            yield Rating(record.id, card.qualities[0].name, _win_ratio(record))
        return
    annotations = record.values.get("annotations")
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        raise record.bad("annotations", f"should be an object, is {_kind(annotations)}")
    known = [quality.name for quality in card.qualities]
    for name in annotations:
        if name not in known:
            raise record.bad(f"annotations.{name}", f"is no quality of {card.name}; {nearest(name, known)}")
    for name in known:
        if name in annotations:
            yield Rating(record.id, name, _votes(record, name, annotations[name]))


def _votes(record: Record, quality: str, value: Any) -> tuple[float, ...]:
    entries = value if isinstance(value, list) else [] if value is None else [value]
    read = (_vote(record, quality, vote) for vote in entries)
    return tuple(vote for vote in read if vote is not None)


def _vote(record: Record, quality: str, value: Any) -> float | None:
    if value is None or (isinstance(value, str) and value.strip().upper().startswith("N/A")):
        return None
    number = _number(value)
    if number is None:
        raise record.bad(f"annotations.{quality}", f"should hold numbers, holds {value!r:.60}")
    if not abs(number) <= LARGEST:  # or not a number at all
        raise record.bad(f"annotations.{quality}", f"holds {value!r:.60}, which is not finite, or no vote")
    return number


def _win_ratio(record: Record) -> tuple[float, ...]:
    number = _number(record.values["win_ratio"])
    if number is None or math.isnan(number):
        return ()
    if abs(number) > LARGEST:
        raise record.bad("win_ratio", f"is {number:g}, which is not finite, or no ratio")
    return (number,)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return None if isinstance(value, str) and "_" in value else float(value)
    except ValueError:
        return None
    except OverflowError:  # a whole number that no float holds
        return math.inf


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
