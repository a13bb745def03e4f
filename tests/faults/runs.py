"""Runs of the command, what they leave, and metrics that do something before they score."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.results import files

QUICK = ("--data", "sample", "--draws", "0", "--examples", "0")
"""The flags of a run beside datasets and metrics, so that it is over soon."""

METRIC = """
import ctypes, itertools, os, random, resource, signal, sys, time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from metrics.metric import MetricCard


def times(name):
    \"\"\"How often this was called before, by whatever process.\"\"\"
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
    """The file of a metric that does something before it gives its scores; `right` holds them."""
    path = folder / f"{name}.py"
    path.write_text(METRIC.format(name=name, does="\n        ".join(does.strip().splitlines())))
    return str(path)


def words(flag: str, values: Sequence[str]) -> list[str]:
    """A flag once for each value."""
    return [word for value in values for word in (flag, value)]


def command(*argv: str) -> list[str]:
    """The command in a process of its own."""
    return [sys.executable, "-m", "dialogue_harness", "run", *argv]


def report(out: Path) -> dict[str, bytes]:
    """The report without the timings, which are measured and so differ between any two runs."""
    folder = out / "report"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "timings.json"}


def rows(out: Path, table: str) -> list[Any]:
    """The rows of a table of the report."""
    return list(getattr(files.read(out / "report"), table))


def events(out: Path) -> list[dict[str, Any]]:
    """What has happened in a run so far; without a last line that is still being written."""
    try:
        lines = (out / "log.jsonl").read_text().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def scored(out: Path) -> Counter[tuple[str, str, int]]:
    """The items that a run has scored, by dataset, metric and place, and how often."""
    return Counter((event["dataset"], event["metric"], place) for event in events(out)
                   if event["event"] == "part" and event["outcome"] == "scored" for place in range(*event["items"]))


def costly(out: Path, *metrics: str, each: float = 1.0) -> None:
    """Leave what an earlier run would have measured of metrics that take so many seconds an item: parts are small."""
    (out / "report").mkdir(parents=True)
    rows = [{"dataset": "esl", "metric": name, "items": 64, "seconds": 64 * each} for name in metrics]
    (out / "report" / "timings.json").write_text(json.dumps(rows))


def left_behind(out: Path) -> list[str]:
    """What should be gone when a run is over: its lease, half-written files, parts without the whole.

    A part beside the whole scores may be left by a run that was killed between writing the one and removing the other.
    """
    parts = [part for part in out.rglob("*.shard")
             if not list(part.parent.glob(f"{part.name.partition('.')[0]}-*.parquet"))]
    found = [*out.rglob(".*.part"), *out.rglob("holder"), *parts]
    return sorted(path.relative_to(out).as_posix() for path in found)


def until(held: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not held():
        if time.monotonic() > end:
            raise TimeoutError(f"in {seconds:g} s: {what}")
        time.sleep(0.005)


def begun(*argv: str, **more: Any) -> subprocess.Popen[str]:
    """A run that has been started."""
    return subprocess.Popen(command(*argv), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **more.pop("env", {})}, **more)
