"""Do tests at 5 % err in 5 % of cases, and do 95 % intervals hold the truth in 95 %? Measured by simulation.

    python tools/calibration.py [--repetitions 2000] [--items 50 300 1000] [--draws 500]

The null hypothesis is made true. An item has a latent quality; a rater sees it with noise and gives 1 to 5, rounded and
cut off at the ends; the rating is one rater's or the mean of three. A metric is the quality, noise shared by both
metrics and noise of its own of the same size:

    rating   mean over raters of round(3 + 0.8 (quality + noise)), at least 1 and at most 5
    metric   quality + shared + own,     every part normal with variance 1 (equally correlated, and with each other)

Of the design `contexts`, five items in a row share a context, and half the variance of quality, shared and own is the
context's: rows are no longer independent. What an interval should hold is measured once on TRUTH rows without contexts,
which do not change it. All random numbers come from one seed, and a block of repetitions has its own.
"""

import argparse
import functools
import itertools
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before numpy: a worker is one thread
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from scipy import stats

from harness.statistics.bootstrap import bootstrap, paired_bootstrap
from harness.statistics.estimates import DEFAULT, STATISTICS, estimate
from harness.statistics.panel import Panel
from harness.statistics.permutation import all_pairs_by_permutation, below_draws
from harness.statistics.pooled import all_pairs, differences
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.significance import over_pairs
from harness.statistics.williams import FORMULAS, all_pairs_by_context, correlation_matrix
from tools.processes import show

ALPHA, BLOCK, TRUTH, SEED = 0.05, 50, 2_000_000, 20261121
RESAMPLED = ("pearson", "spearman")
DESIGNS = {"mean of three ratings": (3, 1), "one rating, 1 to 5": (1, 1), "mean of three, five items a context": (3, 5)}
"""How many raters an item has, and how many items share a context."""
DATASETS, METRICS = 4, 15
"""How many datasets a board has, and how many metrics are compared at once."""


def main() -> None:
    """Simulate, and print for each design the share of false findings, and that of intervals that hold the truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000, help=f"a multiple of {BLOCK}")
    parser.add_argument("--items", type=int, nargs="+", default=[50, 300, 1000])
    parser.add_argument("--draws", type=int, default=500, help="of each bootstrap and permutation")
    args = parser.parse_args()
    for design, (raters, _) in DESIGNS.items():
        rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(raters,)))
        first, _ = sample((raters, 1), TRUTH, rng)
        truth = {name: STATISTICS[name].value(first) for name in DEFAULT}
        rates: dict[str, dict[str, str]] = {}
        for items in args.items:
            with ProcessPoolExecutor(os.cpu_count()) as pool:
                one = functools.partial(block, design, items, args.draws, truth)
                total = sum(pool.map(one, range(args.repetitions // BLOCK)), Counter[tuple[str, bool]]())
            for check in {check for check, _ in total}:
                rates.setdefault(check, {"": check})[f"n = {items}"] = rate(total[check, True], total[check, False])
        print(f"\n{design}, {args.repetitions} repetitions: false findings at a nominal {100 * ALPHA:g} %, and "
              f"{100 * (1 - ALPHA):g} % intervals that hold the truth ({truth}), in %\n")
        show([rates[check] for check in sorted(rates)], False)


def sample(design: tuple[int, int], items: int, rng: np.random.Generator) -> tuple[Panel, Panel]:
    """The panels of two metrics that agree with people alike."""
    raters, per_context = design
    quality, shared, own, other = (part(per_context, items, rng) for _ in range(4))
    seen = quality[:, None] + rng.normal(size=(items, raters))
    human = np.clip(np.rint(3 + 0.8 * seen), 1, 5).mean(axis=1)
    context, system = np.arange(items) // per_context, np.zeros(items, dtype=np.int64)
    return (Panel(human, quality + shared + own, system, context),
            Panel(human, quality + shared + other, system, context))


def part(per_context: int, items: int, rng: np.random.Generator) -> Any:
    """Normal numbers of variance 1, half of it that of the context where several items share one."""
    if per_context == 1:
        return rng.normal(size=items)
    contexts = np.repeat(rng.normal(size=-(-items // per_context)), per_context)[:items]
    return (contexts + rng.normal(size=items)) / math.sqrt(2)


def block(design: str, items: int, draws: int, truth: dict[str, float], number: int) -> Counter[tuple[str, bool]]:
    """How often each check was so, and not, in a block of repetitions."""
    key = (100 + list(DESIGNS).index(design), items, number)
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))
    counts = Counter[tuple[str, bool]]()
    for _ in range(BLOCK):
        board = [sample(DESIGNS[design], items, rng) for _ in range(DATASETS)]
        for check, so in itertools.chain(checks(*board[0], truth, draws, rng), pooled(board, draws, rng),
                                         family(DESIGNS[design], items, draws, rng)):
            if so is not None:
                counts[check, so] += 1
    return counts


def checks(first: Panel, second: Panel, truth: dict[str, float], draws: int, rng: np.random.Generator,
           ) -> Iterator[tuple[str, bool | None]]:
    """Whether each test finds a difference, and each interval holds the truth; None where there is no result."""
    scores = np.stack([first.metric, second.metric])
    for name in DEFAULT:
        r = correlation_matrix(np.stack([first.human, *scores]), name)
        for test, function in FORMULAS.items():
            yield f"{name}, test: {test}", below(float(function(r[0, 1], r[0, 2], r[1, 2], first.n)[1]))
        own = estimate(first, name)
        yield f"{name}, interval: formula", holds(own.low, own.high, truth[name])
    contexts = {"row": np.arange(first.n), **({"context": first.context} if len(set(first.context)) < first.n else {})}
    for name in RESAMPLED:
        robust = all_pairs_by_context(first.human, scores, first.context, name)
        yield f"{name}, test: Williams by context", below(float(robust.p[0, 1]))
    for by, context in contexts.items():
        for name in RESAMPLED:
            permuted = all_pairs_by_permutation(first.human, scores, name, draws, rng=rng, context=context)
            yield f"{name}, test: PERM-BOTH by {by}", below(float(permuted.p[0, 1]))
            drawn = paired_bootstrap(first.human, scores, first.system, context, name, rng, draws)
            yield f"{name}, test: paired bootstrap by {by}", below(float(drawn.p[0, 1]))
            resampled = bootstrap(replace(first, context=context), name, rng, draws)
            yield f"{name}, interval: BCa by {by}", holds(resampled.low, resampled.high, truth[name])


def pooled(board: Sequence[tuple[Panel, Panel]], draws: int, rng: np.random.Generator,
           ) -> Iterator[tuple[str, bool | None]]:
    """Whether the pooled difference over datasets, or over the first alone, is established."""
    targets = [TargetScores(str(number), first.human, np.stack([first.metric, second.metric]), first.context)
               for number, (first, second) in enumerate(board)]
    for size in (1, len(targets)):
        (found,) = differences(targets[:size], [(0, 1)], rng, draws=draws)
        yield f"spearman, test: pooled over {size}", below(found.p)
        (quick,) = all_pairs(targets[:size], np.full((1, size), 1 / size), rng, draws)
        yield f"spearman, test: PERM-BOTH to first order over {size}", below(float(quick.p[0, 1]))


def family(design: tuple[int, int], items: int, draws: int, rng: np.random.Generator) -> Iterator[tuple[str, bool]]:
    """Whether of METRICS that agree with people alike any two are told apart, adjusted by Holm over all pairs."""
    raters, per_context = design
    quality, shared = part(per_context, items, rng), part(per_context, items, rng)
    seen = quality[:, None] + rng.normal(size=(items, raters))
    human, context = np.clip(np.rint(3 + 0.8 * seen), 1, 5).mean(axis=1), np.arange(items) // per_context
    scores = quality + shared + np.stack([part(per_context, items, rng) for _ in range(METRICS)])
    for name in RESAMPLED:
        tests = all_pairs_by_permutation(human, scores, name, draws, rng=rng, context=context)
        adjusted = over_pairs(below_draws(tests, draws))
        yield f"{name}, any of {METRICS} by PERM-BOTH and Holm", bool(np.nanmin(adjusted) < ALPHA)


def below(p: float) -> bool | None:
    """Whether a test finds a difference; None without a p."""
    return None if math.isnan(p) else bool(p < ALPHA)


def holds(low: float, high: float, value: float) -> bool | None:
    """Whether an interval holds the value; None without an interval."""
    return None if math.isnan(low) or math.isnan(high) else bool(low <= value <= high)


def rate(so: int, otherwise: int) -> str:
    """A share in percent with its Monte-Carlo 95 % interval (Wilson 1927)."""
    low, high = stats.binomtest(so, so + otherwise).proportion_ci(method="wilson")
    return f"{100 * so / (so + otherwise):.1f} ({100 * low:.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    main()
