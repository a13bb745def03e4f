"""A metric that misbehaves fails with its reason; the correlations of other metrics are the same."""

import importlib.util
import json
import re
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.cli import main
from harness.results.files import unpacked
from harness.results.rows import Correlation
from tests.faults.conftest import Reports
from tests.faults.runs import QUICK, ended, flags, metric, report, scored, start

pytestmark = pytest.mark.faults

GOOD = [*flags("--metric", ("length", "distinct")), "--dataset", "esl", "--limit", "20"]

CRASHES = (
    ("raises an error", "raise ValueError('no such word')", "ValueError: no such word"),
    ("raises an error that cannot be printed", "class Odd(Exception):\n    __str__ = lambda self: 1 / 0\nraise Odd",
     "Odd"),
    ("calls sys.exit(0)", "sys.exit(0)", "SystemExit: 0"),
    ("calls itself without end", "self.score(items, models)", "RecursionError"),
    ("asks for more memory than there is", "bytearray(1 << 60)", "MemoryError"),
    ("sorts the items it is given", "items.sort()", "AttributeError"),
)
DEATHS = (
    ("kills itself (SIGKILL)", "os.kill(os.getpid(), signal.SIGKILL)", "killed 3 workers: "),
    ("reads where no memory is (SIGSEGV)", "ctypes.string_at(0)", "killed 3 workers: "),
    ("hangs and does not hear SIGTERM", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass",
     "took longer than 8 s"),
    ("holds more than a worker may", "held = b'x' * (2 << 30)", "MemoryError"),
)
RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


def failures(out: Path) -> dict[str, str]:
    return {row["metric"]: row["error"] for row in json.loads(report(out)["report.json"])["failures"]}


def correlations(files: dict[str, bytes], *metrics: str) -> list[str]:
    table = unpacked(files["correlations.parquet"], Correlation)
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
def test_only_the_metric_that_kills_its_worker_fails(tmp_path: Path, undisturbed: Reports) -> None:
    check(DEATHS, tmp_path, undisturbed, "--executor", "ray:2", "--timeout", "8", "--memory", "1500MiB")


@RAY
def test_a_metrics_prints_are_not_in_the_output(tmp_path: Path) -> None:
    does = ("for stream in (1, 2):\n    os.write(stream, bytes(range(256)) * 1000)\n"
            "print('{\"dataset\": 1}')\nprint('\\x1b[2J', file=sys.stderr)")
    argv = [*GOOD, "--metric", metric(tmp_path, "toy", does)]
    with start(*argv, *QUICK, "--executor", "ray:2", "--json", "--out", str(tmp_path / "out")) as process:
        printed, _ = ended(process)
    assert {json.loads(line)["metric"] for line in printed.splitlines()} == {"length", "distinct", "toy"}


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is counted in other ways elsewhere")
def test_only_the_metric_that_runs_out_of_memory_fails(tmp_path: Path, undisturbed: Reports) -> None:
    argv = [*GOOD, "--metric", metric(tmp_path, "toy", "held = b'x' * (4 << 30)")]
    with start(*argv, *QUICK, "--out", str(tmp_path / "out"),
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))) as process:
        ended(process, 1)
    assert failures(tmp_path / "out") == {"toy": "MemoryError in line 23 of toy.py"}
    assert undisturbed_good(tmp_path / "out", undisturbed)
