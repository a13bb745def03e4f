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
    Form,
    Message,
    Reader,
    WireError,
    columns_body,
    columns_of,
    items_body,
    items_of,
    parsed,
)

ITEMS = (
    Item("a", (Utterance("user", "hello\n\0 ü 你好"), Utterance("system", "")), Utterance("system", "hi")),
    Item("b", (), None, (Reference("yes", 0.1), Reference("no", -1.0)), ("a fact",), "bot"),
    Item("c", (), Utterance("", "")),
)
FORMS: tuple[Form, ...] = ("arrow", "json")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("items", [(), ITEMS], ids=len)
def test_items_come_back_as_they_were(items: tuple[Item, ...], form: Form) -> None:
    assert items_of(items_body(items, form), form) == items


@pytest.mark.parametrize("form", FORMS)
def test_half_a_surrogate_pair_is_replaced(form: Form) -> None:
    (found,) = items_of(items_body([Item("a", (Utterance("user", "x\ud800y \U0001f600"),), None)], form), form)
    assert found.context[0].text == "x\ufffdy \U0001f600"


@pytest.mark.parametrize("form", FORMS)
def test_columns_come_back_to_the_last_bit(form: Form) -> None:
    columns = {"x": np.array([0.1, math.nan, -1e-300, 1 / 3]), "y@z": np.array([1.0, 2.0, 3.0, 4.0])}
    found = columns_of(columns_body(columns, form), form)
    assert list(found) == ["x", "y@z"]
    assert all(np.array_equal(found[name], columns[name], equal_nan=True) for name in columns)


def test_a_message_arrives_in_pieces() -> None:
    content, reader = Message({"id": 1}, b"body").encoded(), Reader()
    for sign in content:
        assert reader.missing()
        reader.arrived.append(sign)
    assert not reader.missing()
    assert not reader.surplus()
    assert reader.message() == Message({"id": 1}, b"body")
    reader.arrived += b"."
    assert reader.surplus()


@pytest.mark.parametrize(("head", "body"), [(HEAD + 1, 0), (2, 1 << 60), (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)])
def test_a_length_that_cannot_be_is_refused_before_anything_is_awaited(head: int, body: int) -> None:
    with pytest.raises(WireError, match=f"cannot be {head} and {body} bytes long"):
        Reader(bytearray(struct.pack(">IQ", head, body))).missing()


def test_what_is_too_long_is_not_sent() -> None:
    with pytest.raises(WireError, match="longer than"):
        Message({"options": "x" * HEAD}).encoded()


@pytest.mark.parametrize(("body", "told"), [
    (b'{"x": [NaN]}', "NaN is no JSON"),
    (b'{"x": [-Infinity]}', "-Infinity is no JSON"),
    (b'{"x": [true]}', "column x holds True, which is no number"),
    (b'{"x": [[1]]}', "which is no number"),
    (b'{"x": "12"}', "column x is no list"),
    (b"[]", "an object of columns"),
    (b"", "does not read as JSON"),
    (b"\xff", "does not read as JSON"),
    (b'{"x": [1' + b"0" * 400 + b"]}", "out of range"),
    (b"[" * 100_000, "does not read as JSON"),
])
def test_json_that_holds_no_scores(body: bytes, told: str) -> None:
    with pytest.raises(WireError, match=told):
        columns_of(body, "json")


def test_an_infinite_score_is_not_sent_as_json() -> None:
    with pytest.raises(WireError, match="infinite"):
        columns_body({"x": np.array([math.inf])}, "json")


def test_arrow_of_texts_holds_no_scores() -> None:
    with pytest.raises(WireError, match=r"column id is of type string"):
        columns_of(items_body(ITEMS, "arrow"), "arrow")


def test_whole_numbers_and_nulls_of_arrow_are_scores() -> None:
    pa = pytest.importorskip("pyarrow")
    from metrics.external.isolation.wire import _arrow

    found = columns_of(_arrow(pa.table({"x": pa.array([1, None], pa.int32()), "y": pa.array([None, 2.5])})), "arrow")
    assert found["x"][0] == 1
    assert math.isnan(found["x"][1])
    assert math.isnan(found["y"][0])


@pytest.mark.parametrize("records", [[{}], [1], {"a": 1}, [{"id": "a", "context": [1]}], 7])
def test_records_that_are_no_items(records: object) -> None:
    with pytest.raises(WireError):
        items_of(json.dumps(records).encode(), "json")


@pytest.mark.parametrize("form", FORMS)
def test_damaged_bytes_are_refused_or_read_but_raise_nothing_else(form: Form, rng: np.random.Generator) -> None:
    whole = columns_body({"x": np.arange(50.0)}, form)
    for _ in range(300):
        damaged = bytearray(whole[: rng.integers(len(whole) + 1)])
        for place in rng.integers(len(damaged), size=3) if damaged else ():
            damaged[place] = rng.integers(256)
        try:
            found = columns_of(bytes(damaged), form)
        except WireError:
            continue
        assert all(column.dtype == np.float64 for column in found.values())


def test_json_of_heads_is_strict() -> None:
    assert parsed(b'{"id": 1}') == {"id": 1}
    with pytest.raises(WireError):
        parsed(b"{'id': 1}")
