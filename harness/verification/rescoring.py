"""Score the datasets of a bundle again with the metrics of this installation that have the same signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from benchmarks.dataset import Dataset
from benchmarks.errors import nearest
from harness.bundle import scores_of, without_folders, without_ratings
from harness.errors import BadConfig
from harness.results.entries import MetricEntry
from harness.results.rows import ColumnKey, ItemScores, Results
from harness.run import entries
from harness.scoring.score import inputs
from harness.scoring.scorer import Scorer
from harness.statistics.panel import Vector
from metrics import registry
from metrics.errors import MetricError
from metrics.metric import checkpoints
from metrics.models.service import Models
from metrics.registry import Chosen

How = Literal["auto", "always", "never"]
"""When to score again; auto: only metrics without models, which take seconds."""

CARD = ("title", "family", "columns", "needs", "levels", "scope", "learned_on", "fitted_on", "system")
"""Fields of a metric that should be those of an installed metric with the same signature."""


class InstalledMetric(NamedTuple):
    """A metric of a bundle that is installed here; `exact` if it uses no model, `scored` if it is scored again."""

    packed: MetricEntry
    here: MetricEntry
    chosen: Chosen
    exact: bool
    scored: bool


def metrics_here(bundle: Results, models: Models, how: How, more: Sequence[str], notes: list[str],
                 ) -> list[InstalledMetric]:
    """Return the installed metrics, and add a note on each metric of the bundle; `more` names metrics to load."""
    named = {chosen.label: chosen for chosen in (registry.choose(name, seed=bundle.run.seed) for name in more)}
    if unknown := sorted(named.keys() - {entry.name for entry in bundle.metrics}):
        raise BadConfig(f"{unknown[0]}: the bundle has no metric of that name; "
                        f"{nearest(unknown[0], (entry.name for entry in bundle.metrics))}")
    metrics = []
    for entry in bundle.metrics:
        chosen, reason = _same(entry, models, bundle.run.seed, named)
        if chosen is not None:
            exact = not any(part.card.models or checkpoints(part) for part in inputs(chosen.metric))
            reason = {"always": "", "never": "not requested"}.get(
                how, "" if exact else "uses a model; add --rescore always")
            card = entries.metric_entry(chosen, models)
            here = replace(entry, **{name: getattr(card, name) for name in CARD})
            metrics.append(InstalledMetric(entry, here, chosen, exact, not reason))
        notes.append(f"not scored again: {entry.name}: {reason}" if reason else f"scored again: {entry.name}")
    return metrics


def _same(entry: MetricEntry, models: Models, seed: int, named: Mapping[str, Chosen]) -> tuple[Chosen | None, str]:
    """Return the metric with the name and signature of an entry, or None and the reason."""
    name, options = registry.split(entry.name) if entry.name.isprintable() else ("", "")
    if entry.name not in named:
        if name not in registry.names():
            return None, "no metric of that name is installed here; name its file or folder with --with"
        if any(character in options for character in "/\\~:"):  # never read a path that a bundle names
            return None, "its options name a file or a model; allow it with --with"
    try:
        chosen = named.get(entry.name) or registry.choose(entry.name, seed=seed)
        here = entries.metric_entry(chosen, models)
    except MetricError as error:
        return None, without_folders(str(error))
    if here.signature != entry.signature:
        return None, f"its signature here is different: {without_folders(here.signed):.200}"
    return chosen, ""


def rescore(bundle: Results, dataset: Dataset, metrics: Iterable[InstalledMetric], models: Models, notes: list[str],
            ) -> tuple[ItemScores, ItemScores]:
    """Return the scores of a dataset by these metrics, as packed and as computed here.

    A metric's columns that are not packed are dropped, unless none of its columns is packed.
    """
    packed, name = scores_of(bundle, dataset), dataset.card.name
    before, after = dict[ColumnKey, Vector](), dict[ColumnKey, Vector]()
    scorer = Scorer(dataset, models)
    for chosen in (metric.chosen for metric in metrics if metric.scored):
        columns = {key: values for key, values in packed.items() if key[0] == chosen.label}
        before |= columns
        try:
            scores = scorer.scores(chosen.metric).columns
        except Exception as error:  # third-party code can raise anything
            if columns or not isinstance(error, MetricError):
                notes.append(f"not scored again: {chosen.label} on {name}: {without_folders(str(error))}")
            continue
        keys = columns or [(chosen.label, column) for column in scores]
        after |= {key: scores[column] for key in keys if (column := key[1].replace(chosen.suffix, "", 1)) in scores}
    items = tuple(item.id for item in dataset.items)
    return without_ratings(name, items, before), without_ratings(name, items, after)
