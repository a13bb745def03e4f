"""Scoring again what a bundle holds scores of, with the metrics of this installation that have the same signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.dataset import Dataset
from benchmarks.errors import nearest
from harness.bundle import Bundle, ScoreTable, placeless
from harness.errors import BadConfig
from harness.results.rows import MetricEntry
from harness.run import entries
from harness.scoring.scorer import Scorer
from harness.statistics.panel import Vector
from harness.verification.bundles import TOLERANCE, Checked, Mismatch
from metrics import registry
from metrics.composition import Composite
from metrics.errors import MetricError
from metrics.metric import Metric, checkpoints
from metrics.models.service import Choice, Models
from metrics.registry import Chosen

How = Literal["auto", "always", "never"]
"""auto: the metrics that read no model, which take seconds."""


def rescore(bundle: Bundle, here: Mapping[str, Dataset], home: Path, how: How, checked: Checked,
            beside: Sequence[str] = ()) -> None:
    """Score the datasets at hand again and compare with what is packed; `beside` are metrics that are not installed."""
    models = Models(home, Choice(device="cpu"))
    own = {chosen.label: chosen for chosen in (registry.choose(name, seed=bundle.run.seed) for name in beside)}
    if unknown := sorted(own.keys() - {entry.name for entry in bundle.metrics}):
        raise BadConfig(f"{unknown[0]}: the bundle has no metric of that name; "
                        f"{nearest(unknown[0], (entry.name for entry in bundle.metrics))}")
    for entry in bundle.metrics if here else ():
        chosen, reason = _same(entry, models, bundle.run.seed, own)
        if chosen is not None and how != "always":
            reason = "not asked for" if how == "never" else _costs(chosen.metric)
        if chosen is None or reason:
            checked.not_rescored[entry.name] = reason
            continue
        checked.drifts += _card(entry, entries.metric_entry(chosen, models))
        checked.rescored[entry.name] = 0
        for name, dataset in here.items():
            _dataset(chosen, dataset, models, bundle.scores.get(name), checked)


def _same(entry: MetricEntry, models: Models, seed: int, own: Mapping[str, Chosen]) -> tuple[Chosen | None, str]:
    """The metric with that name and signature, of this installation or named beside it; else why there is none."""
    name, options = registry.split(entry.name) if entry.name.isprintable() else ("", "")
    if entry.name not in own:
        if name not in registry.names():
            return None, "no metric of that name is installed here; --with takes its file or folder"
        if any(sign in options for sign in "/\\~:"):  # a path: what lies there is none of the bundle's business
            return None, "its options name a file or a model; --with takes it"
    try:
        chosen = own.get(entry.name) or registry.choose(entry.name, seed=seed)
        mine = entries.metric_entry(chosen, models)
    except MetricError as error:
        return None, placeless(str(error))
    if mine.signature != entry.signature:
        return None, f"here it has another signature, {placeless(mine.signature):.200}"
    return chosen, ""


def _card(packed: MetricEntry, mine: MetricEntry) -> list[Mismatch]:
    """Differences between the packed card and the one here that decide how the metric ranks."""
    return [Mismatch(f"{packed.name}, {name}", str(getattr(packed, name)), str(getattr(mine, name)))
            for name in ("columns", "needs", "levels", "scope", "learned_on")
            if getattr(packed, name) != getattr(mine, name)]


def _costs(metric: Metric) -> str:
    """Why a metric is not scored again unless that is asked for; empty where it reads no model."""
    parts = [one.chosen.metric for one in metric.made_of()] if isinstance(metric, Composite) else [metric]
    return "reads a model; --rescore always" if any(one.card.models or checkpoints(one) for one in parts) else ""


def _dataset(chosen: Chosen, dataset: Dataset, models: Models, scored: ScoreTable | None, checked: Checked) -> None:
    label, where = chosen.label, f"{dataset.card.name}, {chosen.label}"
    columns = scored.columns if scored else {}
    packed = {column: values for (metric, column), values in columns.items() if metric == label}
    try:
        scores = Scorer(dataset, models).scores(chosen.metric)
    except Exception as error:  # a plug-in is foreign code
        if packed or not isinstance(error, MetricError):
            reason = f"none: {placeless(str(error))}"
            checked.drifts.append(Mismatch(f"{where}, scores", f"{len(packed)} columns", reason))
        return
    if scored is None or not packed:
        checked.drifts.append(Mismatch(f"{where}, scores", "none", f"{len(scores.columns)} columns"))
        return
    place = {item: row for row, item in enumerate(scored.items)}
    if place.keys() != set(scores.items):
        return  # reported already
    order = [place[item] for item in scores.items]
    for column, values in packed.items():
        own = column.replace(chosen.suffix, "", 1) if chosen.suffix else column
        if own not in scores.columns:
            checked.drifts.append(Mismatch(f"{where}, scores of {column}", f"{len(values)} items", "no such column"))
            continue
        checked.drifts += _differences(f"{where}, scores of {column}", values[order], scores.columns[own])
        checked.rescored[label] += 1


def _differences(where: str, packed: Vector, here: Vector) -> list[Mismatch]:
    """One line for a column: in how many items it differs, and the first of them."""
    both = np.isfinite(packed) & np.isfinite(here)
    apart = np.zeros(len(packed), dtype=np.bool_)
    apart[both] = np.abs(packed[both] - here[both]) > TOLERANCE * np.maximum(1, np.abs(here[both]))
    apart |= np.isfinite(packed) != np.isfinite(here)
    if not apart.any():
        return []
    first = int(np.flatnonzero(apart)[0])
    return [Mismatch(f"{where}, {int(apart.sum())} of {len(packed)} items, the first", f"{packed[first]:.6g}",
                     f"{here[first]:.6g}")]
