"""Do tests at 5 % err in 5 % of cases, and do 95 % intervals hold the truth in 95 %? Measured by simulation.

    python tests/bench/calibration.py [--repetitions 2000] [--workers 2] [--out FILE]

The null hypothesis is made true. An item has a latent quality; a rater sees it with noise and gives 1 to 5, rounded and
cut off at the ends; the rating is one rater's or the mean of three. A metric is the quality, noise shared by both
metrics and noise of its own of the same size:

    rating   mean over raters of round(3 + 0.8 (quality + noise)), at least 1 and at most 5
    metric   quality + shared + own,     every part normal with variance 1 (equally correlated, and with each other)

Of the design `contexts`, five items in a row share a context, and half the variance of quality, shared and own is the
context's: rows are no longer independent. What an interval should hold is measured once on TRUTH rows without contexts,
which do not change it. All random numbers come from one seed, and a block of repetitions has its own, so that neither
the number of workers nor an interruption changes a byte. FILE keeps the blocks done; a second call goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # before numpy: a worker is one thread
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  (the repository is put on the path first)
from scipy import stats  # noqa: E402

from harness.statistics.bootstrap import bootstrap, paired_bootstrap  # noqa: E402
from harness.statistics.estimates import DEFAULT, STATISTICS, estimate  # noqa: E402
from harness.statistics.panel import Panel  # noqa: E402
from harness.statistics.permutation import all_pairs_by_permutation  # noqa: E402
from harness.statistics.williams import FORMULAS, correlation_matrix  # noqa: E402

ALPHA, BLOCK, TRUTH, SEED = 0.05, 50, 2_000_000, 20261121
RESAMPLED = ("pearson", "spearman")
Checks = dict[str, bool | None]
Counts = dict[str, list[int]]
"""Of each check how often it was so, and in how many repetitions there was a result."""


@dataclass(frozen=True, slots=True)
class Design:
    """How ratings and scores are made."""

    title: str
    raters: int
    per_context: int = 1


DESIGNS = {"mean": Design("mean of three ratings", 3), "single": Design("one rating, 1 to 5", 1),
           "contexts": Design("mean of three, five items a context", 3, 5)}


@dataclass(frozen=True, slots=True)
class Task:
    """A block of repetitions of one design at one number of items."""

    design: str
    items: int
    block: int
    draws: int
    truth: dict[str, float]

    @property
    def key(self) -> str:
        """The block's name in the file."""
        return f"{self.design}/{self.items}/{self.block}"


def main() -> None:
    """Simulate what FILE does not have yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000, help=f"a multiple of {BLOCK}")
    parser.add_argument("--items", type=int, nargs="+", default=[50, 300, 1000])
    parser.add_argument("--design", nargs="+", choices=DESIGNS, default=list(DESIGNS))
    parser.add_argument("--draws", type=int, default=500, help="of each bootstrap and permutation")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="JSON of the blocks done")
    args = parser.parse_args()
    if args.repetitions % BLOCK:
        parser.error(f"--repetitions {args.repetitions} is no multiple of {BLOCK}")
    kept = opened(args.out, args.draws)
    simulate(kept, args)
    print("\n\n".join(tables(kept, args)))


def opened(path: Path | None, draws: int) -> dict[str, Any]:
    """What the file has, or the start of one."""
    settings = {"seed": SEED, "draws": draws, "block": BLOCK, "alpha": ALPHA, "truth_rows": TRUTH}
    if path is None or not path.exists():
        return {"settings": settings, "truth": {}, "blocks": {}}
    kept: dict[str, Any] = json.loads(path.read_text())
    if kept["settings"] != settings:
        sys.exit(f"{path} was made with {kept['settings']}, not {settings}; name another file")
    return kept


def simulate(kept: dict[str, Any], args: argparse.Namespace) -> None:
    """Every block that is not there yet, in any order."""
    for name in args.design:
        if name not in kept["truth"]:
            kept["truth"][name] = truth(DESIGNS[name])
    tasks = [task for task in planned(kept, args) if task.key not in kept["blocks"]]
    with ProcessPoolExecutor(args.workers) as pool:
        waiting = {pool.submit(block, task): task for task in tasks}
        for done, future in enumerate(as_completed(waiting), 1):
            kept["blocks"][waiting[future].key] = future.result()
            print(f"{done} of {len(tasks)} blocks", file=sys.stderr)
            if args.out:
                beside = args.out.with_suffix(".part")
                beside.write_text(json.dumps(kept, indent=1, sort_keys=True))
                beside.replace(args.out)


def planned(kept: dict[str, Any], args: argparse.Namespace) -> Iterator[Task]:
    """The blocks asked for."""
    for name in args.design:
        for items in args.items:
            for number in range(args.repetitions // BLOCK):
                yield Task(name, items, number, args.draws, kept["truth"][name])


def truth(design: Design) -> dict[str, float]:
    """Each correlation of a metric with the ratings, on very many rows."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(design.raters,)))
    first, _ = sample(Design("", design.raters), TRUTH, rng)
    return {name: STATISTICS[name].value(first) for name in DEFAULT}


def sample(design: Design, items: int, rng: np.random.Generator) -> tuple[Panel, Panel]:
    """The panels of two metrics that agree with people alike."""
    quality, shared, own, other = (part(design.per_context, items, rng) for _ in range(4))
    seen = quality[:, None] + rng.normal(size=(items, design.raters))
    human = np.clip(np.rint(3 + 0.8 * seen), 1, 5).mean(axis=1)
    context, system = np.arange(items) // design.per_context, np.zeros(items, dtype=np.int64)
    return (Panel(human, quality + shared + own, system, context),
            Panel(human, quality + shared + other, system, context))


def part(per_context: int, items: int, rng: np.random.Generator) -> Any:
    """Normal numbers of variance 1, half of it that of the context where several items share one."""
    if per_context == 1:
        return rng.normal(size=items)
    contexts = np.repeat(rng.normal(size=-(-items // per_context)), per_context)[:items]
    return (contexts + rng.normal(size=items)) / math.sqrt(2)


def block(task: Task) -> Counts:
    """The counts of a block of repetitions; its generator depends on seed, design, items and block alone."""
    key = (100 + list(DESIGNS).index(task.design), task.items, task.block)
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=key))
    counts: Counts = {}
    for _ in range(BLOCK):
        first, second = sample(DESIGNS[task.design], task.items, rng)
        units = ["row", "context"] if DESIGNS[task.design].per_context > 1 else ["row"]
        checks = {**by_formula(first, second), **permuted(first, second, task.draws, rng),
                  **formula_intervals(first, task.truth)}
        if len(units) > 1:
            checks |= permuted(first, second, task.draws, rng.spawn(1)[0], by_context=True)
        for by in units:
            ends = [replace(rows, context=np.arange(rows.n)) if by == "row" else rows for rows in (first, second)]
            checks |= paired(*ends, by, task.draws, rng)
            checks |= bootstrapped(ends[0], task.truth, by, task.draws, rng)
        for check, result in checks.items():
            count = counts.setdefault(check, [0, 0])
            count[0] += result is True
            count[1] += result is not None
    return counts


def below(p: float) -> bool | None:
    """Whether a test finds a difference; None without a p."""
    return None if math.isnan(p) else bool(p < ALPHA)


def holds(low: float, high: float, value: float) -> bool | None:
    """Whether an interval holds the value; None without an interval."""
    return None if math.isnan(low) or math.isnan(high) else bool(low <= value <= high)


def by_formula(first: Panel, second: Panel) -> Checks:
    """Williams', Steiger's and Meng's test."""
    checks: Checks = {}
    for name in DEFAULT:
        r = correlation_matrix(np.stack([first.human, first.metric, second.metric]), name)
        for test, function in FORMULAS.items():
            checks[f"test: {test.capitalize()}, {name}"] = below(float(function(r[0, 1], r[0, 2], r[1, 2], first.n)[1]))
    return checks


def permuted(first: Panel, second: Panel, draws: int, rng: np.random.Generator, *,
             by_context: bool = False) -> Checks:
    """PERM-BOTH, swapping rows or whole contexts."""
    scores, context = np.stack([first.metric, second.metric]), first.context if by_context else None
    label = "PERM-BOTH by context" if by_context else "PERM-BOTH by row"
    return {f"test: {label}, {name}": below(float(
        all_pairs_by_permutation(first.human, scores, name, draws, rng=rng, context=context).p[0, 1]))
        for name in RESAMPLED}


def paired(first: Panel, second: Panel, by: str, draws: int, rng: np.random.Generator) -> Checks:
    """The paired bootstrap."""
    scores = np.stack([first.metric, second.metric])
    return {f"test: paired bootstrap by {by}, {name}": below(float(
        paired_bootstrap(first.human, scores, first.system, first.context, name, rng, draws).p[0, 1]))
        for name in RESAMPLED}


def formula_intervals(first: Panel, true: dict[str, float]) -> Checks:
    """Fisher's z."""
    made = {name: estimate(first, name) for name in DEFAULT}
    return {f"interval: formula, {name}": holds(row.low, row.high, true[name]) for name, row in made.items()}


def bootstrapped(first: Panel, true: dict[str, float], by: str, draws: int, rng: np.random.Generator) -> Checks:
    """The bootstrap interval."""
    made = {name: bootstrap(first, name, rng, draws) for name in RESAMPLED}
    return {f"interval: BCa by {by}, {name}": holds(row.low, row.high, true[name]) for name, row in made.items()}


def tables(kept: dict[str, Any], args: argparse.Namespace) -> Iterator[str]:
    """For each design the share of false findings, and that of intervals that hold the truth."""
    for name in args.design:
        columns = [added(kept, name, items, args.repetitions) for items in args.items]
        for kind, title in (("test", f"false findings at a nominal {100 * ALPHA:g} %"),
                            ("interval", f"{100 * (1 - ALPHA):g} % intervals that hold the truth")):
            checks = sorted({check for column in columns for check in column if check.startswith(kind)},
                            key=lambda check: (DEFAULT.index(check.split(", ")[1]), check))
            rows = [[check.removeprefix(f"{kind}: "), *(rate(*column[check]) for column in columns)]
                    for check in checks]
            heading = f"{DESIGNS[name].title}: {title}, in %, of {args.repetitions} repetitions"
            yield markdown(heading, ["", *(f"n = {items}" for items in args.items)], rows)
        yield "truth: " + ", ".join(f"{key} {kept['truth'][name][key]:.4f}" for key in DEFAULT)


def added(kept: dict[str, Any], design: str, items: int, repetitions: int) -> Counts:
    """The counts of all blocks of a design at a number of items."""
    total: Counts = {}
    for number in range(repetitions // BLOCK):
        for check, (so, of) in kept["blocks"][f"{design}/{items}/{number}"].items():
            count = total.setdefault(check, [0, 0])
            count[0] += so
            count[1] += of
    return total


def rate(so: int, of: int) -> str:
    """A share in percent with its Monte-Carlo 95 % interval (Wilson 1927)."""
    if not of:
        return "-"
    low, high = stats.binomtest(so, of).proportion_ci(method="wilson")
    return f"{100 * so / of:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def markdown(title: str, names: list[str], rows: list[list[str]]) -> str:
    """A table as Markdown."""
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return "\n".join([f"{title}:", "", *("| " + " | ".join(line) + " |" for line in lines)])


if __name__ == "__main__":
    main()
