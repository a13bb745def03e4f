"""Processes that are never started: a device and a share of the cores for each; and a worker without a process."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ScoringFailed, StoreError
from harness.scoring.executors.tasks import Began, Ended, Finished, Setup, Task
from harness.scoring.executors.workers import Processes, Worker, _ending, _threads
from metrics.errors import CannotScore
from metrics.models.service import Choice, Models
from tests.harness.scoring.executors.conftest import setup


class Context:
    """What processes would have been given."""

    def __init__(self) -> None:
        self.setups: list[Setup] = []
        self.threads: list[str | None] = []

    def Pipe(self) -> tuple[Any, Any]:  # as multiprocessing calls it
        """Two ends of nothing."""
        return self, self

    def Process(self, *, target: Any, args: tuple[Any, ...], daemon: bool) -> Any:
        """Remember what it is given."""
        self.setups.append(args[1])
        return self

    def start(self) -> None:
        """Remember how many threads it has."""
        self.threads.append(os.environ.get("OMP_NUM_THREADS"))

    def send(self, task: Task) -> None:
        """Nobody listens."""

    def close(self) -> None:
        """Nothing is open."""


def test_each_process_has_one_device_and_its_share_of_the_cores(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for devices, workers, expected in ((("cuda:0", "cuda:1"), 2, ["cuda:0", "cuda:1"]),
                                       (("cuda:0", "cuda:1"), 4, ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]),
                                       ((), 2, ["cpu", "cpu"])):
        executor = Processes(setup(tmp_path, tmp_path), workers, devices)
        fake = executor._context = Context()  # type: ignore[assignment]
        for worker in range(workers):
            executor.send(worker, Task("esl", (0, 1), ("length",)))
        assert [one.choice.device for one in fake.setups] == expected
        assert fake.threads == [str(8 // workers)] * workers
        assert "OMP_NUM_THREADS" not in os.environ
        for child in executor._children.values():
            child.log.close()


def test_a_worker_scores_metric_after_metric(tmp_path: Path, home: Path) -> None:
    broken, refusing = (tmp_path / f"{name}.py" for name in ("broken", "refusing"))
    for path, error in ((broken, "ValueError('no such word')"), (refusing, "CannotScore('not these')")):
        path.write_text("from metrics.control.length import Length\nfrom metrics.errors import CannotScore\n"
                        "from metrics.metric import MetricCard\n\n\nclass Broken(Length):\n"
                        f"    card = MetricCard('{path.stem}', 'Broken', ('{path.stem}',), 'toy')\n\n"
                        f"    def score(self, items, models):\n        raise {error}\n")
    worker = Worker(setup(home, tmp_path / "scores", "length"), Models(home, Choice(device="cpu")))
    events = list(worker.run(Task("esl", (0, 10), ("length", str(refusing), str(broken)))))
    assert [type(event) for event in events] == [Began, Ended, Began, Ended, Began, Ended, Finished]
    assert events[1] == Ended("length")
    _, refused, failed = (event.error for event in events if isinstance(event, Ended))
    assert (type(refused), str(refused)) == (CannotScore, "not these")
    assert isinstance(failed, ScoringFailed)
    again = pickle.loads(pickle.dumps(failed))  # noqa: S301  (as it comes over the pipe)
    assert str(again) == "ValueError: no such word"
    assert "ValueError: no such word" in again.stack
    (stored,) = worker.store.files.names(worker.dataset.fingerprint[:20] if worker.dataset else "", "*.shard")
    assert ".0000000-0000010-" in stored


def test_a_dataset_that_has_gone_ends_the_run(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from harness.run import plan

    monkeypatch.setattr(plan, "load", lambda *_: None)
    worker = Worker(setup(home, tmp_path, "length"), Models(home, Choice(device="cpu")))
    with pytest.raises(StoreError, match="esl: was here when the run was planned, and is no longer"):
        worker.score(Task("esl", (0, 10), ("length",)), "length")


def test_how_a_process_ended() -> None:
    assert [_ending(code) for code in (None, -9, -99, 3)] == [
        "it closed its pipe", "killed by SIGKILL", "ended with status -99", "ended with status 3"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX names")
def test_threads_that_the_environment_names_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with _threads(2):
        assert (os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("5", "2")
