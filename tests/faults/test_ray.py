"""Ray: the bytes of one process; tasks go to the actors there are; what cannot work says why. All on this machine."""

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.errors import StoreError
from harness.scoring.executors import ray as place
from harness.scoring.executors.ray import Actor, Cluster
from harness.scoring.executors.tasks import Began, Ended, Lost, Setup, Task
from tests.faults.conftest import Whole
from tests.faults.runs import QUICK, metric, report, setup
from tests.faults.test_workers import DIES_ONCE, SAME, until_ended

# Ray leaves its files to be closed by the collector
pytestmark = [pytest.mark.faults, pytest.mark.filterwarnings("ignore::ResourceWarning",
                                                             "ignore::pytest.PytestUnraisableExceptionWarning")]

TASK = Task("esl", (0, 10), ("length",))


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A cluster of two processors and a GPU that nothing touches, for all tests of this file."""
    package = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place._QUIET.items():
            patch.setenv(name, value)
        package.init("local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False,
                     logging_level="ERROR", object_store_memory=place.OBJECTS)
        yield package
        package.shutdown()
        gc.collect()


@pytest.mark.usefixtures("ray")
def test_the_report_is_that_of_one_process(tmp_path: Path, undisturbed: Whole) -> None:
    assert main(["run", *SAME, *QUICK, "--executor", "ray:2", "--out", str(tmp_path)]) == 0
    assert report(tmp_path) == undisturbed(*SAME)


@pytest.mark.usefixtures("ray")
def test_a_killed_actor_is_lost_with_its_last_words_and_replaced(tmp_path: Path, home: Path) -> None:
    toy = metric(tmp_path, "dying", DIES_ONCE)
    cluster = Cluster(setup(home, tmp_path / "scores", toy), jobs=1)
    task = Task("esl", (0, 10), (toy, "length"))
    try:
        cluster.send(0, task)
        began, (_, lost) = until_ended(cluster, 1)
        assert began == (0, Began(toy))
        assert isinstance(lost, Lost)
        assert lost.reason.startswith("its worker process has died")
        assert "a word on stdout" in lost.log
        assert "a word on stderr" in lost.log
        cluster.send(0, task)
        said = [event for _, event in until_ended(cluster, 2)]
        assert [type(event) for event in said] == [Began, Ended, Began, Ended]
        assert said[2] == Began("length")
    finally:
        cluster.close()
    assert len(list((tmp_path / "scores").rglob("*.shard"))) == 2


@pytest.mark.usefixtures("ray")
def test_tasks_that_wait_for_room_go_to_the_actors_there_are(tmp_path: Path, home: Path) -> None:
    cluster = Cluster(setup(home, tmp_path, "length"), jobs=4)
    try:
        for worker in range(4):
            cluster.send(worker, Task("esl", (worker, worker + 1), ("length",)))
        said = list(until_ended(cluster, 4))
    finally:
        cluster.close()
    assert {worker for worker, event in said if isinstance(event, Ended)} == set(range(4))
    assert len(list(tmp_path.rglob("*.shard"))) == 4


@pytest.mark.usefixtures("ray")
def test_a_stopped_worker_is_replaced_and_nothing_of_it_is_heard(tmp_path: Path, home: Path) -> None:
    cluster = Cluster(setup(home, tmp_path, "length"), jobs=1)
    try:
        cluster.send(0, Task("esl", (0, 10), ("length", "bleu")))
        assert next(iter(cluster.events(30)), None) is None, "an actor that is coming has not begun"
        assert [type(event) for _, event in cluster.events(30)] == [Began, Ended, Began]
        cluster.kill(0)
        assert list(cluster.events(0)) == []
        cluster.send(0, Task("esl", (10, 20), ("length",)))
        assert [type(event) for _, event in until_ended(cluster, 1)] == [Began, Ended]
    finally:
        cluster.close()


@pytest.mark.usefixtures("ray")
def test_each_worker_has_its_share_of_a_gpu(tmp_path: Path, home: Path) -> None:
    cluster = Cluster(setup(home, tmp_path, "length"), gpus=0.25)
    try:
        assert cluster.workers == 2, "there are two processors, though the GPU has room for four"
        assert cluster._setup.choice.device == "cuda"
        cluster.send(0, TASK)
        assert "device cuda: " in until_full(cluster), "the GPU is none, and the node says so"
    finally:
        cluster.close()


def until_full(cluster: Cluster) -> str:
    """Why a run cannot go on."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for _, event in cluster.events(0.1):
            if isinstance(event, StoreError):
                return str(event)
    raise TimeoutError("nobody said that the run cannot go on")


@pytest.mark.usefixtures("ray")
def test_a_run_ends_where_no_worker_will_ever_start(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
                                                    ) -> None:
    class Broken(Actor):
        def __init__(self, setup: Setup) -> None:
            raise ImportError("no module named harness")

    with monkeypatch.context() as patch:
        patch.setattr(place, "PATIENCE", 0.2)
        cluster = Cluster(setup(home, tmp_path, "length"), jobs=1, gpus=8)
        cluster.send(0, TASK)
        time.sleep(0.3)
        assert until_full(cluster).startswith(
            "no node of the Ray cluster had room for a worker of 1 CPU and 8 GPUs in 0.2 s")
        cluster.close()
    monkeypatch.setattr(place, "Actor", Broken)
    cluster = Cluster(setup(home, tmp_path, "length"), jobs=1)
    cluster.send(0, TASK)
    assert until_full(cluster) == "no worker starts on the Ray cluster: ImportError: no module named harness"
    cluster.close()


def test_a_cluster_that_is_not_there_is_named_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest.importorskip("ray"), "is_initialized", lambda: False)
    for address, message in (("127.0.0.1:9", "no Ray cluster answers there ([Errno "),
                             ("nowhere://x", "no Ray cluster answers there")):
        assert main(["run", "--metric", "length", "--executor", "ray", "--address", address,
                     "--out", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"harness: --address {address}: {message}")
        assert error.count("\n") == 1
