"""Several runs in one store: they share the work, and what one leaves that is killed another takes over."""

import os
import signal
import time
from pathlib import Path

import pytest

from harness.scoring import locks
from tests.faults.conftest import Whole
from tests.faults.runs import QUICK, begun, left_behind, metric, report, scored, until, words

pytestmark = pytest.mark.faults

NAMES = ("persona-zhao", "esl", "ncm")
ARGV = [*words("--metric", ("length", "distinct")), *words("--dataset", NAMES)]

EXECUTORS = ("local", "local:2")


def slow(folder: Path, seconds: float) -> list[str]:
    """What is requested of runs that take their time."""
    return [*ARGV, "--metric", metric(folder, "slowly", f"time.sleep({seconds})")]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_two_runs_share_the_work(executor: str, tmp_path: Path, undisturbed: Whole) -> None:
    argv = slow(tmp_path, 0.3)
    outs = [tmp_path / "one", tmp_path / "two"]
    runs = [begun(*argv, *QUICK, "--executor", executor, "--store", str(tmp_path / "store"), "--out", str(out))
            for out in outs]
    for run in runs:
        with run:
            said = run.communicate(timeout=120)[1]
        assert run.returncode == 0, said
    assert [report(out) for out in outs] == [undisturbed(*argv)] * 2
    together = scored(outs[0]) + scored(outs[1])
    assert set(together.values()) == {1}
    assert left_behind(tmp_path / "store") == []


def test_two_runs_in_one_folder(tmp_path: Path, undisturbed: Whole) -> None:
    argv, out = slow(tmp_path, 0.1), tmp_path / "out"
    runs = [begun(*argv, *QUICK, "--out", str(out)) for _ in range(2)]
    for run in runs:
        with run:
            said = run.communicate(timeout=120)[1]
        assert run.returncode == 0, said
    assert report(out) == undisturbed(*argv)
    assert left_behind(out) == []


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_run_takes_over_from_one_that_is_killed(executor: str, tmp_path: Path, undisturbed: Whole) -> None:
    """The first run scores a part, and is at the next when it is killed: until then that one does not end."""
    ends = "while times('begun') and not Path(__file__).with_name('end').exists():\n    time.sleep(0.02)"
    argv = [*ARGV, "--metric", metric(tmp_path, "slowly", ends)]
    store = ["--store", str(tmp_path / "store"), "--executor", executor]
    with begun(*argv, *QUICK, *store, "--out", str(tmp_path / "dead"), start_new_session=True) as dead:
        until(lambda: any(name == "slowly" for _, name, _ in scored(tmp_path / "dead")), "the first run has scored")
        with begun(*argv, *QUICK, *store, "--out", str(tmp_path / "heir")) as heir:
            until(lambda: len(list((tmp_path / "store" / "owners").iterdir())) == 2, "the second run is there")
            time.sleep(0.5)
            os.killpg(dead.pid, signal.SIGKILL)
            dead.communicate()
            died, before = time.monotonic(), scored(tmp_path / "dead")
            (tmp_path / "end").touch()
            said = heir.communicate(timeout=120)[1]
        took = time.monotonic() - died
    assert heir.returncode == 0, said
    assert report(tmp_path / "heir") == undisturbed(*argv)
    assert set((before + scored(tmp_path / "heir")).values()) == {1}
    assert left_behind(tmp_path / "store") == []
    assert took < locks.STALE / 2, "it did not wait for the sign of life to be stale"


@pytest.mark.parametrize(("age", "waits"), [(61, False), (55, True), (None, False)])
def test_locks_that_nobody_holds(age: int | None, waits: bool, tmp_path: Path, undisturbed: Whole) -> None:
    argv, out = [*ARGV, "--metric", metric(tmp_path, "toy")], tmp_path / "out"
    whole = undisturbed(*argv)
    store, owner = tmp_path / "store", "0badcafe-1-00000000"
    with begun(*argv, *QUICK, "--store", str(tmp_path / "other"), "--out", str(tmp_path / "names")) as process:
        process.communicate(timeout=60)
    for folder in ("locks", "owners"):
        (store / folder).mkdir(parents=True)
    for path in (tmp_path / "other").glob("*/*.parquet"):
        (store / "locks" / f"{path.parent.name}-{path.stem.rpartition('-')[0]}.{owner}").touch()
    alive = store / "owners" / owner
    if age is not None:
        alive.touch()
        os.utime(alive, (time.time() - age, time.time() - age))
    beat = time.time() - (age or 0)
    with begun(*argv, *QUICK, "--store", str(store), "--out", str(out)) as process:
        said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    assert ("another run works on" in said) == waits
    assert not waits or time.time() - beat > locks.STALE
    assert report(out) == whole
    assert left_behind(store) == []
