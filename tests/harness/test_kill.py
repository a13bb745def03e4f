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

KILLS = 20


def command(out: Path) -> list[str]:
    return [sys.executable, "-m", "dialogue_harness", "run", "--all", "--limit", "12", "--data", "sample",
            "--draws", "50", "--out", str(out)]


def report(out: Path) -> dict[str, bytes]:
    """The report without the timings, which are measured and so differ between any two runs."""
    return {path.name: path.read_bytes() for path in (out / "report").iterdir() if path.name != "timings.json"}


@pytest.mark.slow
def test_twenty_kills_change_no_byte(tmp_path: Path, rng: np.random.Generator) -> None:
    start = time.monotonic()
    subprocess.run(command(tmp_path / "whole"), check=True, capture_output=True)
    length = time.monotonic() - start
    whole = report(tmp_path / "whole")
    assert len(whole) == 1 + 2 * len(TABLES), "report.json, and each table in two forms"
    killed = 0
    for number in range(KILLS):
        out = tmp_path / f"killed-{number}"
        with subprocess.Popen(command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(float(rng.uniform(0.15, 1.0)) * length)
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
        subprocess.run(command(out), check=True, capture_output=True, env=dict(os.environ))
        assert report(out) == whole, f"kill {number}"
    assert killed >= KILLS // 2, "too many runs ended before their kill"
