"""What a command costs, with all processes that it starts, and the tables that the benches print."""

import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("HARNESS_REAL_DATA") or ROOT.parent / "shared" / "data")
"""Where the real data would be."""

COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Modules are compiled once, as where the harness is installed."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall seconds, CPU seconds and the peak of memory in MiB."""

    seconds: float
    cpu: float
    peak: float


def watched(argv: Sequence[str], log: Path | None = None, **environment: str) -> Cost:
    """Run a harness command to its end; the memory of all of its processes together is looked at ten times a second."""
    start, seen, over = time.perf_counter(), [0.0], threading.Event()
    with (log or Path(os.devnull)).open("wb") as stream:
        child = subprocess.Popen([sys.executable, "-m", "dialogue_harness", *argv], stdout=stream, stderr=stream,
                                 cwd=ROOT, env={**os.environ, **COMPILED, **environment})

    def look() -> None:
        while not over.wait(0.1):
            seen.append(sum(map(_held, _family(child.pid))))

    looking = threading.Thread(target=look)
    looking.start()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    over.set()
    looking.join()
    if child.returncode:
        raise SystemExit(f"harness {' '.join(argv)} ended with {child.returncode}"
                         + (f":\n{log.read_text()[-3000:]}" if log else ""))
    return Cost(time.perf_counter() - start, used.ru_utime + used.ru_stime, max(*seen, used.ru_maxrss / 1024))


def _family(parent: int) -> Iterator[int]:
    """A process and all that it started."""
    yield parent
    for path in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # it has ended
            continue
        for child in children:
            yield from _family(int(child))


def _held(process: int) -> float:
    """MiB of a process, what it shares with others counted in parts (PSS)."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def race(sides: Mapping[str, Callable[[], Callable[[], Any]]], repeat: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The fastest turn of each side, whose call makes ready what is timed, and its values; sides take turns."""
    seconds: dict[str, float] = {}
    values: dict[str, Any] = {}
    for turn in range(repeat):
        for name in list(sides)[:: -1 if turn % 2 else 1]:
            work = sides[name]()
            gc.collect()
            before = time.perf_counter()
            values[name] = work()
            spent = time.perf_counter() - before
            seconds[name] = min(spent, seconds.get(name, spent))
    return seconds, values


def show(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Print rows as JSON or as a table in Markdown, a column per name."""
    if as_json:
        print(json.dumps(list(rows), indent=1))
        return
    heads = list(dict.fromkeys(head for row in rows for head in row))
    lines = [heads, *([str(row.get(head, "")) for head in heads] for row in rows)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
