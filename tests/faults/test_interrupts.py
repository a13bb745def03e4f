"""Ctrl-C and SIGTERM: once lets parts end, twice does not wait."""

import importlib.util
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.cli import main
from tests.faults.runs import QUICK, begun, metric, words

RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")

pytestmark = pytest.mark.faults


def scoring(tmp_path: Path, seconds: float, executor: str) -> tuple[subprocess.Popen[str], list[str], Path]:
    """A run of three parts that take so long each, when the first has begun: each leaves a mark when it does."""
    marks = tmp_path / "marks"
    marks.mkdir()
    does = f"(Path(__file__).with_name('marks') / items[0].id).touch()\ntime.sleep({seconds})"
    argv = ["--metric", metric(tmp_path, "slow", does), "--limit", "10", *QUICK,
            *words("--dataset", ("esl", "ncm", "humod")), "--out", str(tmp_path / "out")]
    jobs = ["--jobs", "2"] if executor == "ray" else []
    process = begun(*argv, "--executor", executor, *jobs, start_new_session=True)
    end = time.monotonic() + 90
    while not list(marks.iterdir()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing was begun"
        time.sleep(0.02)
    return process, argv, marks


@pytest.mark.parametrize(("executor", "most", "number"), [
    ("local", 1, signal.SIGINT), ("local:2", 2, signal.SIGINT), ("local:2", 2, signal.SIGTERM),
    pytest.param("ray", 2, signal.SIGINT, marks=RAY),
])
def test_ctrl_c_once_lets_parts_end_and_the_same_command_goes_on(
        executor: str, most: int, number: signal.Signals, tmp_path: Path) -> None:
    process, argv, marks = scoring(tmp_path, 0.5, executor)
    with process:
        if number is signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does it: the workers hear it too
        else:
            process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert re.search(r"stopping: waiting for ([12] parts?|what is being scored) to end", said)
    assert "the same command goes on" in said.splitlines()[-1]
    assert "Traceback" not in said
    kept = list((tmp_path / "out" / "scores").glob("*/slow-*.parquet"))
    assert 1 <= len(kept) <= most
    assert len(kept) == len(list(marks.iterdir())), "what was begun came to its end, and nothing more was begun"
    before = {path: path.read_bytes() for path in kept}
    assert main(["run", *argv]) == 0, "whatever executor"
    assert {path: path.read_bytes() for path in kept} == before
    assert len(list(marks.iterdir())) == 3


@pytest.mark.parametrize("executor", ["local", "local:2", pytest.param("ray", marks=RAY)])
def test_ctrl_c_twice_does_not_wait(executor: str, tmp_path: Path) -> None:
    process, *_ = scoring(tmp_path, 300, executor)
    with process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert "Ctrl-C again does not wait" in process.stderr.readline()
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert time.monotonic() - start < 15
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert list((tmp_path / "out" / "scores" / "locks").iterdir()) == []
