"""Workers: the bytes of one process, what a dead one printed; Ctrl-C once lets parts end, twice does not wait."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.scoring.executors.tasks import Began, Ended, Event, Lost, Task
from harness.scoring.executors.workers import Processes
from tests.faults.conftest import Whole
from tests.faults.runs import QUICK, begun, metric, report, setup, words

pytestmark = pytest.mark.faults

SAME = [*words("--metric", ("length", "bleu", "distinct")), *words("--dataset", ("persona-usr", "fed-dial")),
        "--limit", "40"]
DIES_ONCE = ("print('a word on stdout')\nprint('a word on stderr', file=sys.stderr)\n"
             "if times('died') < 1:\n    os.kill(os.getpid(), signal.SIGKILL)")


def until_ended(executor: Any, metrics: int) -> Iterator[tuple[int, Event]]:
    """What is said until so many metrics have ended or were lost."""
    ended = 0
    while ended < metrics:
        for worker, event in executor.events(0.5):
            ended += isinstance(event, Ended | Lost)
            yield worker, event


def test_the_report_is_that_of_one_process(tmp_path: Path, undisturbed: Whole) -> None:
    store = tmp_path / "elsewhere"
    assert main(["run", *SAME, *QUICK, "--executor", "local:2", "--store", f"file://{store}",
                 "--out", str(tmp_path / "out")]) == 0
    assert report(tmp_path / "out") == undisturbed(*SAME)
    assert len(list(store.rglob("*.parquet"))) == 5, "BLEU has no references on one of the two"


def test_a_killed_process_is_lost_with_its_last_words_and_replaced(tmp_path: Path, home: Path) -> None:
    toy = metric(tmp_path, "dying", DIES_ONCE)
    executor = Processes(setup(home, tmp_path / "scores", toy), 1)
    task = Task("esl", (0, 10), (toy,))
    try:
        executor.send(0, task)
        began, (_, lost) = until_ended(executor, 1)
        assert began == (0, Began(toy))
        assert isinstance(lost, Lost)
        assert lost.reason == "killed by SIGKILL"
        assert "a word on stdout" in lost.log
        assert "a word on stderr" in lost.log
        executor.send(0, task)
        assert [type(event) for _, event in until_ended(executor, 1)] == [Began, Ended]
        assert executor.memory(0) > 1 << 20
    finally:
        executor.close()
    assert executor.memory(0) == 0
    assert len(list((tmp_path / "scores").rglob("*.shard"))) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_processes_end_with_the_run_that_started_them(tmp_path: Path, home: Path) -> None:
    executor = Processes(setup(home, tmp_path / "scores", "length"), 1)
    executor.send(0, Task("esl", (0, 10), ("length",)))
    assert [type(event) for _, event in until_ended(executor, 1)] == [Began, Ended]
    child = executor._children[0].process.pid
    os.kill(child, signal.SIGINT)  # Ctrl-C reaches all of the terminal's processes, and the scheduler answers it
    executor.send(0, Task("esl", (10, 20), ("length",)))
    assert [type(event) for _, event in until_ended(executor, 1)] == [Began, Ended]
    executor.close()
    assert not Path(f"/proc/{child}").exists()


RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")



def scoring(tmp_path: Path, seconds: float, executor: str) -> tuple[subprocess.Popen[str], list[str], Path]:
    """A run of three parts that take so long each, when the first has begun: each leaves a mark when it does."""
    marks = tmp_path / "marks"
    marks.mkdir()
    does = f"(Path(__file__).with_name('marks') / items[0].id).touch()\ntime.sleep({seconds})"
    argv = ["--metric", metric(tmp_path, "slow", does), "--limit", "10", *QUICK,
            *words("--dataset", ("esl", "ncm", "humod")), "--out", str(tmp_path / "out")]
    process = begun(*argv, "--executor", executor, start_new_session=True)
    end = time.monotonic() + 90
    while not list(marks.iterdir()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing was begun"
        time.sleep(0.02)
    return process, argv, marks


@pytest.mark.parametrize(("executor", "most", "number"), [
    ("local", 1, signal.SIGINT), ("local:2", 2, signal.SIGINT), ("local:2", 2, signal.SIGTERM),
    pytest.param("ray:2", 2, signal.SIGINT, marks=RAY),
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


@pytest.mark.parametrize("executor", ["local", "local:2", pytest.param("ray:2", marks=RAY)])
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
