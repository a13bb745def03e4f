"""Scoring again what a bundle holds scores of, with the metrics of this installation that have the same signature."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.dataset import Dataset
from harness.bundle import Bundle, Scored, placeless
from harness.bundle.check import TOLERANCE, Checked, Drift
from harness.results.rows import MetricEntry
from harness.run import entries
from harness.scoring.scorer import Scorer
from harness.statistics.panel import Vector
from metrics import registry
from metrics.composition import Composite
from metrics.errors import MetricError
from metrics.metric import Metric, checkpoints
from metrics.models.service import Choice, Models
from metrics.registry import Chosen

How = Literal["auto", "always", "never"]
"""auto: the metrics that read no model, which take seconds."""


def rescore(bundle: Bundle, here: Mapping[str, Dataset], home: Path, how: How, checked: Checked) -> None:
    """Score the datasets at hand again and compare with what is packed."""
    models = Models(home, Choice(device="cpu"))
    for entry in bundle.metrics if here else ():
        chosen, reason = _same(entry, models, bundle.run.seed)
        if chosen is not None and how != "always":
            reason = "not asked for" if how == "never" else _costs(chosen.metric)
        if chosen is None or reason:
            checked.not_rescored[entry.name] = reason
            continue
        checked.drifts += _card(entry, entries.metric_entry(chosen, models))
        checked.rescored[entry.name] = 0
        for name, dataset in here.items():
            _dataset(chosen, dataset, models, bundle.scores.get(name), checked)


def _same(entry: MetricEntry, models: Models, seed: int) -> tuple[Chosen | None, str]:
    """The metric of this installation with that name and signature; else why there is none."""
    name, options = registry.split(entry.name) if entry.name.isprintable() else ("", "")
    if name not in registry.names():
        return None, "no metric of that name is installed here"
    if any(sign in options for sign in "/\\~:"):  # a path: what lies there is none of the bundle's business
        return None, "its options name a file or a model"
    try:
        chosen = registry.choose(entry.name, seed=seed)
        mine = entries.metric_entry(chosen, models)
    except MetricError as error:
        return None, placeless(str(error))
    if mine.signature != entry.signature:
        return None, f"here it has another signature, {placeless(mine.signature):.200}"
    return chosen, ""


def _card(told: MetricEntry, mine: MetricEntry) -> list[Drift]:
    """What a card says otherwise that decides how the metric ranks."""
    return [Drift(f"{told.name}, {name}", str(getattr(told, name)), str(getattr(mine, name)))
            for name in ("columns", "needs", "levels", "scope", "learned_on")
            if getattr(told, name) != getattr(mine, name)]


def _costs(metric: Metric) -> str:
    """Why a metric is not scored again unless that is asked for; empty where it reads no model."""
    parts = [one.chosen.metric for one in metric.made_of()] if isinstance(metric, Composite) else [metric]
    return "reads a model; --rescore always" if any(one.card.models or checkpoints(one) for one in parts) else ""


def _dataset(chosen: Chosen, dataset: Dataset, models: Models, scored: Scored | None, checked: Checked) -> None:
    label, where = chosen.label, f"{dataset.card.name}, {chosen.label}"
    told = {column: values for (metric, column), values in scored.columns.items() if metric == label} if scored else {}
    try:
        found = Scorer(dataset, models).scores(chosen.metric)
    except Exception as error:  # a plug-in is foreign code
        if told or not isinstance(error, MetricError):
            checked.drifts.append(Drift(f"{where}, scores", f"{len(told)} columns", f"none: {placeless(str(error))}"))
        return
    if scored is None or not told:
        checked.drifts.append(Drift(f"{where}, scores", "none", f"{len(found.columns)} columns"))
        return
    place = {item: row for row, item in enumerate(scored.items)}
    if place.keys() != set(found.items):
        return  # told already
    order = [place[item] for item in found.items]
    for column, values in told.items():
        own = column.replace(chosen.suffix, "", 1) if chosen.suffix else column
        if own not in found.columns:
            checked.drifts.append(Drift(f"{where}, scores of {column}", f"{len(values)} items", "no such column"))
            continue
        checked.drifts += _differences(f"{where}, scores of {column}", values[order], found.columns[own])
        checked.rescored[label] += 1


def _differences(where: str, told: Vector, found: Vector) -> list[Drift]:
    """One line for a column: in how many items it differs, and the first of them."""
    there = np.isfinite(told) & np.isfinite(found)
    apart = np.zeros(len(told), dtype=np.bool_)
    apart[there] = np.abs(told[there] - found[there]) > TOLERANCE * np.maximum(1, np.abs(found[there]))
    apart |= np.isfinite(told) != np.isfinite(found)
    if not apart.any():
        return []
    first = int(np.flatnonzero(apart)[0])
    return [Drift(f"{where}, {int(apart.sum())} of {len(told)} items, the first", f"{told[first]:.6g}",
                  f"{found[first]:.6g}")]
