"""Score the datasets of a bundle again with the metrics of this installation that have the same signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.dataset import Dataset
from benchmarks.errors import nearest
from harness.bundle import placeless
from harness.errors import BadConfig
from harness.results.rows import MetricEntry
from harness.run import entries
from harness.scoring.scorer import Scorer
from harness.verification.bundles import TOLERANCE, Checked, order_of
from metrics import registry
from metrics.composition import Composite
from metrics.errors import MetricError
from metrics.metric import checkpoints
from metrics.models.service import Choice, Models
from metrics.registry import Chosen

How = Literal["auto", "always", "never"]
"""auto: only metrics without models, which take seconds."""


def rescore(checked: Checked, home: Path, how: How, more: Sequence[str] = ()) -> None:
    """Score the datasets that are here again and compare; `more` are metrics that are not installed."""
    bundle, models = checked.bundle, Models(home, Choice(device="cpu"))
    named = {chosen.label: chosen for chosen in (registry.choose(name, seed=bundle.run.seed) for name in more)}
    if unknown := sorted(named.keys() - {entry.name for entry in bundle.metrics}):
        raise BadConfig(f"{unknown[0]}: the bundle has no metric of that name; "
                        f"{nearest(unknown[0], (entry.name for entry in bundle.metrics))}")
    for entry in bundle.metrics if checked.here else ():
        chosen, reason = _same(entry, models, bundle.run.seed, named)
        if chosen is not None and how != "always":
            parts = [part.chosen.metric for part in chosen.metric.made_of()] \
                if isinstance(chosen.metric, Composite) else [chosen.metric]
            reads = any(part.card.models or checkpoints(part) for part in parts)
            reason = "not requested" if how == "never" else "reads a model; --rescore always" if reads else ""
        if chosen is None or reason:
            checked.not_rescored[entry.name] = reason
            continue
        card = entries.metric_entry(chosen, models)
        for name in ("columns", "needs", "levels", "scope", "learned_on"):
            if getattr(entry, name) != getattr(card, name):
                checked.differ(f"{entry.name}, {name}", str(getattr(entry, name)), str(getattr(card, name)))
        checked.rescored[entry.name] = 0
        for dataset in checked.here.values():
            _compare(checked, chosen, dataset, models)


def _same(entry: MetricEntry, models: Models, seed: int, named: Mapping[str, Chosen]) -> tuple[Chosen | None, str]:
    """Return the metric with the name and signature of an entry, or None and the reason."""
    name, options = registry.split(entry.name) if entry.name.isprintable() else ("", "")
    if entry.name not in named:
        if name not in registry.names():
            return None, "no metric of that name is installed here; --with takes its file or folder"
        if any(sign in options for sign in "/\\~:"):  # never read a path that a bundle names
            return None, "its options name a file or a model; --with takes it"
    try:
        chosen = named.get(entry.name) or registry.choose(entry.name, seed=seed)
        signature = entries.metric_entry(chosen, models).signature
    except MetricError as error:
        return None, placeless(str(error))
    if signature != entry.signature:
        return None, f"here it has another signature, {placeless(signature):.200}"
    return chosen, ""


def _compare(checked: Checked, chosen: Chosen, dataset: Dataset, models: Models) -> None:
    where, scored = f"{dataset.card.name}, {chosen.label}", checked.bundle.scores.get(dataset.card.name)
    packed = {column: values for (metric, column), values in scored.columns.items() if metric == chosen.label} \
        if scored else {}
    try:
        scores = Scorer(dataset, models).scores(chosen.metric)
    except Exception as error:  # a plug-in is foreign code
        if packed or not isinstance(error, MetricError):
            checked.differ(f"{where}, scores", f"{len(packed)} columns", f"none: {placeless(str(error))}")
        return
    if scored is None or not packed:
        checked.differ(f"{where}, scores", "none", f"{len(scores.columns)} columns")
        return
    order = order_of(scores.items, scored.items)
    for column, values in packed.items() if order is not None else ():  # other items are reported with correlations
        name = column.replace(chosen.suffix, "", 1) if chosen.suffix else column
        if name not in scores.columns:
            checked.differ(f"{where}, scores of {column}", f"{len(values)} items", "no such column")
            continue
        before, now = values[order], scores.columns[name]
        with np.errstate(invalid="ignore"):
            differ = np.flatnonzero((np.isfinite(before) != np.isfinite(now))
                                    | (np.abs(before - now) > TOLERANCE * np.maximum(1, np.abs(now))))
        if len(differ):
            checked.differ(f"{where}, scores of {column}, {len(differ)} of {len(before)} items, the first",
                           f"{before[differ[0]]:.6g}", f"{now[differ[0]]:.6g}")
        checked.rescored[chosen.label] += 1
