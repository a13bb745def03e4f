"""Ray: the same report as from one process, errors of the cluster, and Ctrl-C, also for one process."""

import dataclasses
import functools
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import BadConfig, StoreError
from harness.run import prepare as module
from harness.run.plan import load_named
from harness.run.prepare import prepare
from harness.run.settings import Settings
from harness.scoring import cluster
from harness.scoring.cluster import Cluster, Setup, Worker
from harness.scoring.pairs import Pair, signed
from harness.scoring.parts import Part
from harness.scoring.progress import RunProgress
from metrics import registry
from metrics.models.service import Choice, Models
from tests.conftest import Invoke
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, ended, flags, metric, report, start, until

pytestmark = pytest.mark.faults

RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


def setup(home: Path, store: Path) -> Setup:
    load = functools.partial(load_named, home=home, settings=Settings(metric=("length",), dataset=("esl",)))
    return Setup(load, home, str(store), Choice(device="cpu"), 0)


class Broken(Worker):
    """A worker on a node that lacks the package."""

    def __init__(self, setup: Setup) -> None:
        raise ImportError("no module named harness")


@RAY
def test_the_report_equals_that_of_one_process(tmp_path: Path, undisturbed: Reports) -> None:
    argv = [*flags("--metric", ("length", "bleu", "distinct")), *flags("--dataset", ("persona-usr", "fed-dial")),
            "--limit", "40"]
    store = tmp_path / "elsewhere"
    assert main(["run", *argv, *QUICK, "--executor", "ray:2", "--store", f"file://{store}",
                 "--out", str(tmp_path / "out")]) == 0
    assert report(tmp_path / "out") == undisturbed(*argv)
    assert len(list(store.rglob("*.parquet"))) == 5, "one of the two has no references for BLEU"


def file_as_folder(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "scores"


@RAY
@pytest.mark.parametrize(("worker", "store", "gpus", "reason"), [
    (Worker, Path, 8.0, "8 GPUs"), (Worker, file_as_folder, 0.0, "node "),
    (Broken, Path, 0.0, "ImportError: no module named harness"),
], ids=["no room", "no store", "no package"])
def test_a_run_ends_where_no_worker_can_score(
        worker: type[Worker], store: Callable[[Path], Path], gpus: float, reason: str, tmp_path: Path, home: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    for name, value in cluster._QUIET.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cluster, "Worker", worker)
    monkeypatch.setattr(cluster, "START_TIMEOUT", 0.2 if gpus else 60.0)
    ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        executor = Cluster(setup(home, store(tmp_path)), workers=1, gpus=gpus)
        pair = Pair("esl", "f" * 64, ("a",), registry.choose("length"), "length|r1")
        with pytest.raises(StoreError, match=reason):
            list(executor.score([Part(pair, (0, 1))], lambda: False, RunProgress()))
        executor.close()
    finally:
        ray.shutdown()


def test_a_removed_dataset_ends_the_run(tmp_path: Path, home: Path) -> None:
    worker = Worker(dataclasses.replace(setup(home, tmp_path), load=lambda name: None))
    assert isinstance(worker.score("esl", "length", "length|r1", (0, 1))[1], StoreError)


def test_a_node_with_another_metric_ends_the_run(tmp_path: Path, home: Path) -> None:
    worker = Worker(setup(home, tmp_path))
    key = signed(registry.choose("length").metric, Models(home))
    assert worker.score("esl", "length", key, (0, 1))[1] is None
    assert isinstance(worker.score("esl", "length", f"{key}|of=another", (0, 1))[1], StoreError)


def test_ray_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadConfig, match=r"\[ray\]"):
        Cluster(setup(tmp_path, tmp_path))


def test_meaningless_flags_are_refused(tmp_path: Path, invoke: Invoke) -> None:
    for line in ("--timeout -1", "--timeout nan", "--timeout 3", "--memory 1GiB", "--memory much --executor ray",
                 "--memory 400 --executor ray", "--address 10.0.0.1:6379", "--gpus -1 --executor ray",
                 "--executor slurm", "--executor local:2", "--executor ray:0"):
        argv = line.split()
        assert argv[0] in invoke("run", "--dataset", "esl", "--limit", "20", *argv, "--out", tmp_path / "out",
                                 status=2).err
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("gpus", "precision"), [(0.0, "auto"), (1.0, "fp32")])
def test_workers_use_the_precision_of_the_signature(gpus: float, precision: str, home: Path, tmp_path: Path,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """With `auto`, a model's card may set the precision on a CPU, for signatures as well as for scores."""
    setups = list[Setup]()
    monkeypatch.setattr(module, "Cluster", lambda setup, *_: setups.append(setup))
    _, work = prepare(Settings(dataset=("esl",), metric=("length",), executor="ray", gpus=gpus, device="cpu",
                               out=tmp_path))
    assert work.models.choice.precision == setups[0].choice.precision == precision


@RAY
def test_a_missing_cluster_is_named_in_one_line(tmp_path: Path, invoke: Invoke) -> None:
    for address in ("127.0.0.1:9", "nowhere://x"):
        error = invoke("run", "--metric", "length", "--executor", "ray", "--address", address, "--out", tmp_path,
                       status=2).err
        assert f"--address {address}" in error
        assert error.count("\n") == 1


def scoring(folder: Path, seconds: float, executor: str) -> tuple[subprocess.Popen[str], list[str], Path]:
    """Start a run of three parts that take some seconds each, and wait until the first has written its start file."""
    marks = folder / "marks"
    marks.mkdir()
    does = f"(Path(__file__).with_name('marks') / items[0].id).touch()\ntime.sleep({seconds})"
    argv = ["--metric", metric(folder, "slow", does), "--limit", "10", *QUICK,
            *flags("--dataset", ("esl", "ncm", "humod")), "--out", str(folder / "out")]
    process = start(*argv, "--executor", executor, start_new_session=True)
    until(lambda: list(marks.iterdir()) or process.poll() is not None, "a part is scored", 90)
    return process, argv, marks


@pytest.mark.parametrize(("executor", "most", "number"), [
    ("local", 1, signal.SIGINT), ("local", 1, signal.SIGTERM), pytest.param("ray:2", 2, signal.SIGTERM, marks=RAY)])
def test_the_first_signal_lets_parts_end(executor: str, most: int, number: signal.Signals, tmp_path: Path) -> None:
    process, argv, marks = scoring(tmp_path, 0.5, executor)
    with process:
        process.send_signal(number)
        errors = ended(process, 130)[1]
    assert "Traceback" not in errors
    stored = {path: path.read_bytes() for path in (tmp_path / "out" / "scores").glob("*/*.parquet")}
    assert 1 <= len(stored) <= most
    assert len(stored) == len(list(marks.iterdir())), "the current parts are stored, and no other has begun"
    assert main(["run", *argv]) == 0
    assert {path: path.read_bytes() for path in stored} == stored
    assert len(list(marks.iterdir())) == 3


@pytest.mark.parametrize("executor", ["local", pytest.param("ray:2", marks=RAY)])
def test_the_second_ctrl_c_stops_at_once(executor: str, tmp_path: Path) -> None:
    process, *_ = scoring(tmp_path, 300, executor)
    with process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert "Ctrl-C again" in process.stderr.readline()
        begin = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        errors = ended(process, 130)[1]
    assert time.monotonic() - begin < 15
    assert "Traceback" not in errors
