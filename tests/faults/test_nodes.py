"""A node of a Ray cluster that is lost while its worker is at work: two nodes on this machine, one is taken away."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.scoring import cluster as place
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, flags, left_behind, metric, report, scored, start, until

pytestmark = pytest.mark.faults


NAMES = ("persona-zhao", "dstc10-persona", "esl")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster whose first node has no room for workers."""
    utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in place._QUIET.items():
            patch.setenv(name, value)
        found = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            yield found
        finally:
            found.shutdown()
            gc.collect()


def hosts(nodes: list[Any], process: int) -> int:
    """Which of the nodes a process belongs to: the raylet that started it."""
    parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    raylets = [[one.process.pid for one in node.all_processes["raylet"]] for node in nodes]
    return next(place for place, ids in enumerate(raylets) if parent in ids)


@pytest.mark.parametrize("lost", ["node", "actor"])
def test_what_is_lost_costs_what_it_was_at(lost: str, cluster: Any, tmp_path: Path, undisturbed: Reports) -> None:
    """The metric leaves its process's number, and on one dataset stays there until it is let go."""
    does = ("Path(__file__).with_name(f'at-{items[0].id[:3]}-{os.getpid()}').touch()\n"
            "while items[0].id.startswith('persona-zhao') and Path(__file__).with_name('stay').exists():\n"
            "    time.sleep(0.02)")
    (tmp_path / "stay").touch()
    argv = [*flags("--metric", ("length", metric(tmp_path, "marking", does))), *flags("--dataset", NAMES)]
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=place.OBJECTS) for _ in range(2)]
    out = tmp_path / "out"
    with start(*argv, *QUICK, "--executor", "ray:2", "--address", cluster.address,
               "--out", str(out)) as run:
        until(lambda: list(tmp_path.glob("at-per-*")) or run.poll() is not None, "a worker is at it", 120)
        at = int(next(tmp_path.glob("at-per-*")).name.rpartition("-")[2])
        if lost == "node":
            cluster.remove_node(nodes.pop(hosts(nodes, at)), allow_graceful=False)
        else:
            os.kill(at, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{at}").exists(), "the worker is gone")  # it outlives its node for a moment
        (tmp_path / "stay").unlink()
        said = run.communicate(timeout=120)[1]
    assert run.returncode == 0, said
    assert report(out) == undisturbed(*argv)
    assert set(scored(out).values()) == {1}
    assert left_behind(out) == []
    for node in nodes:
        cluster.remove_node(node)
