"""Comparisons of metrics against a plain loop over scipy, side by side in one run.

    python tests/bench/comparing.py [--items 300 40000] [--metrics 30] [--draws 1000] [--full]

Each measurement is a process of its own, so that its peak memory is its own. The loop tests a few pairs over a few
draws; its time for all of them is extrapolated, and the table says so. A small run of ours takes the same pairs and
draws: both must have the same p. The scores are made up, the ratings go from 1 to 5; with some ties means that of every
three metrics one has no ties, one is rounded to halves, one stops at a floor. Without --full, on more than 10,000 items
only one kind of ties is measured, and no bootstrap.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  (the repository is put on the path first)
from scipy import stats  # noqa: E402

from harness.statistics.bootstrap import paired_bootstrap  # noqa: E402
from harness.statistics.permutation import all_pairs_by_permutation, mask_bits  # noqa: E402
from harness.statistics.rank_intervals import TargetScores, drawn  # noqa: E402
from harness.statistics.williams import all_pairs_by_formula  # noqa: E402

Row = dict[str, Any]
CORRELATE = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}
LOOP_DRAWS, FEW = 20, 2


def main() -> None:
    """Measure each in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[300, 40_000])
    parser.add_argument("--metrics", type=int, default=30)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--full", action="store_true", help="with what takes minutes")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(MEASURED[args.one](args.items[0], args.metrics, args.draws)))
        return
    rows = [alone(name, items, args) for items in args.items for name in MEASURED
            if args.full or items <= 10_000 or name in QUICK]
    print(table(rows))
    if not all(row.get("equal", True) for row in rows):
        sys.exit("counts differ")


def alone(name: str, items: int, args: argparse.Namespace) -> Row:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, "--one", name, "--items", str(items), "--metrics", str(args.metrics),
               "--draws", str(args.draws)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"measured": name, "items": items, **json.loads(done.stdout)}


def data(items: int, metrics: int, ties: str) -> tuple[Any, Any]:
    """Ratings and scores that agree with them more or less."""
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, items).astype(float)
    scores = rng.uniform(.1, .6, (metrics, 1)) * human + rng.normal(size=(metrics, items))
    if ties == "mixed":
        scores[::3] = np.round(scores[::3] * 2) / 2
        scores[1::3] = np.maximum(scores[1::3], .5)
    return human, (scores > 1).astype(float) if ties == "binary" else scores


def permutation(statistic: str, ties: str) -> Callable[[int, int, int], Row]:
    """All pairs by permutation, and the loop."""
    def measure(items: int, metrics: int, draws: int) -> Row:
        human, scores = data(items, metrics, ties)
        small = all_pairs_by_permutation(human, scores[: FEW + 1], statistic, LOOP_DRAWS, rng=np.random.default_rng(1))
        started = time.perf_counter()
        all_pairs_by_permutation(human, scores, statistic, draws, rng=np.random.default_rng(1))
        ours, memory = time.perf_counter() - started, peak()
        started = time.perf_counter()
        plain = [loop(human, scores[0], scores[other], statistic) for other in range(1, FEW + 1)]
        theirs = (time.perf_counter() - started) / (FEW * LOOP_DRAWS) * draws * metrics * (metrics - 1) / 2
        return result(ours, memory, theirs, equal=plain == small.p[0, 1:].tolist())

    return measure


def loop(human: Any, first: Any, second: Any, statistic: str) -> float:
    """The p of one pair over a few draws, as the paper tells it."""
    n, correlate = len(human), CORRELATE[statistic]
    bits = mask_bits(n, LOOP_DRAWS, np.random.default_rng(1))
    a, b = ((x - x.mean()) / x.std() for x in (first, second))
    observed, count = correlate(human, a)[0] - correlate(human, b)[0], 1
    for keep in np.unpackbits(bits, axis=1, count=n).astype(bool):
        x, y = np.where(keep, a, b), np.where(keep, b, a)
        count += abs(correlate(human, x)[0] - correlate(human, y)[0]) >= abs(observed) - 1e-10
    return float(count / (LOOP_DRAWS + 1))


def by_formula(items: int, metrics: int, draws: int) -> Row:
    """Williams' test of all pairs on ranks, and the three calls of scipy a pair that it saves."""
    human, scores = data(items, metrics, "mixed")
    started = time.perf_counter()
    all_pairs_by_formula(human, scores, "spearman")
    ours, memory = time.perf_counter() - started, peak()
    started = time.perf_counter()
    for x, y in ((human, scores[0]), (human, scores[1]), (scores[0], scores[1])):
        stats.spearmanr(x, y)
    return result(ours, memory, (time.perf_counter() - started) * metrics * (metrics - 1) / 2)


def paired(items: int, metrics: int, draws: int) -> Row:
    """The paired bootstrap of one pair, and a loop over some resamples."""
    human, scores = data(items, 2, "mixed")
    groups, rng = np.arange(items), np.random.default_rng(1)
    started = time.perf_counter()
    paired_bootstrap(human, scores, groups, groups, "spearman", rng, draws)
    ours, memory = time.perf_counter() - started, peak()
    return result(ours, memory, 2 * resamples(human, scores[0]) * draws)


def ranks(items: int, metrics: int, draws: int) -> Row:
    """Rank intervals of all metrics over a dataset, and a loop over some resamples of one metric."""
    human, scores = data(items, metrics, "mixed")
    started = time.perf_counter()
    drawn([TargetScores("one", human, scores)], np.random.default_rng(1), draws).values(
        lambda values: np.asarray(values[0].mean(axis=0)))
    ours, memory = time.perf_counter() - started, peak()
    return result(ours, memory, resamples(human, scores[0]) * draws * metrics)


def resamples(human: Any, scores: Any) -> float:
    """The seconds of scipy's Spearman on one resample."""
    rng, started = np.random.default_rng(1), time.perf_counter()
    for _ in range(LOOP_DRAWS):
        rows = rng.integers(len(human), size=len(human))
        stats.spearmanr(human[rows], scores[rows])
    return (time.perf_counter() - started) / LOOP_DRAWS


def result(ours: float, memory: int, theirs: float, **more: Any) -> Row:
    """A row of the table; the loop's time is extrapolated."""
    return {"seconds": round(ours, 3), "peak MiB": memory, "loop, extrapolated seconds": round(theirs, 1),
            "times faster": round(theirs / ours), **more}


def peak() -> int:
    """The most memory this process has held, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    names = ["measured", "items", "seconds", "peak MiB", "loop, extrapolated seconds", "times faster", "equal"]
    lines = [names, ["---"] * len(names), *([str(row.get(name, "")) for name in names] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


MEASURED: dict[str, Callable[[int, int, int], Row]] = {
    "permutation, pearson": permutation("pearson", "mixed"),
    "permutation, spearman, no ties": permutation("spearman", "none"),
    "permutation, spearman, some ties": permutation("spearman", "mixed"),
    "permutation, spearman, two values": permutation("spearman", "binary"),
    "williams, spearman": by_formula,
    "paired bootstrap, one pair": paired,
    "rank intervals, one dataset": ranks,
}
QUICK = ("permutation, pearson", "permutation, spearman, some ties", "williams, spearman")

if __name__ == "__main__":
    main()
