"""What it costs to hand work to others: `ray` beside `local:2` on work of a minute, and ten thousand parts.

`python tests/bench/executors.py [--repeat N] [--rounds N] [--parts N] [--only overhead|parts]`. The work is a metric
that hashes, the same for whoever does it, on all datasets of the sample; each run is a command of its own, with the
start of Ray and its end. The parts have one item each: `nobody` does nothing with them, so that what is left is
cutting, queueing and hearing; the others score and keep each, and join them, and are started and ended.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Utterance
from benchmarks.storage import store
from harness.run import plan
from harness.run.plan import Selection
from harness.scoring import executors
from harness.scoring.executors import tasks
from harness.scoring.executors.messages import Event, Executor, Finished, Refused, Setup, Task
from harness.scoring.executors.scheduler import Limits, Scheduler
from harness.scoring.pairs import pairs
from harness.scoring.progress import RunProgress
from harness.scoring.store import ScoreStore
from metrics.models.service import Choice, Models

WORK = """
import hashlib
from dataclasses import dataclass
from typing import ClassVar

from metrics.metric import MetricCard


@dataclass(frozen=True)
class Hashes:
    card: ClassVar[MetricCard] = MetricCard("hashes", "Hashes", ("hashes",), "toy")

    def score(self, items, models):
        return {{"hashes": [float(hashed(item.id.encode())[0]) for item in items]}}


def hashed(text):
    for _ in range({rounds}):
        text = hashlib.sha256(text).digest()
    return text
"""

CARD = "dstc7"
"""The dataset whose card the made-up items have."""


def overhead(rounds: int, repeat: int) -> Iterator[str]:
    """Seconds of the same work, by executor, alternating; the best of each is told last."""
    best: dict[str, float] = {}
    with TemporaryDirectory() as folder:
        metric = Path(folder) / "hashes.py"
        metric.write_text(WORK.format(rounds=rounds))
        for turn in range(repeat):
            for executor in ("local:2", "ray"):
                argv = ["run", "--metric", str(metric), "--draws", "0", "--executor", executor, "--jobs", "2",
                        "--data", "sample", "--out", f"{folder}/{executor}-{turn}", "--home", folder]
                start = time.perf_counter()
                subprocess.run([sys.executable, "-m", "harness", *argv], check=True, capture_output=True,
                               env={**os.environ, "OMP_NUM_THREADS": "1"})
                took = time.perf_counter() - start
                best[executor] = min(took, best.get(executor, took))
                yield f"{executor:<8} {took:7.1f} s"
    yield f"ray / local:2 {best['ray'] / best['local:2']:7.2f}"


class Nobody:
    """A worker that refuses each part at once."""

    workers = 2

    def __init__(self) -> None:
        self._given: dict[int, Task] = {}

    def send(self, worker: int, task: Task) -> None:
        """Take a task."""
        self._given[worker] = task

    def events(self, seconds: float) -> Iterator[tuple[int, Event]]:
        """Refuse it."""
        for worker, task in list(self._given.items()):
            del self._given[worker]
            yield from ((worker, Refused(asked, "nobody is here", False)) for asked in task.metrics)
            yield worker, Finished()

    def kill(self, worker: int) -> str:
        """Nothing to stop."""
        return ""

    def memory(self, worker: int) -> int:
        """None."""
        return 0

    def close(self) -> None:
        """Nothing to end."""


def parts(count: int) -> Iterator[str]:
    """Seconds from cells to scores, or to nothing, of so many parts of one item."""
    tasks.SMALLEST = tasks.LARGEST = 1
    with TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        items = tuple(Item(f"{CARD}_{number:05d}", (Utterance(USER, "hello"),), Utterance(SYSTEM, f"you are {number}"))
                      for number in range(count))
        store.save(Dataset(registry.card(CARD), items, (), "imported"), home)
        openers: dict[str, Callable[[Setup, Models], Executor | None]] = {
            "nobody": lambda setup, models: Nobody(),
            "local:2": lambda setup, models: executors.open_executor("local:2", setup, models),
            "ray": lambda setup, models: executors.open_executor("ray", setup, models, jobs=2),
        }
        for name, opener in openers.items():
            seconds, made = _carried_out(opener, home, Path(folder) / name)
            yield f"{name:<8} {made} parts {seconds:7.1f} s"


def _carried_out(opener: Callable[[Setup, Models], Executor | None], home: Path, folder: Path) -> tuple[float, int]:
    selection = Selection(metrics=("length",), datasets=(CARD,))
    planned, models, scores = plan.make(selection), Models(home, Choice(device="cpu")), ScoreStore(folder)
    dataset = plan.load(planned.cards[0], home, selection)
    if dataset is None:
        raise LookupError(f"{home}: holds no {CARD}, which was saved there just now")
    start, progress = time.perf_counter(), RunProgress()
    with closing(opener(Setup(selection, home, str(folder), models.choice), models)) as executor:
        Scheduler(executor, scores, Limits(), progress).run(pairs(dataset, planned.chosen, models, scores, {}))
    return time.perf_counter() - start, progress.planned_parts


def main() -> None:
    """Measure, and print as it comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=90_000, help="hashes an item: 90,000 are a minute of two cores")
    parser.add_argument("--parts", type=int, default=10_000)
    parser.add_argument("--only", choices=("overhead", "parts"))
    args = parser.parse_args()
    if args.only != "overhead":
        for line in parts(args.parts):
            print(line, flush=True)
    if args.only != "parts":
        for line in overhead(args.rounds, args.repeat):
            print(line, flush=True)


if __name__ == "__main__":
    main()
