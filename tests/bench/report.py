"""How long the statistics of a whole report take at the official sizes: 19 datasets, every quality, 30 metrics.

`python tests/bench/report.py [--metrics 30] [--draws 1000]`. Ratings and scores are made up, with ties and as
many votes as the real sets have; sizes and qualities are those of the cards. Measured: correlations with intervals,
reliability, Williams' test of every pair with adjusted p-values, and (apart) the rank intervals of both boards.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks import registry
from benchmarks.dataset import DatasetCard
from harness.results.cache import Cache
from harness.run import compare
from harness.run.correlate import Judged, TargetData
from harness.run.intervals import RankIntervals
from harness.run.plan import Draws
from harness.run.rank import Board, ranking
from harness.statistics.panel import codes
from tests.bench.processes import peak, show

VOTES = 4


def cells(card: DatasetCard, metrics: int, rng: np.random.Generator) -> list[TargetData]:
    """The cells of a dataset of full size: a latent quality, votes of 1 to 5, metrics that follow it more or less."""
    truth = rng.normal(size=card.size)
    scores = np.array([truth + rng.normal(0, 1 + number / 5, card.size) for number in range(metrics)])
    names = tuple((f"m{number:02d}", f"m{number:02d}") for number in range(metrics))
    system, context = codes(range(card.size)) % 5, codes(range(card.size)) // 5
    targets = []
    for quality in card.qualities:
        votes = np.clip(np.rint(3 + truth[:, None] + rng.normal(size=(card.size, VOTES))), 1, 5)
        judged = Judged(quality, tuple(map(tuple, votes.tolist())), votes.mean(axis=1))
        targets.append(TargetData(card.name, judged, names, scores, system, context))
    return targets


def bench(metrics: int, draws: int) -> list[tuple[str, float, int]]:
    """Each part, its seconds and the peak memory."""
    rng = np.random.default_rng(0)
    every = [cell for card in registry.cards().values() for cell in cells(card, metrics, rng)]
    with TemporaryDirectory() as folder:
        memo = Cache(Path(folder))
        start = time.perf_counter()
        compared = [compare.on_target(cell, Draws(0), memo) for cell in every]
        measured = time.perf_counter() - start
        correlations = [row for result in compared for row in result.correlations]
        start = time.perf_counter()
        for split in ("dev", "test"):
            names = registry.names("dev" if split == "dev" else "test")
            on_it = [cell for cell in every if cell.dataset in names]
            board = Board(split, "real", frozenset((cell.dataset, cell.quality) for cell in on_it))
            list(RankIntervals(on_it, Draws(0, draws), memo).beside(tuple(ranking(board, correlations)), board.cells))
        ranked = time.perf_counter() - start
    most = peak()
    comparisons = sum(len(own) for result in compared for own in result.comparisons)
    what = f"{len(every)} cells, {metrics} metrics: {len(correlations):,} correlations, {comparisons:,} comparisons"
    return [(what, measured, most), (f"rank intervals of both boards, {draws} draws", ranked, most)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", type=int, default=30)
    parser.add_argument("--draws", type=int, default=1000)
    args = parser.parse_args()
    show([{"what": what, "seconds": round(seconds, 1), "peak MiB": memory}
          for what, seconds, memory in bench(args.metrics, args.draws)], False)
