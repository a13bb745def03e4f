"""Runs of the command, their results, and metrics that run some code before they score."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.results import files
from harness.scoring.costs import FILE
from metrics.models.service import Models

QUICK = ("--data", "sample", "--draws", "0", "--examples", "0")
"""Flags that make a run short."""

METRIC = """
import ctypes, itertools, os, random, resource, signal, sys, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from metrics.metric import MetricCard


def times(name):
    \"\"\"Count the earlier calls, in all processes.\"\"\"
    with Path(__file__).with_name(name).open("ab", buffering=0) as stream:
        stream.write(b".")
        return stream.tell() - 1


@dataclass(frozen=True)
class Toy:
    card: ClassVar[MetricCard] = MetricCard("{name}", "Toy", ("{name}",), "toy", notes="A toy.")

    def score(self, items, models):
        right = [float(len(item.response.text if item.response else item.context)) for item in items]
        {does}
        return {{"{name}": right}}
"""


def metric(folder: Path, name: str, does: str = "pass") -> str:
    """Write a metric that executes some lines before it returns the scores `right`."""
    path = folder / f"{name}.py"
    path.write_text(METRIC.format(name=name, does="\n        ".join(does.strip().splitlines())))
    return str(path)


def flags(name: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (name, value)]


def start(*argv: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "dialogue_harness", "run", *argv], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def ended(process: subprocess.Popen[str], status: int = 0) -> tuple[str, str]:
    """Wait for the end of a run, check its status, and return its standard output and errors."""
    printed = process.communicate(timeout=120)
    assert process.returncode == status, printed
    return printed


def until(condition: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"in {seconds:g} s: {what}")
        time.sleep(0.005)


def report(out: Path) -> dict[str, bytes]:
    """Return the files of the report without timings, which differ between runs."""
    folder = out / "report"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "timings.json"}


def rows(out: Path, table: str) -> list[Any]:
    return list(getattr(files.read(out / "report"), table))


def events(out: Path) -> list[dict[str, Any]]:
    """Return the log of a run so far, without an unfinished last line."""
    try:
        lines = (out / "log.jsonl").read_text().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def scored(out: Path) -> Counter[tuple[str, str, int]]:
    """Count how often a run has scored each item, by dataset, metric and index."""
    return Counter((event["dataset"], event["metric"], index) for event in events(out)
                   if event["event"] == "part" and event["outcome"] == "scored" for index in range(*event["items"]))


def costly(home: Path, *metrics: str, seconds: float = 1.0) -> None:
    """Write costs of earlier runs with this many seconds per character of response, so that parts are small."""
    costs = {f"{Models(home).machine}|{name}|": seconds for name in metrics}
    (home / FILE).write_text(json.dumps(costs))


def left_behind(out: Path) -> list[str]:
    """List leases, half-written files, and parts without the joined scores, none of which should outlive a run.

    A part next to the joined scores may be left by a run that was killed between joining and removing.
    """
    parts = [part for part in out.rglob("*.shard")
             if not list(part.parent.glob(f"{part.name.partition('.')[0]}-*.parquet"))]
    paths = [*out.rglob(".*.part"), *out.rglob("holder"), *parts]
    return sorted(path.relative_to(out).as_posix() for path in paths)
