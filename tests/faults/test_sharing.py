"""Two runs in one store: the second waits for the first, uses its scores, and takes over if the first is killed."""

import os
import signal
from pathlib import Path

import pytest

from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, ended, flags, left_behind, metric, report, scored, start, until

pytestmark = pytest.mark.faults

ARGV = [*flags("--metric", ("length", "distinct")), *flags("--dataset", ("persona-zhao", "esl", "ncm"))]


@pytest.mark.parametrize("folders", [("one", "two"), ("one", "one")])
def test_the_second_run_takes_the_scores_of_the_first(folders: tuple[str, str], tmp_path: Path,
                                                      undisturbed: Reports) -> None:
    argv = [*ARGV, "--metric", metric(tmp_path, "slowly", "time.sleep(0.3)")]
    outs = [tmp_path / name for name in folders]
    runs = [start(*argv, *QUICK, "--store", str(tmp_path / "store"), "--out", str(out)) for out in outs]
    for run in runs:
        with run:
            ended(run)
    assert [report(out) for out in outs] == [undisturbed(*argv)] * 2
    if len({*folders}) == 2:
        assert set((scored(outs[0]) + scored(outs[1])).values()) == {1}
    assert left_behind(tmp_path / "store") == []


def test_a_run_takes_over_from_a_killed_run(tmp_path: Path, undisturbed: Reports) -> None:
    ends = "while times('begun') and not Path(__file__).with_name('end').exists():\n    time.sleep(0.02)"
    argv = [*ARGV, "--metric", metric(tmp_path, "slowly", ends)]
    store = ["--store", str(tmp_path / "store")]
    with start(*argv, *QUICK, *store, "--out", str(tmp_path / "dead"), start_new_session=True) as dead:
        until(lambda: any(name == "slowly" for _, name, _ in scored(tmp_path / "dead")), "the first run has scored")
        with start(*argv, *QUICK, *store, "--out", str(tmp_path / "heir")) as heir:
            assert heir.stderr is not None
            assert f"process {dead.pid} " in heir.stderr.readline()
            os.killpg(dead.pid, signal.SIGKILL)
            dead.communicate()
            before = scored(tmp_path / "dead")
            (tmp_path / "end").touch()
            ended(heir)
    assert report(tmp_path / "heir") == undisturbed(*argv)
    assert set((before + scored(tmp_path / "heir")).values()) == {1}
    assert left_behind(tmp_path / "store") == []
