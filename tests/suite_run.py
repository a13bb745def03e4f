"""A small run shared by all tests of results, pages, bundles and commands, which only read it."""

import contextlib
import fcntl
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.cli import main
from harness.results import files
from harness.results.rows import Results
from tests.faults.runs import metric

DATASETS = ("fed-turn", "persona-usr", "fed-dial", "jsalt")
"""Datasets of turns without and with references, of dialogues, and a test set."""
METRICS = ("bleu", "rouge-l", "distinct", "length", "random", "rank-average[inputs=length+distinct]")
"""Metrics, of which the first two are skipped without references."""
CRASHING = "if items[0].id.startswith('fed-turn'):\n    raise ValueError('odd <b>reply</b>')"


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """A finished run: its home, its folder (`harness run --out`), and its results read back."""

    home: Path
    out: Path
    results: Results


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return a folder with the result of `make`, which the first process calls, while the others wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            make(folder)
            (folder / "done").touch()
    return folder


def at(folder: Path) -> SuiteRun:
    once(folder, _make)
    return SuiteRun(folder / "home", folder / "out", files.read(folder / "out" / "report"))


def _make(folder: Path) -> None:
    flags = [word for name in (*METRICS, metric(folder, "crashing", CRASHING)) for word in ("--metric", name)]
    flags += [word for name in DATASETS for word in ("--dataset", name)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main(["run", "--data", "sample", *flags, "--draws", "50", "--permutations", "50",
                       "--home", str(folder / "home"), "--out", str(folder / "out")])
    if status != 1:  # 1: a metric crashed, as it should
        raise RuntimeError(f"the run of the suite ended with status {status}:\n{errors.getvalue()}")
