"""A run of all there is that is killed at any moment and run again ends in the same bytes as one that was not.

tests/faults has the kills of runs that are over sooner, of workers, and at every stage.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from harness.results.files import TABLES


def command(asked: list[str], out: Path) -> list[str]:
    return [sys.executable, "-m", "dialogue_harness", "run", *asked, "--limit", "12", "--data", "sample",
            "--draws", "50", "--out", str(out)]


def report(out: Path) -> dict[str, bytes]:
    """The report without the timings, which are measured and so differ between any two runs."""
    folder = out / "report"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path.name != "timings.json"}


@pytest.mark.long
def test_kills_change_no_byte_of_all_there_is(tmp_path: Path, rng: np.random.Generator) -> None:
    kill_and_compare(6, ["--all"], tmp_path, rng)


def kill_and_compare(kills: int, asked: list[str], tmp_path: Path, rng: np.random.Generator) -> None:
    """Run it whole, then until it was killed so many times at a random moment, and to its end after each."""
    length = timed(command(asked, tmp_path / "whole"))
    whole = report(tmp_path / "whole")
    points = [name for name in whole if name.startswith("points/")]
    assert len(whole) == 2 + 2 * len(TABLES) + len(points), "report.json, examples.json, and each table in two forms"
    assert points, "one file for each dataset"
    killed = 0
    for number in range(2 * kills):
        out = tmp_path / f"killed-{number}"
        start = time.monotonic()
        with subprocess.Popen(command(asked, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                process.wait(float(rng.uniform(0.15, 0.95)) * length)
            except subprocess.TimeoutExpired:
                process.kill()
        if process.returncode == -signal.SIGKILL:
            killed += 1
            timed(command(asked, out))
        else:
            length = time.monotonic() - start  # the first run may have been slower: other work beside it, cold files
        found = report(out)
        assert [name for name in sorted(found | whole) if found.get(name) != whole.get(name)] == [], f"kill {number}"
        shutil.rmtree(out)
        if killed == kills:
            return
    pytest.fail(f"only {killed} of {2 * kills} runs were still going when their kill came")


def timed(ran: list[str]) -> float:
    """Seconds it takes; it must succeed."""
    start = time.monotonic()
    subprocess.run(ran, check=True, capture_output=True)
    return time.monotonic() - start
