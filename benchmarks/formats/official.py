"""The organisers' JSON: one list of records per file, at turn level or dialogue level.

A turn-level record has `context` (one turn per line) and `response`; a dialogue-level record has `dialog` or
`dialogue`, a list of {speaker, text}. `annotations` maps a quality to its votes, `reference` lists human replies,
`fact` is persona or knowledge, and `model` or `model_name` is the system.

The files need some care:
- Whitespace around turns is stripped. A null response counts as empty: the system said nothing.
- If a response starts with "System: ", the speakers are read from the prefixes in its record. Otherwise speakers
  alternate, counting back from the response.
- Votes may be numbers, quoted or not; "N/A ..." means that no vote was given. An item without votes is unrated.
- esl and ncm are rated by `win_ratio` only, as in the challenge; a ratio that is not a number is ignored.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.dataset import (
    LANGUAGE,
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
from benchmarks.errors import BadRecord, nearest, raise_if_any
from benchmarks.formats.rows import decoded, is_encodable, located

SPEAKERS = {"system": SYSTEM, "model": SYSTEM, "bot": SYSTEM, "assistant": SYSTEM, "user": USER, "human": USER,
            "human_evaluator": USER}
"""Names of the two speakers in the files; other names are kept."""
DIALOGUE_FORMAT = 'a list of {"speaker": "user", "text": "Hello"}'
MAX_VOTE = 1e6  # largest plausible vote on any scale


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object with its location for messages."""

    file: str
    id: str
    values: dict[str, Any]

    def bad(self, field: str, problem: str) -> BadRecord:
        return BadRecord(self.file, self.id, field, problem)

    def text(self, field: str) -> str:
        """Return a required string, stripped; null becomes empty."""
        if field not in self.values:
            raise self.bad(field, "is missing")
        value = self.values[field]
        if value is not None and not isinstance(value, str):
            raise self.bad(field, f"should be text, not {_kind(value)}")
        return (value or "").strip()


def parse(path: Path, card: DatasetCard, origin: Origin = "imported") -> Dataset:
    return dataset(records(path), card, origin, path.name)


def dataset(records: Iterable[Record], card: DatasetCard, origin: Origin, file: str) -> Dataset:
    """Build a dataset from records; raise one error for all invalid records."""
    problems: list[BadRecord] = []
    items: list[Item] = []
    ratings: list[Rating] = []
    for record in records:
        try:
            item_ratings, item = tuple(record_ratings(record, card)), _item(record, card)
        except BadRecord as error:
            problems.append(error)
        else:
            items.append(item)
            ratings += item_ratings
    raise_if_any(problems)
    if not items:
        raise BadRecord(file, None, "", "contains no records")
    return Dataset(card, tuple(items), tuple(ratings), origin)


def load_json(path: Path) -> Any:
    with located(path.name):
        text = decoded(path.read_bytes())
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecord(path.name, None, "", f"is not JSON: {error}") from error


def records(path: Path) -> Iterator[Record]:
    """Yield the records of a file; raise BadRecord for an invalid record or a duplicate id."""
    rows, file = load_json(path), path.name
    if not isinstance(rows, list):
        raise BadRecord(file, None, "", f"should be a list of records, not {_kind(rows)}")
    ids: set[str] = set()
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise BadRecord(file, number, "", f"should be an object, not {_kind(row)}")
        dialogue_id = row.get("dialogue_id")
        if not isinstance(dialogue_id, str) or not dialogue_id:
            is_missing = dialogue_id in (None, "")
            raise BadRecord(file, number, "dialogue_id",
                            "is missing or empty" if is_missing else f"should be text, not {_kind(dialogue_id)}")
        record = Record(file, dialogue_id, row)
        if dialogue_id in ids:
            raise record.bad("dialogue_id", "occurs twice")
        ids.add(dialogue_id)
        if unencodable := next((field for field, value in row.items() if not is_encodable(value)), None):
            raise record.bad(unencodable, "contains a lone surrogate, which is not valid text")
        yield record


def check_level(records: Sequence[Record], level: Level) -> None:
    """Raise BadRecord if the first record belongs to the other level."""
    values = records[0].values if records else {}
    has_dialogue = bool(values.keys() & {"dialog", "dialogue"})
    if level == "turn" and has_dialogue and "response" not in values:
        raise records[0].bad("", 'is a whole dialogue: set level = "dialogue" in the card')
    if level == "dialogue" and not has_dialogue and {"context", "response"} <= values.keys():
        raise records[0].bad("", 'has a context and a response: set level = "turn" in the card or, if whole dialogues '
                             f"were rated, replace them with dialogue, {DIALOGUE_FORMAT}")


def _item(record: Record, card: DatasetCard) -> Item:
    values = record.values
    context, response = _turns(record) if card.level == "turn" else (_dialogue(record), None)
    references = values.get("reference") or []
    references = [references] if isinstance(references, str) else references
    if not isinstance(references, list) or not all(isinstance(text, str) for text in references):
        raise record.bad("reference", "should be a list of strings")
    facts = lines(record.text("fact")) if "fact" in values else ()
    system = next((record.text(field) for field in ("model", "model_name") if values.get(field) is not None), None)
    language = values.get("language") or card.language
    if not isinstance(language, str) or not is_language(language):
        raise record.bad("language", f"should be {LANGUAGE}, not {language!r:.60}")
    return Item(record.id, context, response, tuple(Reference(text.strip()) for text in references if text.strip()),
                tuple(facts), system, language)


def _turns(record: Record) -> tuple[tuple[Utterance, ...], Utterance]:
    response, context = record.text("response"), lines(record.text("context"))
    if not str(record.values["response"]).startswith("System: "):
        return alternating(context), Utterance(SYSTEM, response)
    turns = []
    for line in context:
        prefix, separator, text = f"{line} ".partition(": ")
        if not (separator and prefix in {"System", "User"}):
            turns.append(Utterance(USER, line))
        elif text.strip():
            turns.append(Utterance(SPEAKERS[prefix.casefold()], text.strip()))
    return tuple(turns), Utterance(SYSTEM, response.removeprefix("System:").strip())


def _dialogue(record: Record) -> tuple[Utterance, ...]:
    field = "dialog" if "dialog" in record.values else "dialogue"
    turns = record.values.get(field)
    if not isinstance(turns, list) or not turns:
        problem = "is missing" if turns is None else "is empty" if turns == [] else "is invalid"
        raise record.bad(field, f"{problem}; expected {DIALOGUE_FORMAT}")
    if not all(isinstance(turn, dict) and isinstance(turn.get("speaker"), str) and isinstance(turn.get("text"), str)
               for turn in turns):
        raise record.bad(field, "each utterance should have the string fields speaker and text")
    context = tuple(Utterance(SPEAKERS.get(turn["speaker"].casefold(), turn["speaker"]), turn["text"].strip())
                    for turn in turns if turn["text"].strip())
    if not context:
        raise record.bad(field, "has no utterance with text")
    return context


def has_empty_turn(record: Record) -> bool:
    """Return True if one of several turns is empty; dropping it shifts the speakers of turns without prefixes."""
    turns = record.values.get("dialog", record.values.get("dialogue"))
    texts = [turn["text"] for turn in turns] if isinstance(turns, list) else record.text("context").split("\n")
    return len(texts) > 1 and any(text.strip() in ("", "System:", "User:") for text in texts)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def alternating(texts: Iterable[str], last: str = USER) -> tuple[Utterance, ...]:
    """Return the non-empty texts as turns, with speakers alternating back from `last`."""
    turns = [text.strip() for text in texts if text.strip()]
    sides = (SYSTEM if last == USER else USER, last)
    return tuple(Utterance(sides[(len(turns) - index) % 2], text) for index, text in enumerate(turns))


def record_ratings(record: Record, card: DatasetCard) -> Iterator[Rating]:
    """Yield the ratings of a record in the order of the card's qualities."""
    if card.rated_by == "win_ratio":
        if "win_ratio" in record.values:
            ratio = parsed_number(record.values["win_ratio"])
            if ratio is not None and abs(ratio) > MAX_VOTE:
                raise record.bad("win_ratio", f"is {ratio:g}, which is not a plausible ratio")
            yield Rating(record.id, card.qualities[0].name, () if ratio is None or math.isnan(ratio) else (ratio,))
        return
    annotations = record.values.get("annotations")
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        raise record.bad("annotations", f"should be an object, not {_kind(annotations)}")
    quality_names = [quality.name for quality in card.qualities]
    if unknown := next((name for name in annotations if name not in quality_names), None):
        suggestion = nearest(unknown, quality_names)
        raise record.bad(f"annotations.{unknown}", f"is not a quality of {card.name}; {suggestion}")
    for name in quality_names:
        if name in annotations:
            values = annotations[name] if isinstance(annotations[name], list) else [annotations[name]]
            try:
                yield Rating(record.id, name, tuple(vote(value) for value in values if not is_missing_vote(value)))
            except ValueError as error:
                raise record.bad(f"annotations.{name}", str(error)) from error


def vote(value: Any) -> float:
    """Return a vote, quoted or not; raise ValueError if it is not a plausible number."""
    parsed = parsed_number(value)
    if parsed is None:
        raise ValueError(f"should contain numbers, not {value!r:.60}")
    if not abs(parsed) <= MAX_VOTE:  # or NaN
        raise ValueError(f"contains {value!r:.60}, which is not a plausible vote")
    return parsed


def is_missing_vote(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().upper().startswith("N/A"))


def parsed_number(value: Any) -> float | None:
    """Return a number, quoted or not, as a float; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return None if isinstance(value, str) and "_" in value else float(value)
    except ValueError:
        return None
    except OverflowError:  # an integer too large for a float
        return math.inf


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
