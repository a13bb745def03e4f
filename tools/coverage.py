"""Coverage of estimated mean ratings on real ratings: `python -m tools.coverage RESULTS... > coverage.csv`.

Each dataset is treated as the population: each draw resamples its contexts with replacement and keeps the ratings of
30, 50 or 100 items, or of whole contexts with at least that many items. The truth is the mean of all ratings. The
scores are those of the column that correlates best with the ratings. Draws without an interval, because all their
ratings are equal, are counted separately. Prints a row per target, number of ratings and sampling unit.
"""

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from harness.results import files
from harness.run.correlate import TargetData, mean_ratings, targets
from harness.run.system_means import MIN_CONTEXTS
from harness.statistics.panel import Codes, Mask
from harness.statistics.prediction import means

SIZES, SEED = (30, 50, 100), 20261125
HEADINGS = ("dataset", "quality", "column", "r", "rated", "drawn", "without interval", "coverage",
            "coverage of ratings", "width to that of ratings")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--draws", type=int, default=1000)
    arguments = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(HEADINGS)
    for folder in arguments.results:
        results = files.read(folder)
        for entry, points in zip(results.datasets, results.points, strict=True):
            for target in targets(points, mean_ratings(points, entry)):
                writer.writerows(coverage_rows(target, arguments.draws))
                sys.stdout.flush()


def coverage_rows(target: TargetData, draws: int) -> Iterator[Sequence[object]]:
    human = target.judged.means
    r = np.nan_to_num(target.values("pearson", "items")) * np.isfinite(target.scores).all(axis=1)
    best = int(np.argmax(r))
    rows = np.isfinite(human)
    human, scores = human[rows], target.scores[best][rows]
    unit = np.unique(target.units[rows], return_inverse=True)[1].ravel()
    members = [np.flatnonzero(unit == number) for number in range(int(unit.max()) + 1)]
    for size in SIZES if len(members) >= MIN_CONTEXTS else ():
        for sampling_unit in ("items", "contexts"):
            rng = np.random.default_rng(SEED)
            covers, widths = [], []
            for _ in range(draws):
                items, units, is_rated = drawn(members, size, sampling_unit, rng)
                ratings, system = np.where(is_rated, human[items], np.nan), np.zeros(len(items), dtype=np.int64)
                ends = np.array([means(ratings, values, system, units).intervals for values in (scores[items], None)])
                ends = ends[:, :, 0]
                if np.ptp(human[items][is_rated]) > 0 and np.isfinite(ends).all():
                    covers.append((ends[:, 0] <= human.mean()) & (human.mean() <= ends[:, 1]))
                    widths.append(ends[:, 1] - ends[:, 0])
            if covers:
                with_scores, ratings_only = np.mean(covers, axis=0)
                width = np.mean(widths, axis=0)
                yield (*target.key, "/".join(target.names[best]), f"{r[best]:.3f}", size, sampling_unit,
                       draws - len(covers), f"{with_scores:.3f}", f"{ratings_only:.3f}", f"{width[0] / width[1]:.3f}")


def drawn(members: Sequence[Codes], size: int, unit: str, rng: np.random.Generator) -> tuple[Codes, Codes, Mask]:
    """Draw contexts; return their items, each item's context, and a mask of the rated items."""
    sample = rng.integers(len(members), size=len(members))
    lengths = [len(members[number]) for number in sample]
    ends = np.cumsum(lengths)
    is_rated = np.zeros(ends[-1], dtype=np.bool_)
    if unit == "items":
        is_rated[rng.permutation(len(is_rated))[:size]] = True
    else:
        is_rated[:ends[min(int(np.searchsorted(ends, size)), len(ends) - 1)]] = True
    return np.concatenate([members[number] for number in sample]), np.repeat(np.arange(len(sample)), lengths), is_rated


if __name__ == "__main__":
    main()
