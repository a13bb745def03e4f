"""Error rates of tests at 5 % and coverage of 95 % intervals, by simulation: `python -m tools.calibration`.

The null hypothesis is true: each item has a latent quality, which raters perceive with noise and rate from 1 to 5. A
metric is the sum of the quality, noise that both metrics share, and individual noise of the same size:

    rating   mean over raters of round(3 + 0.8 (quality + noise)), clipped to 1 to 5
    metric   quality + shared + individual,     each normal with variance 1

For power, the second metric has twice the variance of individual noise; or values below 1 become 0 and others their
exponential, so that its scores are skewed and many are equal. A monotone transformation does not change ranks.

With shared contexts, five consecutive items have half of the variance of quality, shared noise and individual noise in
common, so rows are dependent. The true value of each statistic is measured once on TRUTH_ROWS independent rows;
contexts do not change it. Each block of repetitions has its own random generator.
"""

import argparse
import functools
import itertools
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before numpy: one thread per worker

import numpy as np
from scipy import stats

from harness.statistics.bootstrap import bootstrap, paired_bootstrap
from harness.statistics.estimates import DEFAULT, STATISTICS, estimate
from harness.statistics.panel import Panel, people
from harness.statistics.permutation import all_pairs_by_permutation
from harness.statistics.pooled import adjusted, all_pairs, difference, swapped
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.williams import FORMULAS, all_pairs_by_context, correlation_matrix
from tools import print_table

ALPHA, BLOCK, TRUTH_ROWS, SEED = 0.05, 50, 2_000_000, 20261121
RESAMPLED = ("pearson", "spearman")
DESIGNS = {"mean of three ratings": (3, 1), "one rating, 1 to 5": (1, 1), "mean of three, five items a context": (3, 5)}
"""Number of raters per item and of items per context."""
DATASETS, METRICS = 4, 15

Checks = Iterator[tuple[str, bool | None]]
"""Checks of a repetition: whether a test finds a difference, or an interval covers the truth; None if undefined."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000, help=f"a multiple of {BLOCK}")
    parser.add_argument("--items", type=int, nargs="+", default=[50, 300, 1000])
    parser.add_argument("--draws", type=int, default=500, help="draws of each bootstrap and permutation test")
    arguments = parser.parse_args()
    for design, (raters, _) in DESIGNS.items():
        rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(raters,)))
        first, _ = two_metrics((raters, 1), TRUTH_ROWS, rng)
        truth = {name: STATISTICS[name].value(first) for name in DEFAULT}
        rows: dict[str, dict[str, str]] = {}
        for items in arguments.items:
            with ProcessPoolExecutor(os.cpu_count()) as pool:
                run = functools.partial(block, design, items, arguments.draws, truth)
                counts = sum(pool.map(run, range(arguments.repetitions // BLOCK)), Counter[tuple[str, bool]]())
            for check in {check for check, _ in counts}:
                rows.setdefault(check, {"": check})[f"n = {items}"] = rate(counts[check, True], counts[check, False])
        print(f"\n{design}, {arguments.repetitions} repetitions: false findings at a nominal {100 * ALPHA:g} %, and "
              f"{100 * (1 - ALPHA):g} % intervals that cover the truth ({truth}), in %\n")
        print_table([rows[check] for check in sorted(rows)])


def block(design: str, items: int, draws: int, truth: dict[str, float], index: int) -> Counter[tuple[str, bool]]:
    key = (100 + list(DESIGNS).index(design), items, index)
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))
    counts = Counter[tuple[str, bool]]()
    for _ in range(BLOCK):
        board = [two_metrics(DESIGNS[design], items, rng) for _ in range(DATASETS)]
        results = itertools.chain(one_dataset(*board[0], truth, draws, rng), pooled(board, draws, rng),
                                  family(DESIGNS[design], items, draws, rng),
                                  power(DESIGNS[design], items, draws, rng))
        counts.update((check, result) for check, result in results if result is not None)
    return counts


def simulate(design: tuple[int, int], items: int, metrics: int, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Return ratings, scores (metrics, items) and contexts for metrics that agree with people equally well."""
    raters, per_context = design
    quality, shared, *individual = (normal(per_context, items, rng) for _ in range(metrics + 2))
    human = np.clip(np.rint(3 + 0.8 * (quality[:, None] + rng.normal(size=(items, raters)))), 1, 5).mean(axis=1)
    return human, quality + shared + np.stack(individual), np.arange(items) // per_context


def normal(per_context: int, items: int, rng: np.random.Generator) -> Any:
    """Draw normal numbers of variance 1; if several items share a context, half of the variance is the context's."""
    if per_context == 1:
        return rng.normal(size=items)
    contexts = np.repeat(rng.normal(size=-(-items // per_context)), per_context)[:items]
    return (contexts + rng.normal(size=items)) / math.sqrt(2)


def perm_both(human: Any, scores: Any, context: Any, draws: int, rng: np.random.Generator,
              statistic: str = "spearman") -> bool | None:
    parts = swapped(TargetScores("", human, scores, context), int(rng.integers(2**32)), draws, statistic)
    return significant(all_pairs([parts], np.ones(1)).p[0, 1])


def two_metrics(design: tuple[int, int], items: int, rng: np.random.Generator) -> tuple[Panel, Panel]:
    human, (first, second), context = simulate(design, items, 2, rng)
    system = np.zeros(items, dtype=np.int64)
    return Panel(human, first, system, context), Panel(human, second, system, context)


def one_dataset(first: Panel, second: Panel, truth: dict[str, float], draws: int, rng: np.random.Generator) -> Checks:
    scores = np.stack([first.metric, second.metric])
    for name in DEFAULT:
        r = correlation_matrix(np.stack([first.human, *scores]), name)
        for test, function in FORMULAS.items():
            yield f"{name}, test: {test}", significant(function(r[0, 1], r[0, 2], r[1, 2], first.n)[1])
        formula = estimate(first, name)
        yield f"{name}, interval: formula", covers(formula.low, formula.high, truth[name])
    contexts = {"row": np.arange(first.n), **({"context": first.context} if len(set(first.context)) < first.n else {})}
    for name in RESAMPLED:
        robust = all_pairs_by_context(first.human, scores, first.context, name)
        yield f"{name}, test: Williams by context", significant(robust.p[0, 1])
    for (by, context), name in itertools.product(contexts.items(), RESAMPLED):
        rows = replace(first, context=context)
        yield f"{name}, test: PERM-BOTH by {by}", perm_both(first.human, scores, context, draws, rng, name)
        permuted = all_pairs_by_permutation(rows, scores, name, draws, rng=rng)
        yield f"{name}, test: PERM-BOTH on standardised scores by {by}", significant(permuted.p[0, 1])
        paired = paired_bootstrap(rows, scores, name, rng, draws)
        yield f"{name}, test: paired bootstrap by {by}", significant(paired.p[0, 1])
        yield f"{name}, interval: BCa by {by}", covers(*bootstrap(rows, name, rng, draws), truth[name])


def pooled(board: Sequence[tuple[Panel, Panel]], draws: int, rng: np.random.Generator) -> Checks:
    seed = int(rng.integers(2**32))
    parts = [swapped(TargetScores(str(number), first.human, np.stack([first.metric, second.metric]), first.context),
                     seed, draws) for number, (first, second) in enumerate(board)]
    weight = np.full(len(parts), 1 / len(parts))
    tests = all_pairs(parts, weight)
    yield f"spearman, test: PERM-BOTH over {len(parts)}", significant(tests.p[0, 1])
    for size, weights in ((1, np.ones(1)), (len(parts), weight)):
        interval = difference(parts[:size], weights, 0, 1, 1.0)
        yield f"spearman, interval: difference over {size}", covers(interval.low, interval.high, 0)


def family(design: tuple[int, int], items: int, draws: int, rng: np.random.Generator) -> Checks:
    """Test whether any two of METRICS equal metrics differ, and whether the best two do among as many worse metrics."""
    human, scores, context = simulate(design, items, METRICS, rng)
    worse = np.vstack([scores, scores + 3 * rng.normal(size=scores.shape)])
    parts = swapped(TargetScores("", human, worse, context), int(rng.integers(2**32)), draws)
    weight = np.ones(1)
    equal = parts.take(range(METRICS))
    yield f"spearman, any of {METRICS} by PERM-BOTH and Benjamini-Hochberg", significant(
        np.nanmin(adjusted(all_pairs([equal], weight), draws)))
    first, second = np.argsort(-equal.values)[:2]
    yield f"spearman, lead among {METRICS} equal and {METRICS} worse", significant(
        adjusted(all_pairs([parts], weight), draws)[first, second])


def power(design: tuple[int, int], items: int, draws: int, rng: np.random.Generator) -> Checks:
    """Test differences in noise and in shape, and a monotone transformation, with whole contexts."""
    human, (first, second, third), context = simulate(design, items, 3, rng)
    noisier = second + normal(design[1], items, rng)
    for name, other in (("twice the noise", noisier), ("skewed", np.where(second < 1, 0, np.exp(second))),
                        ("twice the noise, exponential", np.exp(2 * noisier)),
                        ("equal, exponential", np.exp(2 * third))):
        scores, rows = np.stack([first, other]), people(human, context)
        yield f"spearman, {name}: PERM-BOTH", perm_both(human, scores, context, draws, rng)
        for test, tests in (("PERM-BOTH on standardised scores", all_pairs_by_permutation(
                                rows, scores, "spearman", draws, rng=rng)),
                            ("Williams by context", all_pairs_by_context(human, scores, context, "spearman")),
                            ("paired bootstrap", paired_bootstrap(rows, scores, "spearman", rng, draws))):
            yield f"spearman, {name}: {test}", significant(tests.p[0, 1])


def significant(p: Any) -> bool | None:
    return None if math.isnan(p) else bool(p < ALPHA)


def covers(low: float, high: float, value: float) -> bool | None:
    return None if math.isnan(low) or math.isnan(high) else bool(low <= value <= high)


def rate(hits: int, misses: int) -> str:
    """Format a share in percent with its 95 % interval for Monte-Carlo error (Wilson 1927)."""
    low, high = stats.binomtest(hits, hits + misses).proportion_ci(method="wilson")
    return f"{100 * hits / (hits + misses):.1f} ({100 * low:.1f} to {100 * high:.1f})"


if __name__ == "__main__":
    main()
