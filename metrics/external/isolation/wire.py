"""The wire between the harness and a metric in a process of its own: docs/protocol.md, which has it for any language.

    message = length of head (4 bytes) + length of body (8 bytes), big-endian + head + body

Head and body are JSON: the head a small object, the body items or columns. A length beyond the limit is refused before
a byte of it is read, and whatever cannot be parsed is a WireError.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.dataset import Item, Reference, Utterance
from metrics.column import Column

PROTOCOL = 1
LENGTHS = struct.Struct(">IQ")
HEAD = 1 << 20
"""The longest head, in bytes."""
BODY = 1 << 30
"""The longest body, in bytes."""


class WireError(Exception):
    """What arrived is no message of the protocol."""


@dataclass(frozen=True, slots=True)
class Message:
    """A question or an answer."""

    head: Mapping[str, Any]
    body: bytes = b""

    def encoded(self) -> bytes:
        """The bytes that go over the wire."""
        head = json.dumps(dict(self.head)).encode()
        if len(head) > HEAD or len(self.body) > BODY:
            raise WireError(f"a message of {len(head)} and {len(self.body)} bytes is longer than {HEAD} and {BODY}")
        return LENGTHS.pack(len(head), len(self.body)) + head + self.body


def missing(arrived: bytes | bytearray) -> int:
    """How many bytes of a message must still arrive, by those that have; less than 0 where there are too many."""
    if len(arrived) < LENGTHS.size:
        return LENGTHS.size - len(arrived)
    head, body = LENGTHS.unpack_from(arrived)
    if head > HEAD or body > BODY:
        raise WireError(f"a message cannot be {head} and {body} bytes long; it begins with {bytes(arrived[:40])!r}")
    return LENGTHS.size + int(head) + int(body) - len(arrived)


def decoded(arrived: bytes | bytearray) -> Message:
    """The message, which is whole."""
    end = LENGTHS.size + LENGTHS.unpack_from(arrived)[0]
    head = parsed(bytes(arrived[LENGTHS.size:end]))
    if not isinstance(head, dict):
        raise WireError("the head of a message is a JSON object")
    return Message(head, bytes(arrived[end:]))


def parsed(content: bytes) -> Any:
    """The value that JSON text holds; NaN and Infinity are refused."""
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(f"{content[:40]!r} cannot be read as JSON ({error})") from error


def items_body(items: Sequence[Item]) -> bytes:
    """The items of a question, as JSON."""
    text = json.dumps([_record(item) for item in items], ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()  # U+FFFD for half a surrogate


def items_of(body: bytes) -> tuple[Item, ...]:
    """The items that a question holds."""
    try:
        return tuple(_item(record) for record in parsed(body))
    except (KeyError, TypeError) as error:
        raise WireError(f"the items cannot be read: {error!r}") from error


def columns_body(columns: Mapping[str, Column]) -> bytes:
    """The columns of an answer, as JSON; a missing score is null."""
    return json.dumps({name: [_number(name, value) for value in column] for name, column in columns.items()}).encode()


def columns_of(body: bytes) -> dict[str, Column]:
    """The columns that an answer holds, whatever their names and lengths."""
    columns = parsed(body)
    if not isinstance(columns, dict):
        raise WireError("the body of scores should be an object of columns")
    return {name: _column(name, values) for name, values in columns.items()}


def _column(name: str, values: Any) -> Column:
    if not isinstance(values, list):
        raise WireError(f"column {name:.80} is no list")
    for value in values:
        if value is not None and type(value) not in (int, float):
            raise WireError(f"column {name:.80} holds {value!r:.80}, which is no number")
    try:
        return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    except OverflowError as error:  # a whole number of a thousand digits
        raise WireError(f"a score is out of range: {error}") from error


def _number(name: str, value: float) -> float | None:
    if math.isinf(value):
        raise WireError(f"column {name:.80} holds an infinite score")
    return None if math.isnan(value) else float(value)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON; a missing score is null")


def _record(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in item.context],
        "response": item.response and {"speaker": item.response.speaker, "text": item.response.text},
        "references": [{"text": reference.text, "weight": reference.weight} for reference in item.references],
        "facts": item.facts,
        "system": item.system,
    }


def _item(record: Mapping[str, Any]) -> Item:
    response = record["response"]
    return Item(
        record["id"], tuple(Utterance(turn["speaker"], turn["text"]) for turn in record["context"]),
        None if response is None else Utterance(response["speaker"], response["text"]),
        tuple(Reference(reference["text"], reference["weight"]) for reference in record["references"]),
        tuple(record["facts"]), record["system"])
