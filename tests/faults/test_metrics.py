"""A metric that misbehaves fails with its reason; the correlations of other metrics are the same."""

import importlib.util
import json
import math
import re
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.cli import main
from harness.results import tables
from harness.results.rows import Correlation
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, flags, metric, report, rows, scored, start

pytestmark = pytest.mark.faults

GOOD = [*flags("--metric", ("length", "distinct")), "--dataset", "esl", "--limit", "20"]

CRASHES = (
    ("raises an error", "raise ValueError('no such word')", "ValueError: no such word"),
    ("raises an error that cannot be printed", "class Odd(Exception):\n    __str__ = lambda self: 1 / 0\nraise Odd",
     "Odd: its message cannot be printed"),
    ("calls sys.exit(0)", "sys.exit(0)", "SystemExit: 0"),
    ("calls itself without end", "self.score(items, models)", "RecursionError: maximum recursion depth exceeded"),
    ("asks for more memory than there is", "bytearray(1 << 60)", "MemoryError in line"),
    ("returns nothing", "return None", "expected the columns .*, got NoneType"),
    ("returns a column of another name", "return {'another': right}", "expected the columns .*, got another"),
    ("returns too few scores", "right.pop()", r"column \w+ has 19 numbers for 20 items"),
    ("returns too many scores", "right.append(0.0)", r"column \w+ has 21 numbers for 20 items"),
    ("returns a table", "right = [right]", r"column \w+ has shape \(1, 20\) for 20 items"),
    ("returns words", "right = ['good'] * len(items)", "not a number"),
    ("returns infinity", "right[3] = float('inf')", r"column \w+ is infinite for item \S+_\d+"),
    ("sorts the items it is given", "items.sort()", "AttributeError: 'tuple' object has no attribute 'sort'"),
)
DEATHS = (
    ("calls os._exit(3)", "os._exit(3)", "killed 3 workers: "),
    ("kills itself (SIGKILL)", "os.kill(os.getpid(), signal.SIGKILL)", "killed 3 workers: "),
    ("reads where no memory is (SIGSEGV)", "ctypes.string_at(0)", "killed 3 workers: "),
)
OVER = (
    ("hangs", "time.sleep(600)", "took longer than 3 s"),
    ("hangs and does not hear SIGTERM", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass",
     "took longer than 3 s"),
    ("holds more than a worker may", "held = b'x' * (2 << 30)", "MemoryError"),
)
RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


def failures(out: Path) -> dict[str, str]:
    return {row["metric"]: row["error"] for row in json.loads(report(out)["report.json"])["failures"]}


def correlations(files: dict[str, bytes], *metrics: str) -> list[str]:
    table = tables.unpacked(files["correlations.parquet"], Correlation)
    return [repr(row) for row in table if row.metric in metrics]


def undisturbed_good(out: Path, undisturbed: Reports) -> bool:
    good = ("length", "distinct")
    return correlations(report(out), *good) == correlations(undisturbed(*GOOD), *good)


def check(cases: Sequence[tuple[str, str, str]], folder: Path, undisturbed: Reports, *more: str) -> list[str]:
    """Run all cases together with good metrics; each fails for its reason, and the good ones are unaffected."""
    paths = [metric(folder, f"toy{number}", does) for number, (_, does, _) in enumerate(cases)]
    out = folder / "out"
    argv = ["run", *GOOD, *flags("--metric", paths), *QUICK, *more, "--out", str(out)]
    assert main(argv) == 1
    errors = failures(out)
    assert errors.keys() == {Path(path).stem for path in paths}
    for number, (name, _, error) in enumerate(cases):
        assert re.search(error, errors[f"toy{number}"]), name
    assert undisturbed_good(out, undisturbed)
    return argv


@pytest.mark.parametrize("executor", ["local", pytest.param("ray:2", marks=RAY)])
def test_only_the_broken_metric_fails(executor: str, tmp_path: Path, undisturbed: Reports) -> None:
    argv = check(CRASHES, tmp_path, undisturbed, "--executor", executor)
    assert main(argv) == 1
    assert scored(tmp_path / "out") == {}, "a second run tries those that failed, and scores no other again"


@RAY
@pytest.mark.parametrize(("cases", "more"), [(DEATHS, ()), (OVER, ("--timeout", "3", "--memory", "1500MiB"))],
                         ids=["dying", "limits"])
def test_only_the_metric_that_kills_its_worker_fails(
        cases: Sequence[tuple[str, str, str]], more: tuple[str, ...], tmp_path: Path, undisturbed: Reports) -> None:
    check(cases, tmp_path, undisturbed, "--executor", "ray:2", *more)


@RAY
def test_a_metric_that_dies_twice_is_scored(tmp_path: Path, undisturbed: Reports) -> None:
    does = "if times('died') < 2:\n    os.kill(os.getpid(), signal.SIGKILL)"
    argv = [*GOOD, "--metric", metric(tmp_path, "toy", does)]
    (tmp_path / "died").write_text("...")
    expected = undisturbed(*argv)
    (tmp_path / "died").unlink()
    assert main(["run", *argv, *QUICK, "--executor", "ray:2", "--out", str(tmp_path / "out")]) == 0
    assert report(tmp_path / "out") == expected
    assert set(scored(tmp_path / "out").values()) == {1}


def test_a_failed_metric_is_tried_by_the_next_run(tmp_path: Path, undisturbed: Reports) -> None:
    argv = [*GOOD, "--metric", metric(tmp_path, "toy", "if times('raised') < 1:\n    raise OSError('busy')")]
    again = ["run", *argv, *QUICK, "--out", str(tmp_path / "out")]
    assert main(again) == 1
    assert failures(tmp_path / "out") == {"toy": "OSError: busy in line 24 of toy.py"}
    assert main(again) == 0
    assert {name for _, name, _ in scored(tmp_path / "out")} == {"toy"}
    assert report(tmp_path / "out") == undisturbed(*argv)


def test_nan_is_a_missing_score(tmp_path: Path, undisturbed: Reports) -> None:
    files = [metric(tmp_path, "one", "right[3] = float('nan')"),
             metric(tmp_path, "every", "right = [float('nan')] * len(items)")]
    out = tmp_path / "out"
    assert main(["run", *GOOD, *flags("--metric", files), *QUICK, "--out", str(out)]) == 0
    table = rows(out, "correlations")
    counts = {name: {row.n for row in table if row.metric == name} for name in ("length", "one")}
    assert counts["one"] == {number - 1 for number in counts["length"]}
    assert all(math.isnan(row.value) for row in table if row.metric == "every")
    assert undisturbed_good(out, undisturbed)
    assert {row.rank for row in rows(out, "ranking") if row.metric == "every"} <= {None}


@RAY
def test_a_metrics_prints_are_not_in_the_output(tmp_path: Path, undisturbed: Reports) -> None:
    does = ("for stream in (1, 2):\n    os.write(stream, bytes(range(256)) * 1000)\n"
            "print('{\"dataset\": 1}')\nprint('\\x1b[2J', file=sys.stderr)")
    argv = [*GOOD, "--metric", metric(tmp_path, "toy", does)]
    with start(*argv, *QUICK, "--executor", "ray:2", "--json", "--out", str(tmp_path / "out")) as process:
        printed, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert {json.loads(line)["metric"] for line in printed.splitlines()} == {"length", "distinct", "toy"}
    (tmp_path / "quiet").mkdir()
    plain = undisturbed(*GOOD, "--metric", metric(tmp_path / "quiet", "toy"))
    names = ("length", "distinct", "toy")
    assert correlations(report(tmp_path / "out"), *names) == correlations(plain, *names)


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is counted in other ways elsewhere")
def test_only_the_metric_that_runs_out_of_memory_fails(tmp_path: Path, undisturbed: Reports) -> None:
    argv = [*GOOD, "--metric", metric(tmp_path, "toy", "held = b'x' * (4 << 30)")]
    with start(*argv, *QUICK, "--out", str(tmp_path / "out"),
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))) as process:
        errors = process.communicate(timeout=120)[1]
    assert process.returncode == 1, errors
    assert failures(tmp_path / "out") == {"toy": "MemoryError in line 23 of toy.py"}
    assert undisturbed_good(tmp_path / "out", undisturbed)
