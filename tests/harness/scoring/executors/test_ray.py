"""Ray: the bytes of one process; tasks go to the actors there are; what cannot work says why. All on this machine."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cli import main
from harness.errors import BadConfig
from harness.run.plan import Selection
from harness.scoring import executors
from harness.scoring.executors import ray as place
from harness.scoring.executors.messages import Began, Finished, Full, Lost, Scored, Setup, Task
from harness.scoring.executors.ray import Actor, Cluster
from metrics.models.device import Machine
from metrics.models.service import Choice, Models
from tests.harness.scoring.executors.test_workers import dying, setup, tree, until_idle

# Ray leaves its files to be closed by the collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning",
                                        "ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A cluster of two processors and a GPU that nothing touches, for all tests of this file."""
    found = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place._QUIET.items():
            patch.setenv(name, value)
        found.init("local", num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
                   object_store_memory=place.OBJECTS)
        yield found
        found.shutdown()
        gc.collect()


@pytest.mark.usefixtures("ray")
def test_the_report_is_that_of_one_process(tmp_path: Path) -> None:
    argv = ["run", "--metric", "length", "--metric", "bleu", "--dataset", "convai2-grade", "--dataset", "persona-zhao",
            "--draws", "20"]
    assert main([*argv, "--out", str(tmp_path / "local")]) == 0
    assert main([*argv, "--out", str(tmp_path / "ray"), "--executor", "ray", "--jobs", "2"]) == 0
    assert tree(tmp_path / "ray" / "report") == tree(tmp_path / "local" / "report")


@pytest.mark.usefixtures("ray")
def test_a_killed_actor_is_lost_with_its_last_words_and_replaced(tmp_path: Path, home: Path) -> None:
    asked = dying(tmp_path)
    cluster = Cluster(setup(home, tmp_path / "scores", asked), jobs=1)
    task = Task("esl", (0, 10), (asked, "length"))
    try:
        cluster.send(0, task)
        began, (_, lost) = until_idle(cluster, 1)
        assert began == (0, Began(asked))
        assert isinstance(lost, Lost)
        assert lost.reason.startswith("its worker process has died")
        assert "a word on stdout" in lost.log
        assert "a word on stderr" in lost.log
        cluster.send(0, task)
        said = [event for _, event in until_idle(cluster, 1)]
        assert [type(event) for event in said] == [Began, Scored, Began, Scored, Finished]
        assert said[2] == Began("length")
    finally:
        cluster.close()
    assert len(list((tmp_path / "scores").rglob("*.shard"))) == 2


@pytest.mark.usefixtures("ray")
def test_what_waits_for_room_is_done_by_who_is_there(tmp_path: Path, home: Path) -> None:
    cluster = Cluster(setup(home, tmp_path, "length"), jobs=5)
    try:
        for worker in range(5):
            cluster.send(worker, Task("esl", (worker, worker + 1), ("length",)))
        said = list(until_idle(cluster, 5))
    finally:
        cluster.close()
    assert {worker for worker, event in said if isinstance(event, Finished)} == set(range(5))
    assert len(list(tmp_path.rglob("*.shard"))) == 5


@pytest.mark.usefixtures("ray")
def test_a_stopped_worker_is_replaced_and_nothing_of_it_is_heard(tmp_path: Path, home: Path) -> None:
    cluster = Cluster(setup(home, tmp_path, "length"), jobs=1)
    try:
        cluster.send(0, Task("esl", (0, 10), ("length", "bleu")))
        heard = iter(cluster.events(30))
        assert next(heard, None) is None, "an actor that is coming has not begun"
        assert [type(event) for _, event in cluster.events(30)] == [Began, Scored, Began]
        cluster.kill(0)
        assert list(cluster.events(0)) == []
        cluster.send(0, Task("esl", (10, 20), ("length",)))
        assert [type(event) for _, event in until_idle(cluster, 1)] == [Began, Scored, Finished]
    finally:
        cluster.close()


@pytest.mark.usefixtures("ray")
def test_each_worker_has_its_share_of_a_gpu(tmp_path: Path, home: Path) -> None:
    cluster = Cluster(setup(home, tmp_path, "length"), gpus=0.25)
    try:
        assert cluster.workers == 2, "there are two processors, though the GPU has room for four"
        assert cluster._setup.choice.device == "cuda"
        cluster.send(0, Task("esl", (0, 10), ("length",)))
        (_, full), = until_full(cluster)
        assert "device cuda: " in full.reason, "the GPU is none, and the node says so"
    finally:
        cluster.close()
    whole = Cluster(setup(home, tmp_path, "length"), gpus=1)
    assert whole.workers == 1
    whole.close()


@pytest.mark.usefixtures("ray")
def test_a_run_ends_where_no_node_will_ever_have_room(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(place, "PATIENCE", 0.2)
    cluster = Cluster(setup(home, tmp_path, "length"), jobs=1, gpus=8)
    cluster.send(0, Task("esl", (0, 10), ("length",)))
    time.sleep(0.3)
    try:
        (worker, full), = until_full(cluster)
        assert worker == 0
        assert full.reason.startswith("no node of the Ray cluster had room for a worker of 1 CPU and 8 GPUs in 0.2 s")
    finally:
        cluster.close()


def until_full(cluster: Cluster) -> list[tuple[int, Full]]:
    """What is said when a run cannot go on."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        said = [(worker, event) for worker, event in cluster.events(0.1) if isinstance(event, Full)]
        if said:
            return said
    raise TimeoutError("nobody said that the run cannot go on")


@pytest.mark.usefixtures("ray")
def test_an_actor_that_cannot_start_ends_the_run(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(Actor):
        def __init__(self, setup: Setup) -> None:
            raise ImportError("no module named harness")

    monkeypatch.setattr(place, "Actor", Broken)
    cluster = Cluster(setup(home, tmp_path, "length"), jobs=1)
    cluster.send(0, Task("esl", (0, 10), ("length",)))
    try:
        (_, full), = until_full(cluster)
        assert full.reason == "no worker starts on the Ray cluster: ImportError: no module named harness"
    finally:
        cluster.close()


def test_an_actor_tells_what_is_wrong_on_its_node(tmp_path: Path, home: Path) -> None:
    actor = Actor(setup(home, tmp_path, "length"))
    assert isinstance(actor.score(Task("esl", (0, 10), ("length",)), "length"), Full), "it is not ready"
    assert isinstance(actor.ready(), place.ActorPlace)
    assert isinstance(actor.score(Task("esl", (0, 10), ("length",)), "length"), Scored)
    (tmp_path / "none").touch()
    full = Actor(setup(home, tmp_path / "none" / "scores", "length"))
    full.ready()
    event = full.score(Task("esl", (0, 10), ("length",)), "length")
    assert isinstance(event, Full)
    assert event.reason.startswith("node ")


@pytest.mark.parametrize(("said", "cause"), [
    (("The actor died unexpectedly.\n\tpid: 1\nThe actor is dead because its worker process has died. Worker exit "
      "type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. Worker exits with an exit code 3."),
     "its worker process has died (Worker exits unexpectedly)"),
    ("The actor died because its node has died. Node Id: 0f", "its node has died"),
    ("memory on the node was low\nthe process that held most was killed",
     "RuntimeError: the process that held most was killed"),
])
def test_why_an_actor_is_no_more(said: str, cause: str) -> None:
    assert place._cause(RuntimeError(said)) == cause


def test_what_an_actor_printed_elsewhere_is_named(tmp_path: Path) -> None:
    there = place.ActorPlace("node-7", (str(tmp_path / "a.out"), str(tmp_path / "a.err")))
    assert place._printed(there) == f"what it printed is on node node-7: {tmp_path}/a.out {tmp_path}/a.err"


@pytest.mark.parametrize(("argv", "told"), [
    (("--address", "127.0.0.1:9"), "--address 127.0.0.1:9: no Ray cluster answers there ([Errno "),
    (("--address", "nowhere://x"), "--address nowhere://x: no Ray cluster answers there"),
    (("--gpus", "-1"), "--gpus -1: should be 0 or more"),
])
def test_a_cluster_that_is_not_there_is_told_in_one_line(
    argv: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = pytest.importorskip("ray")
    monkeypatch.setattr(found, "is_initialized", lambda: False)
    assert main(["run", "--metric", "length", "--executor", "ray", *argv, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"harness: {told}")
    assert error.count("\n") == 1


def test_without_ray_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadConfig, match=r"pip install 'dialogue-harness\[ray\]'"):
        Cluster(setup(tmp_path, tmp_path))


def test_a_gpu_is_shared_by_who_says_so_and_precision_is_the_same_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    models = Models(tmp_path, Choice())
    models.machine = Machine(("cuda:0",), "bf16")
    given: list[tuple[Setup, float]] = []
    monkeypatch.setattr(place, "Cluster", lambda setup, address, jobs, gpus: given.append((setup, gpus)))
    asked = Setup(Selection(), tmp_path, str(tmp_path), Choice())
    with pytest.raises(BadConfig, match="say what a worker has, --gpus 1"):
        executors.open_executor("ray", asked, models)
    executors.open_executor("ray", asked, models, gpus=0.25)
    (told, gpus), = given
    assert (told.choice.precision, gpus) == ("bf16", 0.25)
