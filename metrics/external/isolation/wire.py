"""The wire between the harness and a metric in a process of its own: docs/protocol.md, which has it for any language.

    message = length of head (4 bytes) + length of body (8 bytes), big-endian + head + body

Head and body are JSON: the head a small object, the body items or columns. A length beyond the limit is refused before
a byte of it is read, and whatever cannot be parsed is a WireError. What a process says of itself is checked field by
field: its card, its options, its environment.
"""

from __future__ import annotations

import dataclasses
import json
import keyword
import math
import struct
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import numpy as np

from benchmarks.dataset import Item
from metrics.column import Column
from metrics.metric import File, MetricCard

PROTOCOL = 1
LENGTHS = struct.Struct(">IQ")
HEAD = 1 << 20
"""The longest head, in bytes."""
BODY = 1 << 30
"""The longest body, in bytes."""

TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "file": File}
"""The types that an option can have; one with `choices` needs none."""

RESERVED = {"card", "score", "depends", "adapter"}
"""What a class of a metric has besides its options."""


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
    text = json.dumps([item.record for item in items], ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()  # U+FFFD for half a surrogate


def items_of(body: bytes) -> tuple[Item, ...]:
    """The items that a question holds."""
    try:
        return tuple(map(Item.of, parsed(body)))
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


@dataclass(frozen=True, slots=True)
class Description:
    """The answer to `describe`; an option is its name, the type of its values and its default."""

    card: MetricCard
    options: tuple[tuple[str, Any, Any], ...]
    environment: tuple[str, ...]


def description(answer: Mapping[str, Any]) -> Description:
    """The description in the head of an answer; WireError where it is none."""
    if answer.get("protocol") != PROTOCOL:
        raise WireError(f"it speaks protocol {answer.get('protocol')!r:.40}, and this is {PROTOCOL}")
    card, listed, hints = answer.get("card"), answer.get("options", []), typing.get_type_hints(MetricCard)
    required = {field.name for field in dataclasses.fields(MetricCard) if field.default is dataclasses.MISSING}
    if not isinstance(card, dict) or not required <= card.keys() <= hints.keys():
        raise WireError(f"a card is an object with {', '.join(sorted(required))}, and of the rest only "
                        f"{', '.join(sorted(hints.keys() - required))}")
    if not isinstance(listed, list):
        raise WireError("options is no list")
    options = tuple(map(_option, listed))
    if len({name for name, _, _ in options}) < len(options):
        raise WireError(f"options of one name: {', '.join(name for name, _, _ in options)}")
    return Description(MetricCard(**{key: _value(f"{key} of its card", hints[key], value)
                                     for key, value in card.items()}), options,
                       _value("environment", tuple[str, ...], answer.get("environment", [])))


def _value(what: str, hint: Any, value: Any) -> Any:
    """A value of JSON as the type that it should have."""
    inner = get_args(hint)[0] if get_origin(hint) is tuple else hint
    known = get_args(inner)
    words = f" of {', '.join(known)}" if known else ""
    if inner is not hint:
        plain = isinstance(value, list) and all(isinstance(word, str) and word.isprintable() and word for word in value)
        if not plain or (known and (not value or not set(value) <= set(known))):
            raise WireError(f"{what} should be a list of words{words}, and is {value!r:.80}")
        return tuple(value)
    if value not in known if known else type(value) is not hint:
        raise WireError(f"{what} is {value!r:.40}{words and ', and should be one'}{words}")
    return value


def _option(entry: Any) -> tuple[str, Any, Any]:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
        raise WireError(f"an option has a name that Python takes too, not {name!r:.40}")
    default, choices = entry.get("default"), entry.get("choices")
    if choices is not None:
        plain = isinstance(choices, list) and all(type(choice) in (int, str) for choice in choices)
        if not plain or default not in choices:
            raise WireError(f"option {name}: choices is a list of words or whole numbers, the default among them")
        return name, Literal[tuple(choices)], default
    kind = TYPES.get(str(entry.get("type")))
    if kind is None:
        raise WireError(f"option {name}: its type is one of {', '.join(TYPES)}, or it has choices")
    value = float(default) if kind is float and type(default) is int else default
    if type(value) is not (str if kind is File else kind):
        raise WireError(f"option {name}: the default {default!r:.40} is not of type {entry['type']}")
    return name, kind, kind(value)
