"""What needs no cluster: an actor in this process, why an actor has died, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.errors import BadConfig, StoreError
from harness.run.plan import Selection
from harness.scoring import executors
from harness.scoring.executors import ray as place
from harness.scoring.executors.ray import Actor, Cluster
from harness.scoring.executors.tasks import Ended, Setup, Task
from metrics.models.device import Machine
from metrics.models.service import Choice, Models
from tests.harness.scoring.executors.conftest import setup

TASK = Task("esl", (0, 10), ("length",))


def test_an_actor_names_what_is_wrong_on_its_node(tmp_path: Path, home: Path) -> None:
    actor = Actor(setup(home, tmp_path, "length"))
    assert isinstance(actor.ready(), place.ActorPlace)
    assert actor.score(TASK, "length") == Ended("length")
    actor.close()
    (tmp_path / "none").touch()
    full = Actor(setup(home, tmp_path / "none" / "scores", "length"))
    full.ready()
    event = full.score(TASK, "length")
    assert isinstance(event, StoreError)
    assert str(event).startswith("node ")


def test_why_an_actor_is_no_more() -> None:
    for said, cause in (
        (("The actor died unexpectedly.\n\tpid: 1\nThe actor is dead because its worker process has died. Worker exit "
          "type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. Worker exits with an exit code 3."),
         "its worker process has died (Worker exits unexpectedly)"),
        ("The actor died because its node has died. Node Id: 0f", "its node has died"),
        ("memory on the node was low\nthe process that held most was killed",
         "RuntimeError: the process that held most was killed"),
    ):
        assert place._cause(RuntimeError(said)) == cause


def test_what_an_actor_printed_elsewhere_is_named(tmp_path: Path) -> None:
    elsewhere = place.ActorPlace("node-7", (str(tmp_path / "a.out"), str(tmp_path / "a.err")))
    assert place._printed(elsewhere) == f"what it printed is on node node-7: {tmp_path}/a.out {tmp_path}/a.err"


def test_without_ray_its_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadConfig, match=r"pip install 'dialogue-harness\[ray\]'"):
        Cluster(setup(tmp_path, tmp_path))


def test_a_gpu_is_shared_by_who_says_so_and_precision_is_the_same_everywhere(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = Models(tmp_path, Choice())
    models.machine = Machine(("cuda:0",), "bf16")
    made: list[tuple[Setup, float]] = []
    monkeypatch.setattr(place, "Cluster", lambda setup, address, jobs, gpus: made.append((setup, gpus)))
    own = Setup(Selection(), tmp_path, str(tmp_path), Choice())
    with pytest.raises(BadConfig, match="say what a worker has, --gpus 1"):
        executors.open_executor("ray", own, models)
    executors.open_executor("ray", own, models, gpus=0.25)
    ((cluster_setup, gpus),) = made
    assert (cluster_setup.choice.precision, gpus) == ("bf16", 0.25)
