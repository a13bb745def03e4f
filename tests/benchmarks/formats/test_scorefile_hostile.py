"""Score files that were made to do harm: each is refused with its reason, and nothing but it is touched."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.formats.scorefile import FORMS, Expected, ScoreFile, describe, printable, read

IDS = tuple(f"toy_{number}" for number in range(50))
WANTED = Expected({"toy": IDS}, {"toy": ("overall",)})
GOOD = "dialogue_id,score\n" + "".join(f"{name},{number / 2}\n" for number, name in enumerate(IDS))
QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def refused(path: Path) -> str:
    """Why a file cannot be read."""
    (problem,) = read(path, WANTED).problems
    assert problem.kind == "unreadable"
    return problem.text


def test_only_a_plain_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real.csv").write_text(GOOD)
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    for name in ("link", "pipe", "folder"):
        assert "is a link, a folder, a pipe or a device" in refused(tmp_path / f"{name}.csv")
    assert refused(tmp_path / "none.csv") == "cannot be opened: No such file or directory"
    assert "cannot be opened" in refused(Path("a\0.csv"))
    monkeypatch.setattr(Path, "lstat", Path.stat)  # as if the link had been a file when it was looked at
    assert "cannot be opened" in refused(tmp_path / "link.csv")


def test_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    with path.open("wb") as stream:
        stream.truncate(1 << 30)
    assert refused(path) == "has 1,073,741,824 bytes; at most 268,435,456 are read"


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(GOOD)
    real, results = os.fstat, []

    def fstat(handle: int) -> os.stat_result:
        results.append(real(handle))
        if len(results) == 1 and stat.S_ISREG(results[0].st_mode):
            path.write_text(GOOD + "toy_0,5\n")
        return results[-1]

    monkeypatch.setattr(os, "fstat", fstat)
    assert refused(path) == "was changed while it was read"


def test_pickles_and_other_forms_are_never_loaded(tmp_path: Path) -> None:
    for name in ("a.pkl", "a.npz", "a.csv.gz", "a.xlsx", "a.parquet", "csv", *(f"mine{ending}" for ending in FORMS)):
        (tmp_path / name).write_bytes(b"\x80\x04\x8c\x08builtins\x8c\x05print\x93\x8c\x06loaded\x85R.")
        expected = "a pickle by its first bytes" if name.startswith("mine") else "none of the known endings"
        assert expected in refused(tmp_path / name)


def check(file: ScoreFile) -> None:
    """What holds of any file: messages are plain, and a score is a number or missing."""
    assert all(line.isascii() and line.isprintable() for line in describe(file.problems, file.unit))
    assert not any(np.isinf(values).any() for values in file.scores.values())
    assert file.problems or all(np.isfinite(values).all() for values in file.scores.values())


TELLING = (*IDS[:3], "toy_0|overall", "1", "1e400", "nan", '"', ",", "\n", "\r", "=1")
TEXT = st.sampled_from(TELLING) | st.text(max_size=8)


@QUICK
@given(texts=st.lists(TEXT, max_size=12), ending=st.sampled_from(FORMS), header=st.booleans())
def test_no_text_is_ever_an_exception(texts: list[str], ending: str, header: bool, tmp_path: Path) -> None:
    path = tmp_path / f"mine{ending}"
    lines = "\n".join(",".join(texts[place : place + 2]) for place in range(0, len(texts), 2))
    path.write_bytes((("dialogue_id,score\n" if header else "") + lines).encode(errors="surrogatepass"))
    check(read(path, WANTED))


VALUE = st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | TEXT,
                     lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6)


@QUICK
@given(records=st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(("dialogue_id", "score", "x"), VALUE)),
                        max_size=5),
       ending=st.sampled_from([".jsonl", ".json"]))
def test_no_json_is_ever_an_exception(records: list[dict[str, Any]], ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"mine{ending}"
    path.write_text(json.dumps(records) if ending == ".json" else "".join(json.dumps(one) + "\n" for one in records))
    check(read(path, WANTED))


@settings(max_examples=50)
@given(st.text())
def test_printable_text_is_plain(text: str) -> None:
    assert printable(text).isascii()
    assert printable(text).isprintable()
    assert len(printable(text)) <= 12 * 80
