"""SIGKILL: the same command continues a killed run, and gives the same bytes."""

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness.run import unchanged
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, costly, ended, events, flags, left_behind, metric, report, scored, start

pytestmark = [pytest.mark.faults, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")]

ANYWHERE = "anywhere"
AFTER = {"scoring": ("loading", "planning"), "correlating": ("composing",), "report": ("ranking",),
         "pages": ("report",)}
"""Stages in which to kill a run, and the stages that end before them."""


def still_running(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def reached(stage: str, process: subprocess.Popen[str], out: Path, rng: np.random.Generator) -> bool:
    """Wait for a random moment within a stage of a run; False if the run ended before."""
    if stage == ANYWHERE:
        return still_running(process, rng.uniform(0.1, 3.0))
    nth = 1 if stage in {"report", "pages"} else int(rng.integers(1, 4))
    while process.poll() is None:
        stages = [event["stage"] for event in events(out) if event["event"] == "stage"]
        if sum(name in AFTER[stage] for name in stages) >= min(nth, 1 if "planning" in stages else 3):
            return still_running(process, rng.uniform(0, {"report": 0.05, "pages": 0.4}.get(stage, 0.3)))
        time.sleep(0.002)
    return False


@pytest.mark.parametrize(("kills", "executor", "group", "seed"), [
    (8, "local", False, 1), (4, "ray:2", False, 2), (4, "ray:2", True, 3)])
def test_a_killed_run_is_continued(kills: int, executor: str, group: bool, seed: int, tmp_path: Path,
                                   home: Path, undisturbed: Reports) -> None:
    argv = [*flags("--dataset", ("persona-zhao", "dstc10-persona", "fed-dial")), "--limit", "100",
            *flags("--metric", ("length", "distinct", metric(tmp_path, "slowly", "time.sleep(0.05)")))]
    costly(home, "slowly", "length", "distinct")
    out, command = tmp_path / "out", [*argv, *QUICK, "--executor", executor, "--out", str(tmp_path / "out")]
    rng, killed, counts = np.random.default_rng(seed), 0, Counter[tuple[str, str, int]]()
    rounds = [stage for _ in range(kills) for stage in rng.permutation([*AFTER, ANYWHERE])]
    for stage in rounds[:4 * kills]:
        for path in (out / "log.jsonl", out / unchanged.FILE):
            path.unlink(missing_ok=True)
        with start(*command, start_new_session=True) as process:
            if reached(stage, process, out, rng):
                (os.killpg if group else os.kill)(process.pid, signal.SIGKILL)
            process.communicate(timeout=120)
        counts += scored(out)
        killed += process.returncode == -signal.SIGKILL
        if killed == kills:
            break
    assert killed == kills, "runs had ended when their kill came"
    with start(*command) as process:
        ended(process)
    actual, expected = report(out), undisturbed(*argv)
    assert [name for name in sorted(actual | expected) if actual.get(name) != expected.get(name)] == []
    assert {part: count for part, count in (counts + scored(out)).items() if count > 1} == {}
    assert left_behind(out) == []
