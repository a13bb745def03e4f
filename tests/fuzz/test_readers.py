"""Each reader accepts or refuses any input; atheris_run.py tests the same for longer.

A valid file is broken in two ways: bytes are changed, cut, doubled or inserted; in JSON, any value replaces another.
"""

import contextlib
import copy
import functools
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore
from tests.fuzz.readers import READERS, FileReader

QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
              st.sampled_from(["toy_0", "NaN", "1e999", "\ud800", "overall", -1, 10**400, ""])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6)
def test_valid_files_are_accepted(tmp_path: Path) -> None:
    for reader in READERS.values():
        assert all(reader(tmp_path, form, content) for form, content in reader.files()), reader.name


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@QUICK
@given(data=st.data())
def test_damaged_files_are_read_or_refused(reader: FileReader, tmp_path: Path, data: st.DataObject) -> None:
    form, content = data.draw(st.sampled_from(list(reader.files())))
    if not data.draw(st.integers(0, 9)):
        content = data.draw(st.binary(max_size=200))
    for _ in range(data.draw(st.integers(1, 4))):
        first, last = sorted(data.draw(st.integers(0, len(content))) for _ in range(2))
        word = data.draw(st.one_of(st.binary(max_size=4), st.sampled_from(reader.words.split()).map(str.encode)))
        middle = data.draw(st.sampled_from([word, b"", content[first:last] * 2, content[first:last] + word]))
        content = content[:first] + middle + content[last:]
    reader(tmp_path, form, content)


def holders(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each value inside a JSON value, as its container and its key."""
    for key in value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from holders(value[key])


@functools.cache
def in_json(name: str) -> list[tuple[str, Any]]:
    """Return the valid files of a reader that are one non-empty JSON value, with their formats."""
    parsed = []
    for form, content in READERS[name].files():
        with contextlib.suppress(ValueError):  # another format
            parsed.append((form, json.loads(content)))
    return [(form, value) for form, value in parsed if value]


@pytest.mark.parametrize("name", ["organisers", "ratings", "bundle", "cache"])
@QUICK
@given(data=st.data())
def test_any_json_is_read_or_refused(name: str, tmp_path: Path, data: st.DataObject) -> None:
    form, whole = data.draw(st.sampled_from(in_json(name)))
    whole = copy.deepcopy(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(list(holders(whole))))
        if data.draw(st.booleans()) or not isinstance(holder, dict):
            holder[key] = data.draw(VALUES)
        else:
            holder[data.draw(st.text(max_size=5))] = holder.pop(key)
    READERS[name](tmp_path, form, json.dumps(whole).encode())


def test_inputs_that_once_crashed_a_reader_are_refused(tmp_path: Path) -> None:
    for form, content in (("cell", b""), ("part", b"PAR1"), ("memo", b"{"), ("memo", b"\xff"), ("answers", b"[]"),
                          ("answers", b'{"finish": ""}'), ("answers", b'{"text": []}\xff')):
        READERS["cache"](tmp_path, form, content)
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), b"{}")
    assert not READERS["bundle"](tmp_path, "zip", sink.getvalue())


def test_parts_of_other_columns_or_items_are_set_aside(tmp_path: Path) -> None:
    good = Scores(("a", "b"), {"x": np.array([0.5, 1.0])}, 1.0)
    for items, column in ((("a", "b"), "z"), (("b", "a"), "x")):
        store = ScoreStore(tmp_path / column)
        store.put_part("f", "toy|r1", (0, 2), good)
        store.put_part("f", "toy|r1", (2, 4), Scores(items, {column: np.array([0.5, 1.0])}, 1.0))
        assert store.join_parts("f", "toy|r1", "abab") is None
        assert store.set_aside
        for span in {(0, 2), (2, 4)} - store.parts("f", "toy|r1").keys():
            store.put_part("f", "toy|r1", span, good)
        assert store.join_parts("f", "toy|r1", "abab")
