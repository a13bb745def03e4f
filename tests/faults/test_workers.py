"""Worker processes: the bytes of one process, and what a dead one printed."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.scoring.executors.tasks import Began, Ended, Event, Lost, Task
from harness.scoring.executors.workers import Processes
from tests.faults.conftest import Whole
from tests.faults.runs import QUICK, metric, report, setup, words

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
