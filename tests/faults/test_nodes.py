"""A node of a Ray cluster, or an actor, is lost while it scores; both nodes are on this machine."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.scoring import cluster as module
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, ended, flags, left_behind, metric, report, scored, start, until

pytestmark = pytest.mark.faults

NAMES = ("persona-zhao", "dstc10-persona", "esl")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster whose first node has no room for workers."""
    utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in module._QUIET.items():
            patch.setenv(name, value)
        nodes = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        yield nodes
        nodes.shutdown()
        gc.collect()


def node_of(nodes: list[Any], process: int) -> int:
    """Return the index of the node whose raylet started a process."""
    parent = psutil.Process(process).ppid()
    return next(index for index, node in enumerate(nodes)
                if parent in [raylet.process.pid for raylet in node.all_processes["raylet"]])


@pytest.mark.parametrize("lost", ["node", "actor"])
def test_a_lost_worker_costs_only_its_part(lost: str, cluster: Any, tmp_path: Path, undisturbed: Reports) -> None:
    """The metric records its process, and waits on one dataset until a file is removed."""
    does = ("Path(__file__).with_name(f'at-{items[0].id[:3]}-{os.getpid()}').touch()\n"
            "while items[0].id.startswith('persona-zhao') and Path(__file__).with_name('stay').exists():\n"
            "    time.sleep(0.02)")
    (tmp_path / "stay").touch()
    argv = [*flags("--metric", ("length", metric(tmp_path, "marking", does))), *flags("--dataset", NAMES)]
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=module.OBJECT_STORE_BYTES) for _ in range(2)]
    out = tmp_path / "out"
    with start(*argv, *QUICK, "--executor", "ray:2", "--address", cluster.address, "--out", str(out)) as run:
        until(lambda: list(tmp_path.glob("at-per-*")) or run.poll() is not None, "a worker scores", 120)
        worker = int(next(tmp_path.glob("at-per-*")).name.rpartition("-")[2])
        if lost == "node":
            cluster.remove_node(nodes.pop(node_of(nodes, worker)), allow_graceful=False)
        else:
            os.kill(worker, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{worker}").exists(), "the worker is gone")  # a worker outlives its node briefly
        (tmp_path / "stay").unlink()
        ended(run)
    assert report(out) == undisturbed(*argv)
    assert set(scored(out).values()) == {1}
    assert left_behind(out) == []
    for node in nodes:
        cluster.remove_node(node)
