"""SIGKILL: a run that is killed, whatever it is at, is continued by the same command, and ends in the same bytes."""

import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness.run import unchanged
from metrics import registry
from tests.faults.conftest import Whole
from tests.faults.runs import QUICK, begun, costly, events, left_behind, metric, report, scored, words

pytestmark = [pytest.mark.faults, pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")]

ANYWHERE = "anywhere"
AFTER = {"scoring": ("loading", "planning"), "correlating": ("composing",), "report": ("ranking",),
         "pages": ("report",)}
"""The stages that a run is killed in, and those whose end is their beginning."""

PLAIN = [*words("--dataset", ("persona-zhao", "dstc10-persona", "fed-dial")), "--limit", "100",
         *words("--metric", ("length", "distinct"))]


def wait_for(stage: str, process: subprocess.Popen[str], out: Path, rng: np.random.Generator) -> bool:
    """Wait for a moment by chance within a stage of a run; False where the run ended before."""
    if stage == ANYWHERE:
        return _still(process, rng.uniform(0.1, 3.0))
    nth = 1 if stage in {"report", "pages"} else int(rng.integers(1, 4))
    while process.poll() is None:
        stages = [event["stage"] for event in events(out) if event["event"] == "stage"]
        if sum(name in AFTER[stage] for name in stages) >= min(nth, 1 if "planning" in stages else 3):
            return _still(process, rng.uniform(0, {"report": 0.05, "pages": 0.4}.get(stage, 0.3)))
        time.sleep(0.002)
    return False


def _still(process: subprocess.Popen[str], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def killed_and_continued(argv: list[str], out: Path, kills: int, stages: tuple[str, ...], rng: np.random.Generator,
                         *, everybody: bool = False) -> Counter[tuple[str, str, int]]:
    """Kill a run so many times, each time begun anew in the same folder; what was scored."""
    killed = 0
    done: Counter[tuple[str, str, int]] = Counter()
    rounds = [stage for _ in range(-(-4 * kills // len(stages))) for stage in rng.permutation(stages)]
    for stage in rounds[:4 * kills]:  # every stage as often as any other, in an order by chance
        for path in (out / "log.jsonl", out / unchanged.FILE):  # of the run before, which may have come to its end
            path.unlink(missing_ok=True)
        with begun(*argv, *QUICK, "--out", str(out), start_new_session=True) as process:
            if wait_for(stage, process, out, rng):
                (os.killpg if everybody else os.kill)(process.pid, signal.SIGKILL)
            process.communicate(timeout=120)
        done += scored(out)
        killed += process.returncode == -signal.SIGKILL
        if killed == kills:
            return done
    pytest.fail(f"only {killed} of {4 * kills} runs were still going when their kill came")


@pytest.mark.parametrize(("kills", "executor", "everybody", "seed"), [
    (8, "local", False, 1), (4, "ray:2", False, 2), (4, "ray:2", True, 3)])
def test_a_killed_run_is_continued_to_the_same_bytes(
        kills: int, executor: str, everybody: bool, seed: int, tmp_path: Path, undisturbed: Whole) -> None:
    argv = [*PLAIN, "--metric", metric(tmp_path, "slowly", "time.sleep(0.05)")]
    out = tmp_path / "out"
    costly(out, "slowly", "length", "distinct")
    check([*argv, "--executor", executor], undisturbed(*argv), out, kills, (*AFTER, ANYWHERE),
          np.random.default_rng(seed), everybody=everybody)


def test_a_killed_run_with_networks_is_continued_to_the_same_bytes(tmp_path: Path, undisturbed: Whole) -> None:
    cards = {name: registry.card(name) for name in reversed(registry.names())}
    first = {card.family: name for name, card in cards.items()}
    argv = [*words("--metric", sorted(first.values())), *words("--dataset", ("convai2-grade", "fed-dial")),
             "--limit", "12"]
    check(argv, undisturbed(*argv), tmp_path / "out", 2, ("scoring", ANYWHERE), np.random.default_rng(4))


def check(argv: list[str], whole: dict[str, bytes], out: Path, kills: int, stages: tuple[str, ...],
          rng: np.random.Generator, *, everybody: bool = False) -> None:
    """Kill it and continue it, and compare what it ends in."""
    before = killed_and_continued(argv, out, kills, stages, rng, everybody=everybody)
    with begun(*argv, *QUICK, "--out", str(out)) as process:
        said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    found = report(out)
    assert [name for name in sorted(found | whole) if found.get(name) != whole.get(name)] == []
    twice = {part: count for part, count in (before + scored(out)).items() if count > 1}
    assert twice == {}, "what was scored and kept is not scored again"
    assert left_behind(out) == []
