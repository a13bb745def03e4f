"""The wire between the harness and a metric in a process of its own: docs/protocol.md, which has it for any language.

    message = length of head (4 bytes) + length of body (8 bytes), big-endian + head + body

The head is a small JSON object. The body holds items or columns, as Arrow (an IPC stream of one table) or as JSON.
Nothing is believed: a length beyond the limit is refused before a byte of it is awaited, and whatever does not read
back is a WireError.
"""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from benchmarks.dataset import Item, Reference, Utterance

if TYPE_CHECKING:
    import pyarrow as pa

    from metrics.column import Column

Form = Literal["arrow", "json"]
PROTOCOL = 1
LENGTHS = struct.Struct(">IQ")
HEAD = 1 << 20
"""The longest head, in bytes."""
BODY = 1 << 30
"""The longest body, in bytes."""


class WireError(Exception):
    """What came is no message of the protocol."""


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


@dataclass(slots=True)
class Reader:
    """Puts one message together from the pieces that arrive."""

    arrived: bytearray = field(default_factory=bytearray)

    def missing(self) -> int:
        """How many bytes have to come before more is known; 0 where the message is whole."""
        if len(self.arrived) < LENGTHS.size:
            return LENGTHS.size - len(self.arrived)
        head, body = LENGTHS.unpack_from(self.arrived)
        if head > HEAD or body > BODY:
            start = bytes(self.arrived[:40])
            raise WireError(f"a message cannot be {head} and {body} bytes long; it begins with {start!r}")
        return max(0, LENGTHS.size + int(head) + int(body) - len(self.arrived))

    def surplus(self) -> bool:
        """Whether more has come than a message."""
        head, body = LENGTHS.unpack_from(self.arrived)
        return len(self.arrived) > LENGTHS.size + int(head) + int(body)

    def message(self) -> Message:
        """The message, which is whole."""
        end = LENGTHS.size + LENGTHS.unpack_from(self.arrived)[0]
        head = parsed(bytes(self.arrived[LENGTHS.size:end]))
        if not isinstance(head, dict):
            raise WireError("the head of a message is a JSON object")
        return Message(head, bytes(self.arrived[end:]))


def parsed(content: bytes) -> Any:
    """What JSON says; a NaN or an infinity is none."""
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(f"{content[:40]!r} does not read as JSON ({error})") from error


def items_body(items: Sequence[Item], form: Form) -> bytes:
    """The items of a question."""
    records = [_record(item) for item in items]
    if form == "json":
        return json.dumps(records).encode()
    import pyarrow as pa

    return _arrow(pa.Table.from_pylist(records, _schema()))


def items_of(body: bytes, form: Form) -> tuple[Item, ...]:
    """The items that a question holds."""
    records = parsed(body) if form == "json" else _table(body).to_pylist()
    try:
        return tuple(_item(record) for record in records)
    except (KeyError, TypeError) as error:
        raise WireError(f"items that do not read: {error!r}") from error


def columns_body(columns: Mapping[str, Column], form: Form) -> bytes:
    """The columns of an answer; what is missing is null in JSON and in Arrow NaN."""
    if form == "json":
        return json.dumps({name: [_number(value) for value in column] for name, column in columns.items()}).encode()
    import pyarrow as pa

    return _arrow(pa.table({name: pa.array(column, pa.float64()) for name, column in columns.items()}))


def columns_of(body: bytes, form: Form) -> dict[str, Column]:
    """The columns that an answer holds, whatever their names and lengths."""
    if form == "json":
        return _json_columns(parsed(body))
    import pyarrow as pa

    table = _table(body)
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            raise WireError(f"column {name} is of type {column.type}, and scores are numbers")
        found[name] = np.array(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    return found


def _json_columns(told: Any) -> dict[str, Column]:
    if not isinstance(told, dict):
        raise WireError("the body of scores is an object of columns")
    for name, values in told.items():
        if not isinstance(values, list):
            raise WireError(f"column {name:.80} is no list")
        wrong = next((value for value in values if value is not None and type(value) not in (int, float)), None)
        if wrong is not None:
            raise WireError(f"column {name:.80} holds {wrong!r:.80}, which is no number")
    try:
        return {name: np.array([math.nan if value is None else value for value in values], dtype=np.float64)
                for name, values in told.items()}
    except OverflowError as error:  # a whole number of a thousand digits
        raise WireError(f"a score is out of range: {error}") from error


def _number(value: float) -> float | None:
    if math.isinf(value):
        raise WireError("an infinite score")
    return None if math.isnan(value) else float(value)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON; a missing score is null")


def _record(item: Item) -> dict[str, Any]:
    return {
        "id": _text(item.id),
        "context": [_turn(turn) for turn in item.context],
        "response": item.response and _turn(item.response),
        "references": [{"text": _text(reference.text), "weight": reference.weight} for reference in item.references],
        "facts": [_text(fact) for fact in item.facts],
        "system": item.system and _text(item.system),
    }


def _turn(turn: Utterance) -> dict[str, str]:
    return {"speaker": _text(turn.speaker), "text": _text(turn.text)}


def _text(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which neither Arrow nor most readers of JSON take."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _item(record: Mapping[str, Any]) -> Item:
    response = record["response"]
    return Item(
        record["id"], tuple(Utterance(turn["speaker"], turn["text"]) for turn in record["context"]),
        None if response is None else Utterance(response["speaker"], response["text"]),
        tuple(Reference(one["text"], one["weight"]) for one in record["references"]),
        tuple(record["facts"]), record["system"])


def _schema() -> pa.Schema:
    import pyarrow as pa

    turn = pa.struct([("speaker", pa.string()), ("text", pa.string())])
    reference = pa.struct([("text", pa.string()), ("weight", pa.float64())])
    return pa.schema([("id", pa.string()), ("context", pa.list_(turn)), ("response", turn),
                      ("references", pa.list_(reference)), ("facts", pa.list_(pa.string())), ("system", pa.string())])


def _arrow(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _table(body: bytes) -> pa.Table:
    import pyarrow as pa

    try:
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise WireError(f"{body[:40]!r} does not read as Arrow ({error})") from error
    return table
