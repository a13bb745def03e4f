"""The results of the suite-wide run, presented as real data, with copies of its datasets and metrics.

Copies have different scores; correlations, Williams' tests and ranks are computed from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.results.entries import MetricEntry, TrainingEntry
from harness.results.exhibits import Exhibit, Grid, matrix
from harness.results.rows import ItemScores, Results, Timing
from harness.run import correlate, rank
from harness.run.compare import adjust_tests, labels
from harness.statistics.williams import all_pairs_by_formula
from metrics.models.checkpoint import Evaluation

NEURAL = {"models": ("tiny-encoder",), "parameters": 22_000_000, "trained_on": "made-up (none)"}
TRAINING = TrainingEntry(
    "length-head", ("length",), "tiny-encoder", "0" * 64, ("dailydialog (CC BY-NC-SA 4.0)",), 1, 500, 250, "cpu", 61.4,
    "harness train length", None,
    tuple(Evaluation(step, 1 / step, (step / 500 - 1) ** 2) for step in range(50, 501, 50)))


def exhibit(name: str = "measures", kind: str = "study", data: str = "real data") -> Exhibit:
    """Make an exhibit with a name, title and texts that need escaping."""
    grid = Grid("real", "Caption <b>", ("measure", "power", "said"),
                (("<i>τ</i>", "−0.31 ± 0.02", "yes"), ("ρ", "–", "no")), data)
    correlations = matrix("real-2", "Similar <b>", ("a", "b<"), np.array([[1.0, np.nan], [-0.5, 1.0]]), data)
    return Exhibit(name, kind, "Title <script>", "Lead.", "harness study dimensions", (grid, correlations),
                   ("A remark.",))


def _name(name: str, copy: int) -> str:
    return f"copy{copy}-{name}" if copy else name


def _metric(entry: MetricEntry, copy: int) -> MetricEntry:
    """Copy a metric; copies use a model, and every second copy is fitted on ratings."""
    columns = tuple(_name(column, copy) for column in entry.columns)
    more = {**NEURAL, "fitted_on": "ratings" if copy % 2 else "", "family": f"family {copy % 5}"} if copy else {}
    return replace(entry, name=_name(entry.name, copy), columns=columns, **more)  # type: ignore[arg-type]


def _points(points: ItemScores, copy: int, metrics: int, rng: np.random.Generator) -> ItemScores:
    """Copy item scores; the scores of copied metrics follow the ratings, with more noise in each copy."""
    latent = np.nanmean(list(points.human.values()), axis=0)
    scores = {(_name(metric, number), _name(column, number)):
              latent + rng.normal(scale=number * latent.std(), size=latent.size) if number else values
              for (metric, column), values in points.scores.items() for number in range(metrics)}
    return replace(points, dataset=_name(points.dataset, copy), scores=scores)


def _repeated(points: ItemScores, times: int) -> ItemScores:
    """Repeat every item with new ids and contexts."""
    def renumbered(numbers: Any) -> Any:
        return np.concatenate([numbers + copy * (numbers.max() + 1) for copy in range(times)])

    def tiled(values: Mapping[Any, Any]) -> dict[Any, Any]:
        return {key: np.tile(column, times) for key, column in values.items()}

    return replace(
        points, items=tuple(_name(item, copy) for copy in range(times) for item in points.items),
        systems=points.systems * times, words=np.tile(points.words, times), contexts=renumbered(points.contexts),
        human=tiled(points.human), scores=tiled(points.scores),
        conversations=None if points.conversations is None else renumbered(points.conversations))


def enlarged(run: Results, datasets: int = 1, metrics: int = 1, items: int = 1, splits: Sequence[str] = ()) -> Results:
    """Return results with the given numbers of copies of datasets, metrics and items, presented as real data.

    The copies of datasets after the first have the given splits.
    """
    rng = np.random.default_rng(5)
    if items > 1:
        run = replace(run, points=tuple(_repeated(row, items) for row in run.points),
                      datasets=tuple(replace(entry, items=entry.items * items) for entry in run.datasets))
    entries = tuple(replace(entry, name=_name(entry.name, copy), origin="imported",
                            split=(entry.split, *splits)[copy] if splits else entry.split)
                    for entry in run.datasets for copy in range(datasets))
    points = tuple(_points(row, copy, metrics, rng) for row in run.points for copy in range(datasets))
    by_name = {entry.name: entry for entry in entries}
    targets = [target for row in points for target in correlate.targets(
        row, correlate.mean_ratings(row, by_name[row.dataset]))]
    correlations = tuple(replace(row, corrected=row.value / 0.9) for target in targets
                         for row in correlate.correlations(target))
    ranking = [row for split in ("dev", "test", *splits) for board, cells in rank.boards(
        split, frozenset(target.key for target in targets if by_name[target.dataset].split == split), entries)
        for row in rank.ranking(board, "real", cells, correlations)]
    rows = {name: tuple(replace(row, dataset=_name(row.dataset, copy)) for row in getattr(run, name)
                        for copy in range(datasets)) for name in ("reliability", "examples")}
    rows |= {name: tuple(replace(row, dataset=_name(row.dataset, copy), metric=_name(row.metric, number))
                         for row in getattr(run, name) for copy in range(datasets) for number in range(metrics))
             for name in ("skips", "failures")}
    made = tuple(_metric(entry, copy) for entry in run.metrics for copy in range(metrics))
    return replace(
        run, datasets=entries, points=points, correlations=correlations,
        run=replace(run.run, commit=None, command="", packages={"numpy": "2", "scipy": "1"}),
        metrics=made, timings=tuple(Timing(entry.name, metric.name, entry.items, 0.001 * (number + 1) * entry.items)
                                    for entry in entries for number, metric in enumerate(made)),
        ranking=tuple(row if row.rank is None or row.statistic != "spearman" else replace(
            row, low=max(1.0, row.rank - 2), high=row.rank + 2.0, error=0.02, letters="abcd"[row.rank % 4])
            for row in ranking),
        comparisons=tuple(
            adjust_tests(*target.key, labels(target.names), statistic, "perm-both",
                         all_pairs_by_formula(target.judged.means, target.scores, statistic))
            for target in targets for statistic in ("spearman", "pearson")),
        trainings=(TRAINING,), exhibits=(exhibit(), exhibit("dstc10", "challenge")), **rows)
