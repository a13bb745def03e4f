"""What libFuzzer says of a run, as the table has it; libFuzzer itself is not needed for that."""

from __future__ import annotations

import subprocess

import pytest

from tests.fuzz.atheris_run import Ran, _escaped, main

FIND = "FIND KeyError at harness/scoring/store.py:140: 'x' (out/cache/finds/0e57)"
OVER = "#64\tpulse  corp: 3/9b\nDone 70 runs in 2 second(s)\nstat::number_of_executed_units: 70\n"
DIED = "#512\tNEW    cov: 3\n==7== ERROR: libFuzzer: deadly signal\nTest unit written to out/cache/finds/crash-1\n"


def ended(status: int, out: str, err: str) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], status, out, err)


def test_executions_and_finds_are_counted_over_the_processes() -> None:
    ran = Ran("cache")
    assert ran.take(ended(77, f"{FIND}\n", DIED))
    assert ran.take(ended(0, f"{FIND}\n", OVER))
    assert ran.executions == 512 + 70
    assert list(ran.finds.values()) == ["'x' (out/cache/finds/0e57)",
                                        "status 77: libFuzzer: deadly signal (out/cache/finds/crash-1)"]


def test_a_process_that_does_not_begin_is_told_with_its_words() -> None:
    ran = Ran("cache")
    assert not ran.take(ended(1, "", "ModuleNotFoundError: No module named 'atheris'\n"))
    assert "atheris" in "".join(ran.finds.values())


def test_words_are_written_as_a_dictionary_has_them() -> None:
    assert _escaped('a"\\\né') == "a\\x22\\x5c\\x0a\\xc3\\xa9"


def test_an_unknown_reader_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cash"])
    assert "cash: no reader; there are organisers, scores, ratings, config, cache" in capsys.readouterr().err
