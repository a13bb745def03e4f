"""Limits, full disks and Ctrl-C, of real runs with real workers."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.cli import main, parser
from harness.commands import run as command
from harness.run import plan
from harness.run.plan import Draws, Selection
from harness.run.run import run as run_plan
from harness.run.settings import settings
from harness.run.workspace import Workers, open_workspace
from harness.scoring.executors.scheduler import Limits

METRIC = """
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from metrics.metric import MetricCard


@dataclass(frozen=True)
class {Name}:
    card: ClassVar[MetricCard] = MetricCard("{name}", "{Name}", ("{name}",), "toy")

    def score(self, items, models):
        {does}
        return {{"{name}": [float(len(item.id)) for item in items]}}
"""

RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")

SMALL = ("--dataset", "esl", "--limit", "20", "--draws", "0")


def metric(folder: Path, name: str, does: str) -> str:
    """The path of a metric that does something before it scores."""
    path = folder / f"{name}.py"
    path.write_text(METRIC.format(name=name, Name=name.title(), does=does))
    return str(path)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "timings.json"}


def test_a_limit_fails_only_its_metric(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = (metric(tmp_path, "hang", "time.sleep(60)"), metric(tmp_path, "raises", "raise MemoryError('no more')"),
             metric(tmp_path, "hog", "held = b'x' * (500 << 20); time.sleep(60)"), "length")
    planned = plan.make(Selection(metrics=asked, datasets=("esl",), limit=20), Draws(0, 0))
    workers = Workers("local:2", limits=Limits(3.0, 300 << 20, tries=1))
    report = run_plan(planned, open_workspace(planned, home, tmp_path / "out", workers=workers))
    assert {failure.metric: failure.error for failure in report.failures} == {
        "hang": "items 0 to 19 cost a worker 1 times: took longer than 3 s",
        "hog": "items 0 to 19 cost a worker 1 times: held more than 0.293 GiB",
        "raises": "MemoryError: no more"}
    assert {row.metric for row in report.correlations} == {"length"}
    assert "a worker was lost at hog, items 0 to 19: held more than" in capsys.readouterr().err


@pytest.mark.parametrize(("argv", "executor", "limits"), [
    ((), "local", Limits()), (("--jobs", "3"), "local:3", Limits()),
    (("--memory", "1.5GiB"), "local:1", Limits(memory=3 << 29)), (("--timeout", "2"), "local:1", Limits(seconds=2)),
    (("--timeout", "2", "--executor", "ray", "--jobs", "3"), "ray", Limits(seconds=2)),
])
def test_what_a_part_may_take(argv: tuple[str, ...], executor: str, limits: Limits) -> None:
    workers = command.workers(settings(parser().parse_args(["run", "--all", *argv])))
    assert (workers.executor, workers.limits) == (executor, limits)


def test_a_limit_makes_a_worker_of_its_own(tmp_path: Path) -> None:
    asked = metric(tmp_path, "who", "import os; Path(__file__).with_name('pid').write_text(str(os.getpid()))")
    assert main(["run", *SMALL, "--metric", asked, "--out", str(tmp_path / "out"), "--timeout", "60"]) == 0
    assert int((tmp_path / "pid").read_text()) != os.getpid()


@pytest.mark.parametrize(("argv", "part"), [
    (("--jobs", "3", "--executor", "local:2"), "they differ"), (("--timeout", "-1"), "0 or more"),
    (("--timeout", "nan"), "0 or more"), (("--memory", "much"), "4GiB"),
    (("--memory", "1GiB", "--executor", "ray"), "Ray watches"), (("--memory", "400"), "say the unit, as in 400MiB"),
    (("--address", "10.0.0.1:6379"), "for --executor ray"),
    (("--store", "s3://"), "names no place"), (("--store", "s3:/bucket/scores"), "names no place"),
])
def test_what_would_be_no_limit_is_refused(argv: tuple[str, ...], part: str, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *SMALL, *argv, "--out", str(tmp_path / "out")]) == 2
    assert part in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@contextlib.contextmanager
def room(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("executor", "size", "where"), [
    ("local", 600, "/scores"), ("local:2", 600, "/scores"), ("local", 6_000, "/report/"), ("local", 9_000, "/site/"),
])
def test_a_full_disk_is_told_in_one_line_and_the_same_command_goes_on(
        executor: str, size: int, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "--dataset", "dstc6", "--limit", "30", "--draws", "0", "--metric", "length", "--metric", "bleu",
             "--executor", executor]
    assert main([*asked, "--out", str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    with room(size):
        assert main([*asked, "--out", str(tmp_path / "full")]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert f"{tmp_path / 'full'}{where}" in said
    assert "the same command goes on" in said
    assert main([*asked, "--out", str(tmp_path / "full")]) == 0
    assert tree(tmp_path / "full" / "report") == tree(tmp_path / "whole" / "report")
    assert list((tmp_path / "full").rglob("*.part")) == []


def begun(asked: list[str], out: Path, marks: Path) -> subprocess.Popen[str]:
    """A run, when its first part is being scored."""
    process = subprocess.Popen([sys.executable, "-m", "dialogue_harness", "run", *asked, "--out", str(out)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + 60
    while not list(marks.iterdir()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, "nothing was begun"
        time.sleep(0.02)
    return process


def by(executor: str) -> list[str]:
    """Who scores; two workers where it is Ray that counts them."""
    return ["--executor", executor, *(["--jobs", "2"] if executor == "ray" else [])]


def slow(tmp_path: Path, seconds: float) -> tuple[list[str], Path]:
    """A run of three parts that take so long each, and where each leaves a mark when it begins."""
    marks = tmp_path / "marks"
    marks.mkdir()
    mark = "(Path(__file__).with_name('marks') / items[0].id).touch()"
    asked = metric(tmp_path, "slow", f"{mark}; time.sleep({seconds})")
    names = [word for name in ("esl", "ncm", "humod") for word in ("--dataset", name)]
    return ["--metric", asked, "--limit", "10", "--draws", "0", *names], marks


@pytest.mark.parametrize(("executor", "most", "told"), [
    ("local", 1, signal.SIGINT), ("local:2", 2, signal.SIGINT), pytest.param("ray", 2, signal.SIGINT, marks=RAY),
    ("local:2", 2, signal.SIGTERM), pytest.param("ray", 2, signal.SIGTERM, marks=RAY),
])
def test_ctrl_c_once_lets_parts_end_and_the_same_command_goes_on(
        executor: str, most: int, told: signal.Signals, tmp_path: Path) -> None:
    asked, marks = slow(tmp_path, 0.5)
    with begun([*asked, *by(executor)], tmp_path / "out", marks) as process:
        if told is signal.SIGINT:
            os.killpg(process.pid, told)  # as a terminal does it: the workers hear it too
        else:
            process.send_signal(told)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert re.search(r"stopping: waiting for ([12] parts?|what is being scored) to end", said)
    assert "the same command goes on" in said.splitlines()[-1]
    assert "Traceback" not in said
    kept = list((tmp_path / "out" / "scores").glob("*/slow-*.parquet"))
    assert 1 <= len(kept) <= most
    assert len(kept) == len(list(marks.iterdir())), "what was begun came to its end, and nothing more was begun"
    before = {path: path.read_bytes() for path in kept}
    assert main(["run", *asked, "--out", str(tmp_path / "out")]) == 0, "whatever executor"
    assert {path: path.read_bytes() for path in kept} == before
    assert len(list(marks.iterdir())) == 3


@pytest.mark.parametrize("executor", ["local", "local:2", pytest.param("ray", marks=RAY)])
def test_ctrl_c_twice_does_not_wait(executor: str, tmp_path: Path) -> None:
    asked, marks = slow(tmp_path, 300)
    with begun([*asked, *by(executor)], tmp_path / "out", marks) as process:
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert "Ctrl-C again does not wait" in process.stderr.readline()
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130, said
    assert time.monotonic() - start < 15
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert list((tmp_path / "out" / "scores" / "locks").iterdir()) == []
