"""Comparisons of metrics against a plain loop over scipy, side by side in one run.

    python tests/bench/comparing.py [--items 300 40000] [--metrics 30] [--draws 1000]

The loop tests a few pairs over a few draws; its time for all of them is extrapolated. A small run of ours takes the
same pairs and draws: both must have the same p. The scores are made up, the ratings go from 1 to 5; with some ties
means that of every three metrics one has no ties, one is rounded to halves, one stops at a floor.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from scipy import stats

from harness.statistics.permutation import all_pairs_by_permutation, mask_bits
from harness.statistics.williams import all_pairs_by_formula
from tests.bench.processes import show

Row = dict[str, Any]
CORRELATE = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}
LOOP_DRAWS, FEW = 20, 2


def main() -> None:
    """Measure each, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[300, 40_000])
    parser.add_argument("--metrics", type=int, default=30)
    parser.add_argument("--draws", type=int, default=1000)
    args = parser.parse_args()
    rows: list[Row] = [{"measured": name, "items": items, **measure(items, args.metrics, args.draws)}
                       for items in args.items for name, measure in MEASURED.items()]
    show(rows, False)
    if not all(row.get("equal", True) for row in rows):
        sys.exit("counts differ")


def timed(work: Callable[[], Any]) -> float:
    """The seconds of a call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def result(ours: float, theirs: float, **more: Any) -> Row:
    """A row of the table; the loop's time is extrapolated."""
    return {"seconds": round(ours, 3), "loop, extrapolated seconds": round(theirs, 1),
            "times faster": round(theirs / ours), **more}


def data(items: int, metrics: int, ties: str) -> tuple[Any, Any]:
    """Ratings and scores that agree with them more or less."""
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, items).astype(float)
    scores = rng.uniform(.1, .6, (metrics, 1)) * human + rng.normal(size=(metrics, items))
    if ties == "mixed":
        scores[::3] = np.round(scores[::3] * 2) / 2
        scores[1::3] = np.maximum(scores[1::3], .5)
    return human, (scores > 1).astype(float) if ties == "binary" else scores


def permutation(statistic: str, ties: str, items: int, metrics: int, draws: int) -> Row:
    """All pairs by permutation, and the loop."""
    human, scores = data(items, metrics, ties)
    small = all_pairs_by_permutation(human, scores[: FEW + 1], statistic, LOOP_DRAWS, rng=np.random.default_rng(1))
    ours = timed(lambda: all_pairs_by_permutation(human, scores, statistic, draws, rng=np.random.default_rng(1)))
    plain: list[float] = []
    theirs = timed(lambda: plain.extend(loop(human, scores[0], other, statistic) for other in scores[1 : FEW + 1]))
    return result(ours, theirs / (FEW * LOOP_DRAWS) * draws * metrics * (metrics - 1) / 2,
                  equal=plain == small.p[0, 1:].tolist())


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
    pairs = ((human, scores[0]), (human, scores[1]), (scores[0], scores[1]))
    theirs = timed(lambda: [stats.spearmanr(x, y) for x, y in pairs])
    return result(timed(lambda: all_pairs_by_formula(human, scores, "spearman")), theirs * metrics * (metrics - 1) / 2)


MEASURED: dict[str, Callable[[int, int, int], Row]] = {
    "permutation, pearson": partial(permutation, "pearson", "mixed"),
    "permutation, spearman, no ties": partial(permutation, "spearman", "none"),
    "permutation, spearman, some ties": partial(permutation, "spearman", "mixed"),
    "permutation, spearman, two values": partial(permutation, "spearman", "binary"),
    "williams, spearman": by_formula,
}

if __name__ == "__main__":
    main()
