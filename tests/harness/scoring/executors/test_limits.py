"""What the flags of a run mean for its workers, and flags that mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main, parser
from harness.commands import run as command
from harness.run.settings import settings
from harness.scoring.executors.scheduler import Limits


def test_a_limit_makes_a_worker_of_its_own() -> None:
    for argv, executor, limits in (
        ((), "local", Limits()), (("--jobs", "3"), "local:3", Limits()),
        (("--memory", "1.5GiB"), "local:1", Limits(memory=3 << 29)),
        (("--timeout", "2"), "local:1", Limits(seconds=2)),
        (("--timeout", "2", "--executor", "ray", "--jobs", "3"), "ray", Limits(seconds=2)),
    ):
        workers = command.workers(settings(parser().parse_args(["run", "--all", *argv])))
        assert (workers.executor, workers.limits) == (executor, limits)


def test_flags_that_mean_nothing_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, part in (
        (("--jobs", "3", "--executor", "local:2"), "they differ"), (("--timeout", "-1"), "0 or more"),
        (("--timeout", "nan"), "0 or more"), (("--memory", "much"), "4GiB"),
        (("--memory", "1GiB", "--executor", "ray"), "Ray watches"),
        (("--memory", "400"), "with its unit"), (("--address", "10.0.0.1:6379"), "for --executor ray"),
        (("--store", "s3://"), "names no place"), (("--store", "s3:/bucket/scores"), "names no place"),
        (("--executor", "slurm"), "should be local, local:N"), (("--gpus", "-1", "--executor", "ray"), "0 or more"),
    ):
        assert main(["run", "--dataset", "esl", "--limit", "20", *argv, "--out", str(tmp_path / "out")]) == 2, argv
        assert part in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
