"""A run that is killed at any moment and run again ends in the same bytes as one that was not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from harness.reports import TABLES
from metrics import registry

DATASETS = ("convai2-grade", "fed-dial", "topical-usr", "dstc10-persona")
"""Of both levels and both splits."""


def of_each_family() -> list[str]:
    """The first metric of every family."""
    first = {registry.card(name).family: name for name in reversed(registry.names())}
    return [word for name in sorted(first.values()) for word in ("--metric", name)]


def command(asked: list[str], out: Path) -> list[str]:
    return [sys.executable, "-m", "dialogue_harness", "run", *asked, "--limit", "12", "--data", "sample",
            "--draws", "50", "--out", str(out)]


def report(out: Path) -> dict[str, bytes]:
    """The report without the timings, which are measured and so differ between any two runs."""
    return {path.name: path.read_bytes() for path in (out / "report").iterdir() if path.name != "timings.json"}


@pytest.mark.slow
def test_twenty_kills_change_no_byte(tmp_path: Path, rng: np.random.Generator) -> None:
    kill_and_compare(20, [*of_each_family(), *(word for name in DATASETS for word in ("--dataset", name))], tmp_path,
                     rng)


@pytest.mark.long
def test_kills_change_no_byte_of_all_there_is(tmp_path: Path, rng: np.random.Generator) -> None:
    kill_and_compare(6, ["--all"], tmp_path, rng)


def kill_and_compare(kills: int, asked: list[str], tmp_path: Path, rng: np.random.Generator) -> None:
    """Run it whole, then so many times with a kill on the way, and again."""
    start = time.monotonic()
    subprocess.run(command(asked, tmp_path / "whole"), check=True, capture_output=True)
    length = time.monotonic() - start
    whole = report(tmp_path / "whole")
    assert len(whole) == 1 + 2 * len(TABLES), "report.json, and each table in two forms"
    killed = 0
    for number in range(kills):
        out = tmp_path / f"killed-{number}"
        with subprocess.Popen(command(asked, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(float(rng.uniform(0.15, 1.0)) * length)
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
        subprocess.run(command(asked, out), check=True, capture_output=True, env=dict(os.environ))
        assert report(out) == whole, f"kill {number}"
    assert killed >= kills // 2, "too many runs ended before their kill"
