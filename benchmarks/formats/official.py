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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dataset import (
    SYSTEM,
    USER,
    Dataset,
    DatasetCard,
    Item,
    Level,
    Origin,
    Rating,
    Reference,
    Utterance,
    is_language,
)
from benchmarks.errors import BadRecord, nearest, not_utf8, raise_if_any

SPEAKERS = {"system": SYSTEM, "model": SYSTEM, "bot": SYSTEM, "assistant": SYSTEM, "user": USER, "human": USER,
            "human_evaluator": USER}
"""Names of the two speakers in the files; other names are kept."""

SURROGATE = re.compile("[\ud800-\udfff]")
DIALOGUE = 'a list of {"speaker": "user", "text": "Hello"}'
LARGEST = 1e6
"""Largest vote on any scale."""


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object with its location for error messages."""

    file: str
    id: str
    values: dict[str, Any]

    def bad(self, field: str, problem: str) -> BadRecord:
        """Return the error for a field of this record."""
        return BadRecord(self.file, self.id, field, problem)

    def text(self, field: str) -> str:
        """Return a required text; null is empty."""
        if field not in self.values:
            raise self.bad(field, "is missing")
        value = self.values[field]
        if value is not None and not isinstance(value, str):
            raise self.bad(field, f"should be text, is {_kind(value)}")
        return (value or "").strip()


def parse(path: Path, card: DatasetCard, origin: Origin = "imported") -> Dataset:
    """Read one file of the organisers' release as the dataset of the card."""
    return dataset(records(path), card, origin, path.name)


def dataset(found: Iterable[Record], card: DatasetCard, origin: Origin, file: str) -> Dataset:
    """Build a dataset from records."""
    loaded = list(found)
    if not loaded:
        raise BadRecord(file, None, "", "holds no records")
    problems: list[BadRecord] = []
    items: list[Item] = []
    ratings: list[Rating] = []
    for record in loaded:
        try:
            rated, item = tuple(votes(record, card)), _item(record, card)
        except BadRecord as error:
            problems.append(error)
        else:
            items.append(item)
            ratings += rated
    raise_if_any(problems)
    return Dataset(card, tuple(items), tuple(ratings), origin)


def is_whole(values: Mapping[str, Any], level: Level | str) -> str:
    """Say that a record is of the other level, if it is; empty if it is not."""
    whole = bool(values.keys() & {"dialog", "dialogue"}) and "response" not in values
    if whole and level == "turn":
        return 'it is a whole dialogue: the card should say level = "dialogue"'
    turn = {"context", "response"} <= values.keys() and not values.keys() & {"dialog", "dialogue"}
    return ('it has a context and a response: the card should say level = "turn" or, where whole dialogues were rated, '
            f"the record have dialogue, {DIALOGUE}") if turn and level != "turn" else ""


def check_level(found: Sequence[Record], level: Level) -> None:
    """Refuse records of the other level, by the first of them."""
    for record in found[:1]:
        if message := is_whole(record.values, level):
            raise BadRecord(record.file, record.id, "", message)


def load_json(path: Path) -> Any:
    """Read a JSON file; BadRecord if it is malformed."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        problem = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        raise BadRecord(path.name, None, "", problem) from error
    except UnicodeDecodeError as error:
        raise BadRecord(path.name, None, "", not_utf8(error)) from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, depth
        raise BadRecord(path.name, None, "", f"is not JSON: {error}") from error


def records(path: Path) -> Iterator[Record]:
    """The objects of a file, each with an id of its own."""
    return records_of(load_json(path), path.name)


def records_of(rows: Any, file: str) -> Iterator[Record]:
    """The objects of a list, each with an id of its own."""
    if not isinstance(rows, list):
        raise BadRecord(file, None, "", f"should be a list of records, is {_kind(rows)}")
    ids: set[str] = set()
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise BadRecord(file, number, "", f"should be an object, is {_kind(row)}")
        name = row.get("dialogue_id")
        if not isinstance(name, str) or not name:
            problem = f"should be text, is {_kind(name)}" if name not in (None, "") else "is missing or empty"
            raise BadRecord(file, number, "dialogue_id", problem)
        record = Record(file, name, row)
        if name in ids:
            raise record.bad("dialogue_id", "occurs twice")
        ids.add(name)
        for field, value in row.items():
            if not _encodes(value):
                raise record.bad(field, "holds half of a surrogate pair, which is no text")
        yield record


def _encodes(value: Any) -> bool:
    """Return True if every text in a value is valid UTF-8; JSON can hold lone surrogates."""
    if isinstance(value, str):
        return value.isascii() or not SURROGATE.search(value)
    if isinstance(value, dict):
        return all(_encodes(key) and _encodes(member) for key, member in value.items())
    return not isinstance(value, list) or all(map(_encodes, value))


def _item(record: Record, card: DatasetCard) -> Item:
    values = record.values
    context, response = _turns(record) if card.level == "turn" else (_dialogue(record), None)
    given = values.get("reference")
    references = [] if given is None else [given] if isinstance(given, str) else given
    if not isinstance(references, list) or not all(isinstance(text, str) for text in references):
        raise record.bad("reference", "should be a list of texts")
    facts = lines(record.text("fact")) if "fact" in values else ()
    system = next((record.text(field) for field in ("model", "model_name") if values.get(field) is not None), None)
    return Item(record.id, context, response, tuple(Reference(text.strip()) for text in references if text.strip()),
                tuple(facts), system, _language(record, card))


def _language(record: Record, card: DatasetCard) -> str:
    """The code of a record's language, else that of its dataset."""
    code = record.values.get("language") or card.language
    if not isinstance(code, str) or not is_language(code):
        raise record.bad("language", f"should be a code such as en or zh, not {code!r:.60}")
    return code


def _turns(record: Record) -> tuple[tuple[Utterance, ...], Utterance]:
    """The context and the response of a turn-level record, the speakers by their marks where the response has one."""
    response, context = record.text("response"), lines(record.text("context"))
    if not str(record.values["response"]).startswith("System: "):
        return alternating(context), Utterance(SYSTEM, response)
    turns = []
    for line in context:
        mark, separator, text = f"{line} ".partition(": ")
        marked = separator and mark in {"System", "User"}
        if text.strip() or not marked:
            turns.append(Utterance(SPEAKERS[mark.casefold()], text.strip()) if marked else Utterance(USER, line))
    return tuple(turns), Utterance(SYSTEM, response.removeprefix("System:").strip())


def _dialogue(record: Record) -> tuple[Utterance, ...]:
    """The turns of a dialogue-level record that have text."""
    field = "dialog" if "dialog" in record.values else "dialogue"
    turns = record.values.get(field)
    if not isinstance(turns, list) or not turns:
        raise record.bad(field, f"should be {DIALOGUE}, " + (
            "is missing" if turns is None else "is empty" if turns == [] else "is not"))
    for turn in turns:
        if not isinstance(turn, dict) or not all(isinstance(turn.get(key), str) for key in ("speaker", "text")):
            raise record.bad(field, "each utterance should have the texts speaker and text")
    context = tuple(Utterance(SPEAKERS.get(turn["speaker"].casefold(), turn["speaker"]), turn["text"].strip())
                    for turn in turns if turn["text"].strip())
    if not context:
        raise record.bad(field, "holds no utterance with text")
    return context


def has_empty_turn(record: Record) -> bool:
    """Whether a turn among others has no text; it is left out, which of unmarked turns changes who speaks."""
    turns = record.values.get("dialog", record.values.get("dialogue"))
    texts = [turn["text"] for turn in turns] if isinstance(turns, list) else record.text("context").split("\n")
    return len(texts) > 1 and any(text.strip() in ("", "System:", "User:") for text in texts)


def lines(text: str) -> list[str]:
    """Return the non-empty lines, stripped."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def alternating(texts: Iterable[str]) -> tuple[Utterance, ...]:
    """The speakers of unmarked turns, back from the response: the last turn is the user's; empty turns are none."""
    said = [text.strip() for text in texts if text.strip()]
    return tuple(Utterance(USER if (len(said) - place) % 2 else SYSTEM, text) for place, text in enumerate(said))


def votes(record: Record, card: DatasetCard) -> Iterator[Rating]:
    """The ratings of a record, in the order of the card's qualities."""
    if card.rated_by == "win_ratio":
        if "win_ratio" in record.values:
            ratio = number(record.values["win_ratio"])
            if ratio is not None and abs(ratio) > LARGEST:
                raise record.bad("win_ratio", f"is {ratio:g}, which is not finite, or no ratio")
            yield Rating(record.id, card.qualities[0].name, () if ratio is None or math.isnan(ratio) else (ratio,))
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
            value = annotations[name]
            read = (_vote(record, name, vote) for vote in (value if isinstance(value, list) else [value]))
            yield Rating(record.id, name, tuple(vote for vote in read if vote is not None))


def _vote(record: Record, quality: str, value: Any) -> float | None:
    if value is None or (isinstance(value, str) and value.strip().upper().startswith("N/A")):
        return None
    vote = number(value)
    if vote is None:
        raise record.bad(f"annotations.{quality}", f"should hold numbers, holds {value!r:.60}")
    if not abs(vote) <= LARGEST:  # or not a number at all
        raise record.bad(f"annotations.{quality}", f"holds {value!r:.60}, which is not finite, or no vote")
    return vote


def number(value: Any) -> float | None:
    """Parse a number, quoted or not; None if it is not one."""
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
