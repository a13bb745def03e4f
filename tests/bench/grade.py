"""What the parts of GRADE are worth: its ablations, trained over several seeds, against people's ratings of coherence.

    python tests/bench/grade.py [--variant NAME] [--seed N] [--steps N]      (both may be repeated)

Spearman's correlation on the three sets of the paper, for each variant and seed, as one JSON object a line, then mean
and standard deviation over the seeds. A seed decides the network's first weights and the batches; pairs and false
replies are those of seed 0. Corpora and sets are those of HARNESS_HOME (`harness import`, `harness fetch`). No rating
is trained on.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  (the repository is put on the path first)
from scipy.stats import spearmanr  # noqa: E402

from benchmarks import registry  # noqa: E402
from benchmarks.corpora import corpora  # noqa: E402
from harness.run.settings import home_folder  # noqa: E402
from metrics.graph.grade.metric import Grade  # noqa: E402
from metrics.models.pooled import PooledVectors  # noqa: E402
from metrics.models.service import Models  # noqa: E402
from metrics.training.loop import fit, randomness  # noqa: E402
from metrics.training.recipe import TrainingData  # noqa: E402

SETS = ("convai2-grade", "dailydialog-grade", "empathetic-grade")
VARIANTS = {
    "full": Grade(), "no graph": Grade(branch="utterances"), "no k-hop vectors": Grade(khop=False),
    "no hop weights": Grade(weighted=False), "random negatives": Grade(negatives="random"),
    "N1 = N2 = 0": Grade(first=0, second=0), "N1 = N2 = 20": Grade(first=20, second=20),
    "conceptnet": Grade(graph="conceptnet"),
}


def correlations(metric: Grade, network: Any, models: Models) -> dict[str, float]:
    """Spearman's correlation with the mean rating, set by set."""
    found = {}
    for name in SETS:
        data = registry.load(name, models.home)
        column = metric.network_scores(network, data.items, models)
        scores = dict(zip((item.id for item in data.items), column, strict=True))
        rated = [(scores[one.item], float(np.mean(one.votes))) for one in data.ratings if one.votes]
        ours, theirs = np.array(rated).T
        found[name] = round(float(spearmanr(ours, theirs, nan_policy="omit")[0]), 4)
    return found


def trained(name: str, seeds: Sequence[int], steps: int | None, home: Path) -> Iterator[dict[str, Any]]:
    """Train a variant with each seed, and correlate."""
    metric, models = VARIANTS[name], Models(home)
    given = {one: corpora.load(one, home) for one in metric.recipe.corpora}
    data = TrainingData(given, models, 0, "", PooledVectors(home / "training", models.encoder()))
    recipe = dataclasses.replace(metric.recipe, steps=steps or metric.recipe.steps)
    objective = metric.objective(data)
    for seed in seeds:
        with randomness(seed, models.machine):
            network = type(objective.network)(**objective.config)
        fitted = fit(dataclasses.replace(objective, network=network), recipe, models.machine, seed)
        yield {"variant": name, "seed": seed, "held_out": round(fitted.held_out, 5),
               **correlations(metric, network, models)}


def main() -> None:
    """Train, and print each training, then means and standard deviations over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", action="append", choices=[*VARIANTS], default=[])
    parser.add_argument("--seed", action="append", type=int, default=[])
    parser.add_argument("--steps", type=int)
    args = parser.parse_args()
    home = home_folder(None)
    for name in args.variant or VARIANTS:
        rows = []
        for row in trained(name, args.seed or range(5), args.steps, home):
            rows.append(row)
            print(json.dumps(row), flush=True)
        values = np.array([[row[one] for one in SETS] for row in rows])
        few = min(1, len(rows) - 1)
        told = [f"{one} {mean:.3f} ± {spread:.3f}" for one, mean, spread in
                zip((*SETS, "mean"), [*values.mean(axis=0), values.mean()],
                    [*values.std(axis=0, ddof=few), values.mean(axis=1).std(ddof=few)], strict=True)]
        print(f"{name}: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
