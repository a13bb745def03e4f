"""Workers without a process or a cluster of their own: what they score, what they are given, which flags make them."""

import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main, parser
from harness.errors import BadConfig, ScoringFailed, StoreError
from harness.run import plan
from harness.run import prepare as command
from harness.run.settings import settings
from harness.scoring import executors
from harness.scoring.executors import ray as place
from harness.scoring.executors.ray import Actor, Cluster
from harness.scoring.executors.scheduler import Limits
from harness.scoring.executors.tasks import Began, Ended, Setup, Task
from harness.scoring.executors.workers import Processes, Worker, _ending, _threads
from metrics.errors import CannotScore
from metrics.models.device import Machine
from metrics.models.service import Choice, Models
from tests.faults.runs import metric, setup

TASK = Task("esl", (0, 10), ("length",))


class Context:
    """What processes would have been given."""

    def __init__(self) -> None:
        self.setups: list[Setup] = []
        self.threads: list[str | None] = []

    def Pipe(self) -> tuple[Any, Any]:  # as multiprocessing calls it
        return self, self

    def Process(self, *, target: Any, args: tuple[Any, ...], daemon: bool) -> Any:
        self.setups.append(args[1])
        return self

    def start(self) -> None:
        self.threads.append(os.environ.get("OMP_NUM_THREADS"))

    def send(self, task: Task) -> None:
        """Nobody listens."""

    def close(self) -> None:
        """Nothing is open."""


def test_each_process_has_one_device_and_its_share_of_the_cores(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for devices, workers, expected in ((("cuda:0", "cuda:1"), 4, ["cuda:0", "cuda:1", "cuda:0", "cuda:1"]),
                                       ((), 2, ["cpu", "cpu"])):
        executor = Processes(setup(tmp_path, tmp_path), workers, devices)
        fake = executor._context = Context()  # type: ignore[assignment]
        for worker in range(workers):
            executor.send(worker, TASK)
        assert [one.choice.device for one in fake.setups] == expected
        assert fake.threads == [str(8 // workers)] * workers
        assert "OMP_NUM_THREADS" not in os.environ
        for child in executor._children.values():
            child.log.close()
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    with _threads(2):
        assert (os.environ["OMP_NUM_THREADS"], os.environ["MKL_NUM_THREADS"]) == ("5", "2")


def test_a_worker_scores_metric_after_metric(tmp_path: Path, home: Path) -> None:
    refusing = metric(tmp_path, "refusing", "from metrics.errors import CannotScore\nraise CannotScore('not these')")
    broken = metric(tmp_path, "broken", "raise ValueError('no such word')")
    worker = Worker(setup(home, tmp_path / "scores", "length"), Models(home, Choice(device="cpu")))
    events = list(worker.run(Task("esl", (0, 10), ("length", refusing, broken))))
    assert [type(event) for event in events] == [Began, Ended, Began, Ended, Began, Ended]
    scored, refused, failed = (event.error for event in events if isinstance(event, Ended))
    assert scored is None
    assert (type(refused), str(refused)) == (CannotScore, "not these")
    assert isinstance(failed, ScoringFailed)
    again = pickle.loads(pickle.dumps(failed))  # noqa: S301  (as it comes over the pipe)
    assert str(again).startswith("ValueError: no such word in line ")
    assert "ValueError: no such word" in again.stack
    (stored,) = worker.store.files.names(worker.dataset.fingerprint[:20] if worker.dataset else "", "*.shard")
    assert ".0000000-0000010-" in stored


def test_a_dataset_that_has_gone_ends_the_run(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "load", lambda *_: None)
    worker = Worker(setup(home, tmp_path, "length"), Models(home, Choice(device="cpu")))
    with pytest.raises(StoreError, match="esl: was here when the run was planned, and is no longer"):
        worker.score(TASK, "length")


def test_why_a_process_or_an_actor_is_no_more(tmp_path: Path) -> None:
    assert [_ending(code) for code in (None, -9, -99, 3)] == [
        "it closed its pipe", "killed by SIGKILL", "ended with status -99", "ended with status 3"]
    for said, cause in (
        (("The actor died unexpectedly.\n\tpid: 1\nThe actor is dead because its worker process has died. Worker exit "
          "type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. Worker exits with an exit code 3."),
         "its worker process has died (Worker exits unexpectedly)"),
        ("The actor died because its node has died. Node Id: 0f", "its node has died"),
        ("memory on the node was low\nthe process that held most was killed",
         "RuntimeError: the process that held most was killed"),
    ):
        assert place._cause(RuntimeError(said)) == cause
    elsewhere = place.ActorPlace("node-7", (str(tmp_path / "a.out"), str(tmp_path / "a.err")))
    assert place._printed(elsewhere) == f"what it printed is on node node-7: {tmp_path}/a.out {tmp_path}/a.err"


def test_an_actor_names_what_is_wrong_on_its_node(tmp_path: Path, home: Path) -> None:
    actor = Actor(setup(home, tmp_path, "length"))
    assert isinstance(actor.ready(), place.ActorPlace)
    assert actor.score(TASK, "length") == Ended("length")
    (tmp_path / "none").touch()
    full = Actor(setup(home, tmp_path / "none" / "scores", "length"))
    full.ready()
    event = full.score(TASK, "length")
    assert isinstance(event, StoreError)
    assert str(event).startswith("node ")


def test_ray_needs_its_extra_and_a_share_of_a_gpu_and_precision_is_the_same_everywhere(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadConfig, match=r"pip install 'dialogue-harness\[ray\]'"):
        Cluster(setup(tmp_path, tmp_path))
    models = Models(tmp_path, Choice())
    models.machine = Machine(("cuda:0",), "bf16")
    made: list[tuple[Setup, float]] = []
    monkeypatch.setattr(place, "Cluster", lambda setup, address, workers, gpus: made.append((setup, gpus)))
    with pytest.raises(BadConfig, match="say what a worker has, --gpus 1"):
        executors.open_executor("ray", setup(tmp_path, tmp_path), models)
    executors.open_executor("ray", setup(tmp_path, tmp_path), models, gpus=0.25)
    ((cluster_setup, gpus),) = made
    assert (cluster_setup.choice.precision, gpus) == ("bf16", 0.25)


def test_a_limit_makes_a_worker_of_its_own() -> None:
    for argv, executor, limits in (
        ((), "local", Limits()), (("--executor", "local:3"), "local:3", Limits()),
        (("--memory", "1.5GiB"), "local:1", Limits(memory=3 << 29)),
        (("--timeout", "2"), "local:1", Limits(seconds=2)),
        (("--timeout", "2", "--executor", "ray:3"), "ray:3", Limits(seconds=2)),
    ):
        workers = command.workers(settings(parser().parse_args(["run", "--all", *argv])))
        assert (workers.executor, workers.limits) == (executor, limits)


def test_flags_that_mean_nothing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, part in (
        (("--timeout", "-1"), "0 or more"),
        (("--timeout", "nan"), "0 or more"), (("--memory", "much"), "4GiB"),
        (("--memory", "1GiB", "--executor", "ray"), "Ray watches"),
        (("--memory", "400"), "with its unit"), (("--address", "10.0.0.1:6379"), "for --executor ray"),
        (("--store", "s3://"), "names no place"), (("--store", "s3:/bucket/scores"), "names no place"),
        (("--executor", "slurm"), "should be local, local:N"), (("--gpus", "-1", "--executor", "ray"), "0 or more"),
    ):
        assert main(["run", "--dataset", "esl", "--limit", "20", *argv, "--out", str(tmp_path / "out")]) == 2, argv
        assert part in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
    assert main(["run", "--dataset", "esl", "--out", "s3://bucket/out"]) == 2
    assert "should be a folder" in capsys.readouterr().err
