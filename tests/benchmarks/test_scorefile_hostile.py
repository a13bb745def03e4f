"""Files that were made to do harm: each is refused with its reason, and nothing but it is touched."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.formats.scorefile import FORMS, Expected, ScoreFile, pages, read, told
from benchmarks.formats.scorefile.content import content
from benchmarks.formats.scorefile.problems import Unreadable, shown

IDS = tuple(f"toy_{number}" for number in range(50))
WANTED = Expected({"toy": IDS}, {"toy": ("overall",)})
GOOD = "dialogue_id,score\n" + "".join(f"{name},{place / 2}\n" for place, name in enumerate(IDS))
STORM = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def refused(path: Path) -> str:
    """Why a file cannot be read."""
    (problem,) = read(path, WANTED).problems
    assert problem.kind == "unreadable"
    return problem.text


def packed(table: dict[str, Any], **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(table), sink, **options)
    return sink.getvalue()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text(GOOD)
    (tmp_path / "mine.csv").symlink_to(tmp_path / "real.csv")
    assert "is a link" in refused(tmp_path / "mine.csv")


def test_a_link_that_takes_the_place_of_a_file_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real.csv").write_text(GOOD)
    (tmp_path / "mine.csv").symlink_to(tmp_path / "real.csv")
    monkeypatch.setattr(Path, "lstat", Path.stat)  # as if it had been a file when it was looked at
    assert "cannot be opened" in refused(tmp_path / "mine.csv")


def test_a_pipe_a_folder_and_a_device_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    assert "is a link, a folder, a pipe or a device" in refused(tmp_path / "pipe.csv")
    assert "is a link, a folder, a pipe or a device" in refused(tmp_path / "folder.csv")
    with pytest.raises(Unreadable, match="a pipe or a device"):
        content(Path("/dev/zero"))


def test_what_is_not_there_or_has_no_name_is_told(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.csv") == "cannot be opened: No such file or directory"
    assert "cannot be opened" in refused(Path("a\0.csv"))
    assert "cannot be opened" in refused(tmp_path / ("x" * 300 + ".csv"))


def test_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    with path.open("wb") as stream:
        stream.truncate(1 << 30)
    assert refused(path) == "has 1,073,741,824 bytes; at most 268,435,456 are read"


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(GOOD)
    real, seen = os.fstat, []

    def fstat(handle: int) -> os.stat_result:
        seen.append(real(handle))
        if len(seen) == 1 and stat.S_ISREG(seen[0].st_mode):
            path.write_text(GOOD + "toy_0,5\n")
        return seen[-1]

    monkeypatch.setattr(os, "fstat", fstat)
    assert refused(path) == "was changed while it was read"


@pytest.mark.parametrize(("name", "what"), [
    ("a.pkl", "a pickle"), ("a.pickle", "a pickle"), ("a.npy", "an array of numpy"), ("a.npz", "an array of numpy"),
    ("a.pt", "a pickle of torch"), ("a.csv.gz", "compressed"), ("a.xlsx", "a spreadsheet"),
    ("a.exe", "none of the known endings"), ("csv", "none of the known endings"),
])
def test_other_forms_are_never_opened(name: str, what: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x80\x04\x95")
    assert what in refused(tmp_path / name)


@pytest.mark.parametrize("ending", FORMS)
def test_a_pickle_by_another_name_is_not_loaded(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine{ending}"
    path.write_bytes(b"\x80\x04\x8c\x08builtins\x8c\x05print\x93\x8c\x06loaded\x85R.")
    assert refused(path)


@pytest.mark.parametrize(("columns", "options", "why"), [
    ({"dialogue_id": ["a" * (40 << 20)], "score": [1.0]}, {"compression": "zstd"}, "grows to more than 33,554,432"),
    ({"dialogue_id": pa.nulls(5_000_000, pa.string()), "score": pa.nulls(5_000_000, pa.float64())}, {},
     "more than 1,400 rows"),
    ({"dialogue_id": ["a" * 100_000] * 50, "score": [1.0] * 50}, {}, "holds a text of 100,000 bytes"),
    ({"dialogue_id": list(IDS), "score": ["1" * 100_000] * 50}, {}, "holds a text of 100,000 bytes"),
    ({"dialogue_id": list(IDS), "score": [1.0] * 50},
     {"use_dictionary": False, "column_encoding": {"dialogue_id": "DELTA_BYTE_ARRAY"}}, "DELTA_BYTE_ARRAY"),
    ({"dialogue_id": list(IDS), "score": [[1.0]] * 50}, {}, "its column score is nested"),
    ({"dialogue_id": [{"a": "toy_0"}] * 50, "score": [1.0] * 50}, {}, "its column dialogue_id is nested"),
    ({"dialogue_id": list(range(50)), "score": [1.0] * 50}, {}, "its ids are of type int64"),
    ({"dialogue_id": list(IDS), "score": [True] * 50}, {}, "its scores are of type bool"),
    ({"dialogue_id": [None, *IDS[1:]], "score": [1.0] * 50}, {}, "has no id"),
    ({f"column {number}": [1] for number in range(2_000)}, {}, "has 2,001 columns"),
    ({"dialogue_id": list(IDS)}, {}, "has no column score"),
], ids=["grows", "rows", "long ids", "long scores", "delta", "nested score", "nested id", "numbers as ids", "truths",
        "no id", "wide", "no score"])
def test_parquet_that_would_grow_or_is_no_table_of_scores(
    columns: dict[str, Any], options: dict[str, Any], why: str, tmp_path: Path,
) -> None:
    path = tmp_path / "mine.parquet"
    path.write_bytes(packed(columns, **options))
    assert why in refused(path)


def test_a_page_that_claims_two_gigabytes_is_not_believed(tmp_path: Path) -> None:
    """The head of the first page begins behind the mark: its type, then its size decompressed."""
    found = packed({"dialogue_id": list(IDS), "score": [1.0] * 50}, store_schema=False)
    assert found[4:7] == b"\x15\x04\x15", "type 2, a dictionary; then the size"
    place = 7
    while found[place] & 0x80:
        place += 1
    with pytest.raises(Unreadable, match="grows to more than"):
        pages.check_pages(found[:7] + b"\xfe\xff\xff\xff\x0f" + found[place + 1 :], [(4, 60)])


def test_parquet_without_a_row_has_no_score(tmp_path: Path) -> None:
    path = tmp_path / "mine.parquet"
    path.write_bytes(packed({"dialogue_id": pa.array([], pa.string()), "score": pa.array([], pa.float64())}))
    assert [one.text for one in read(path, WANTED).fatal] == ["the file has no score"]


PARQUET = [packed({"dialogue_id": list(IDS), "score": np.arange(50.0), "x": [["a"]] * 50}, store_schema=False, **more)
           for more in ({}, {"use_dictionary": False, "compression": "none"}, {"data_page_version": "2.0"})]
"""Small files whose every byte matters."""


def taken(found: ScoreFile) -> None:
    """What holds of any file: what is told is plain, and what is scored is a number or missing."""
    assert all(line.isascii() and line.isprintable() for line in told(found.problems, found.unit))
    assert not any(np.isinf(values).any() for values in found.scores.values())
    assert found.problems or all(np.isfinite(values).all() for values in found.scores.values())


@STORM
@given(which=st.sampled_from(PARQUET), changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=4),
       cut=st.integers(0, 3000))
def test_damaged_parquet_is_never_an_exception(
    which: bytes, changes: list[tuple[int, int]], cut: int, tmp_path: Path,
) -> None:
    damaged = bytearray(which)
    for place, value in changes:
        damaged[place % len(damaged)] = value
    path = tmp_path / "mine.parquet"
    path.write_bytes(damaged[:cut] if cut < len(damaged) // 8 else damaged)
    taken(read(path, WANTED))


TELLING = (*IDS[:3], "toy_0|overall", "1", "1e400", "nan", '"', ",", "\n", "\r", "=1")
CELL = st.sampled_from(TELLING) | st.text(max_size=8)


@STORM
@given(cells=st.lists(CELL, max_size=12), ending=st.sampled_from([one for one in FORMS if one != ".parquet"]),
       header=st.booleans())
def test_no_text_is_ever_an_exception(cells: list[str], ending: str, header: bool, tmp_path: Path) -> None:
    path = tmp_path / f"mine{ending}"
    lines = "\n".join(",".join(cells[place : place + 2]) for place in range(0, len(cells), 2))
    path.write_bytes((("dialogue_id,score\n" if header else "") + lines).encode(errors="surrogatepass"))
    taken(read(path, WANTED))


VALUE = st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | CELL,
                     lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CELL, inner, max_size=3), max_leaves=6)


@STORM
@given(records=st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(("dialogue_id", "score", "x"), VALUE)),
                        max_size=5),
       ending=st.sampled_from([".jsonl", ".json"]))
def test_no_json_is_ever_an_exception(records: list[dict[str, Any]], ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine{ending}"
    path.write_text(json.dumps(records) if ending == ".json" else "".join(json.dumps(one) + "\n" for one in records))
    taken(read(path, WANTED))


@given(st.text())
def test_what_is_shown_is_plain(text: str) -> None:
    found = shown(text)
    assert found.isascii()
    assert found.isprintable()
    assert len(found) <= 12 * 80
