"""How far chance goes in a training: each metric trained with three seeds, and what it reaches with each.

A metric is trained by its own recipe, on its corpora or those of --corpus. With options it is one of an ablation, such
as `grade` beside `grade[branch=utterances]`: a difference within the spread of the seeds is none. The weights of a seed
lie in HOME/seeds/SEED/checkpoints, so that a study that was stopped trains only what is left.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.corpora import corpora
from harness.errors import BadConfig
from harness.learning import train
from harness.results.exhibits import number
from harness.results.rows import Grid
from harness.statistics.estimates import estimate
from harness.studies import Findings, StudyRequest
from metrics.models.service import Choice
from metrics.training import trainables

TITLE = "How far chance goes in a training"
FLAGS = ("metric", "dataset", "quality", "split", "corpus")
SEEDS = 3


@dataclasses.dataclass(frozen=True, slots=True)
class SeedResult:
    """A column of a metric that was trained with one seed, on one target."""

    seed: int
    metric: str
    column: str
    data: str
    dataset: str
    quality: str
    spearman: float


def study(request: StudyRequest) -> Findings:
    """Train every metric with every seed, score the chosen datasets with each, and compare."""
    if not request.selection.metrics:
        raise BadConfig("say what is trained: --metric grade, or several")
    load = functools.cache(lambda name: corpora.load(name, request.home))
    results: list[SeedResult] = []
    failures: dict[str, None] = {}
    for seed in range(request.seed, request.seed + SEEDS):
        home = _home_of(seed, request.home)
        for name in request.selection.metrics:
            _train(name, seed, home, request, load)
        groups, failed = dataclasses.replace(request, home=home).targets("harness study seeds")
        failures |= dict.fromkeys(failed)
        results += [SeedResult(seed, metric, column, group.name, target.dataset, target.quality,
                               estimate(target.panel(row), "spearman").value)
                    for group in groups for target in group.targets
                    for row, (metric, column) in enumerate(target.names)]
    if not results:
        raise BadConfig("; ".join(("nothing to study: no dataset that these metrics can score", *failures)))
    return findings(results, tuple(failures))


def findings(results: Sequence[SeedResult], failures: tuple[str, ...] = ()) -> Findings:
    """Everything that is printed and kept; a mean is over the qualities of a dataset, then over datasets."""
    tables = []
    for data in dict.fromkeys(result.data for result in results):
        own = [result for result in results if result.data == data]
        datasets = tuple(dict.fromkeys(result.dataset for result in own))
        tables.append(Grid(f"seeds-{data}", f"Mean and standard deviation of {SEEDS} seeds, {data} data",
                           ("column", "mean", *datasets), tuple(_lines(own, datasets))))
    return Findings(
        tables=tuple(tables),
        remarks=("Spearman, mean over the qualities of a dataset; in the first column over datasets, too.",),
        objects={"result": [dataclasses.asdict(result) for result in results]}, failures=failures)


def _lines(results: Sequence[SeedResult], datasets: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A line a column, the best mean first."""
    rows = []
    for column in dict.fromkeys(result.column for result in results):
        own = [result for result in results if result.column == column]
        seeds = sorted({result.seed for result in own})
        values = np.array([[_mean(result.spearman for result in own
                                  if (result.seed, result.dataset) == (seed, dataset))
                            for dataset in datasets] for seed in seeds])
        rows.append((column, values.mean(axis=1), values))
    for column, means, values in sorted(rows, key=lambda row: -float(np.nan_to_num(row[1].mean(), nan=-1))):
        yield column, _spread(means), *map(_spread, values.T)


def _mean(values: Iterator[float]) -> float:
    some = list(values)
    return float(np.mean(some)) if some else np.nan


def _spread(values: np.ndarray) -> str:
    return f"{number(float(values.mean()), 3)} ± {number(float(values.std(ddof=1)), 3)}" if len(values) > 1 else (
        number(float(values.mean()), 3))


def _home_of(seed: int, home: Path) -> Path:
    """A home with weights of its own and everything else of this one."""
    own = home / "seeds" / str(seed)
    own.mkdir(parents=True, exist_ok=True)
    (home / "training").mkdir(exist_ok=True)  # what the encoder reads is the same for all
    (own / "checkpoints").mkdir(exist_ok=True)
    shared = [path.relative_to(home) for path in home.iterdir() if path.name not in ("checkpoints", "seeds")]
    for path in (*shared, *(Path("checkpoints", name) for name in trainables.BACKBONES)):
        if (home / path).exists() and not (own / path).exists():
            (own / path).symlink_to((home / path).absolute())
    return own


def _train(name: str, seed: int, home: Path, request: StudyRequest, load: functools._lru_cache_wrapper[object]) -> None:
    choice = request.choice or Choice()
    asked = train.Request(choice.encoder, choice.lm, request.corpora, choice.device, choice.precision, seed,
                          offline=not choice.download)
    for part in trainables.parts(name):
        plan = train.plan(name, asked, home, load, part=part)  # type: ignore[arg-type]
        if plan.there() is None:
            train.train(plan, train.say)
