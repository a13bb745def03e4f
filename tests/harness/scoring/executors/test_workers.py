"""Processes: the bytes of one process, a device for each, and what a dead one printed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.run import plan
from harness.run.plan import Draws, Selection
from harness.run.run import run
from harness.run.workspace import Workers, open_workspace
from harness.scoring.executors.messages import Began, Event, Finished, Lost, Scored, Setup, Task
from harness.scoring.executors.workers import Processes
from harness.scoring.store import ScoreStore
from metrics.models.service import Choice

DYING = """
import os, signal, sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from metrics.metric import MetricCard


@dataclass(frozen=True)
class Dying:
    card: ClassVar[MetricCard] = MetricCard("dying", "Dying", ("dying",), "toy")

    def score(self, items, models):
        print("a word on stdout")
        print("a word on stderr", file=sys.stderr)
        if not Path({flag!r}).exists():
            Path({flag!r}).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {{"dying": [float(len(item.id)) for item in items]}}
"""


def dying(folder: Path) -> str:
    """A metric that kills the process that it is scored in, once."""
    path = folder / "dying.py"
    path.write_text(DYING.format(flag=str(folder / "died")))
    return str(path)


def setup(home: Path, store: Path, *metrics: str) -> Setup:
    return Setup(Selection(metrics=metrics, datasets=("esl",)), home, str(store), Choice(device="cpu"))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "timings.json"}


def until_idle(executor: Any, workers: int) -> Iterator[tuple[int, Event]]:
    """What is said until so many workers have finished or are lost."""
    ended = 0
    while ended < workers:
        for worker, event in executor.events(0.5):
            ended += isinstance(event, Finished | Lost)
            yield worker, event


def reported(planned: plan.Plan, home: Path, out: Path, executor: str) -> dict[str, bytes]:
    """The files of a report, as that executor makes it."""
    from harness.results import files

    files.write(run(planned, open_workspace(planned, home, out, workers=Workers(executor))), out / "report")
    return tree(out / "report")


def test_the_report_is_that_of_one_process(tmp_path: Path, home: Path) -> None:
    planned = plan.make(Selection(metrics=("length", "bleu", "distinct"), datasets=("convai2-grade", "persona-zhao")),
                        Draws(0, 20), examples=2)
    assert reported(planned, home, tmp_path / "two", "local:2") == reported(planned, home, tmp_path / "one", "local")


def test_a_killed_process_is_lost_with_its_last_words_and_replaced(tmp_path: Path, home: Path) -> None:
    asked = dying(tmp_path)
    executor = Processes(setup(home, tmp_path / "scores", asked), 1)
    task = Task("esl", (0, 10), (asked,))
    try:
        executor.send(0, task)
        began, (_, lost) = until_idle(executor, 1)
        assert began == (0, Began(asked))
        assert isinstance(lost, Lost)
        assert lost.reason == "killed by SIGKILL"
        assert "a word on stdout" in lost.log
        assert "a word on stderr" in lost.log
        executor.send(0, task)
        assert [type(event) for _, event in until_idle(executor, 1)] == [Began, Scored, Finished]
        assert executor.memory(0) > 1 << 20
    finally:
        executor.close()
    assert executor.memory(0) == 0
    assert len(list((tmp_path / "scores").rglob("*.shard"))) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_processes_end_with_the_run_that_started_them(tmp_path: Path, home: Path) -> None:
    executor = Processes(setup(home, tmp_path / "scores", "length"), 1)
    executor.send(0, Task("esl", (0, 10), ("length",)))
    assert [type(event) for _, event in until_idle(executor, 1)] == [Began, Scored, Finished]
    child = executor._children[0].process.pid
    os.kill(child, signal.SIGINT)  # Ctrl-C reaches all of the terminal's processes, and is for the crew to answer
    executor.send(0, Task("esl", (10, 20), ("length",)))
    assert [type(event) for _, event in until_idle(executor, 1)] == [Began, Scored, Finished]
    executor.close()
    assert not Path(f"/proc/{child}").exists()


class Context:
    """Processes that are never started, and what they would have been given."""

    def __init__(self) -> None:
        self.given: list[Setup] = []
        self.threads: list[str | None] = []

    def Pipe(self) -> tuple[Any, Any]:  # as multiprocessing calls it
        """Two ends of nothing."""
        return self, self

    def Process(self, *, target: Any, args: tuple[Any, ...], daemon: bool) -> Any:
        """Remember what it is given."""
        self.given.append(args[1])
        return self

    def start(self) -> None:
        """Remember how many threads it has."""
        self.threads.append(os.environ.get("OMP_NUM_THREADS"))

    def send(self, task: Task) -> None:
        """Nobody listens."""

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("devices", "workers", "given"), [
    (("cuda:0", "cuda:1"), 2, ["cuda:0", "cuda:1"]),
    (("cuda:0", "cuda:1", "cuda:2", "cuda:3"), 4, ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]),
    (("cuda:0", "cuda:1"), 4, ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]),
    ((), 2, ["cpu", "cpu"]),
])
def test_each_process_has_one_device_and_its_share_of_the_cores(
    devices: tuple[str, ...], workers: int, given: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    executor = Processes(setup(tmp_path, tmp_path), workers, devices)
    fake = executor._context = Context()  # type: ignore[assignment]
    for worker in range(workers):
        executor.send(worker, Task("esl", (0, 1), ("length",)))
    assert [one.choice.device for one in fake.given] == given
    assert fake.threads == [str(8 // workers)] * workers
    assert "OMP_NUM_THREADS" not in os.environ
    for child in executor._children.values():
        child.log.close()


def test_scores_of_processes_are_in_the_store_of_the_run(tmp_path: Path, home: Path) -> None:
    planned = plan.make(Selection(metrics=("length",), datasets=("esl",), limit=20), Draws(0, 0))
    run(planned, open_workspace(planned, home, tmp_path, workers=Workers("local:1", store=f"file://{tmp_path}/elsewhere")))
    dataset = plan.load(planned.cards[0], home, planned.selection)
    assert dataset is not None
    assert ScoreStore(tmp_path / "elsewhere").get(dataset.fingerprint, "length|r1") is not None
