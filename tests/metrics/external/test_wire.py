"""What goes over the pipe comes back as it was; what is no message is refused, and nothing else happens."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest

from benchmarks.dataset import Item, Reference, Utterance
from metrics.external.isolation.wire import (
    HEAD,
    Message,
    WireError,
    columns_body,
    columns_of,
    decoded,
    items_body,
    items_of,
    missing,
)

ITEMS = (
    Item("a", (Utterance("user", "hello\n\0 ü 你好"), Utterance("system", "")), Utterance("system", "hi")),
    Item("b", (), None, (Reference("yes", 0.1), Reference("no", -1.0)), ("a fact",), "bot"),
    Item("c", (), Utterance("", "")),
)


def test_items_come_back_as_they_were() -> None:
    assert items_of(items_body(ITEMS)) == ITEMS
    assert items_of(items_body(())) == ()
    (read,) = items_of(items_body([Item("a", (Utterance("user", "x\ud800y \U0001f600"),), None)]))
    assert read.context[0].text == "x\ufffdy \U0001f600"


def test_columns_come_back_to_the_last_bit() -> None:
    columns = {"x": np.array([0.1, math.nan, -1e-300, 1 / 3]), "y@z": np.array([1.0, 2.0, 3.0, 4.0])}
    read = columns_of(columns_body(columns))
    assert list(read) == ["x", "y@z"]
    assert all(np.array_equal(read[name], columns[name], equal_nan=True) for name in columns)
    with pytest.raises(WireError, match="column x holds an infinite score"):
        columns_body({"x": np.array([math.inf])})


def test_a_message_arrives_in_pieces() -> None:
    content = Message({"id": 1}, b"body").encoded()
    assert all(missing(content[:length]) > 0 for length in range(len(content)))
    assert (missing(content), missing(content + b".")) == (0, -1)
    assert decoded(content) == Message({"id": 1}, b"body")


def test_a_length_that_cannot_be_is_refused_on_both_sides() -> None:
    for head, body in ((HEAD + 1, 0), (2, 1 << 60), (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)):
        with pytest.raises(WireError, match=f"cannot be {head} and {body} bytes long"):
            missing(struct.pack(">IQ", head, body))
    with pytest.raises(WireError, match="longer than"):
        Message({"options": "x" * HEAD}).encoded()


def test_json_that_holds_no_scores() -> None:
    for body, message in (
        (b'{"x": [NaN]}', "NaN is no JSON"), (b'{"x": [-Infinity]}', "-Infinity is no JSON"),
        (b'{"x": [true]}', "column x holds True, which is no number"), (b'{"x": [[1]]}', "which is no number"),
        (b'{"x": "12"}', "column x is no list"), (b"[]", "an object of columns"), (b"", "cannot be read as JSON"),
        (b"\xff", "cannot be read as JSON"), (b'{"x": [1' + b"0" * 400 + b"]}", "out of range"),
        (b"[" * 100_000, "cannot be read as JSON"),
    ):
        with pytest.raises(WireError, match=message):
            columns_of(body)


def test_records_that_are_no_items() -> None:
    for records in ([{}], [1], {"a": 1}, [{"id": "a", "context": [1]}], 7):
        with pytest.raises(WireError):
            items_of(json.dumps(records).encode())
