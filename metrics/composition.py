"""Compositions: metrics made of the columns of other metrics, mixed with weights.

    inputs       the columns, by `METRIC`, `METRIC[options]`, `METRIC/COLUMN` or the column alone; `log(...)` of one
    evidence     what was found of them on development datasets (metrics/evidence.py)
    weights      one per input, for a quality, or for one score that serves all qualities
    scaled       the inputs brought to one scale

A composition has two columns: `NAME` is given per quality (`NAME@QUALITY`, one for each that is asked for) and
`NAME-single` once: the mean over the qualities, as a test phase wants it that takes one score per item. Where no
quality is known both are the same. One whose weights are the same for every quality has the first alone.

The harness makes compositions of scores that it has (harness/scoring/composites.py), on a development dataset
with the weights that were learned on the others. `score` is for whoever has items alone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics import evidence as evidences
from metrics import registry
from metrics.column import of_quality
from metrics.errors import BadOption, BrokenPlugin, CannotScore
from metrics.evidence import Evidence, Vector
from metrics.metric import Column, Columns, Metric, MetricCard, signature
from metrics.models.service import Models
from metrics.registry import Chosen

Table: TypeAlias = npt.NDArray[np.float64]
"""The inputs' scores: (inputs, items)."""

FURTHEST = 3.0
"""Scores further from the mean than so many spreads count as so far: one wild likelihood is no opinion."""


@dataclass(frozen=True, slots=True)
class Input:
    """A column of a metric; `name` is what it was asked for by. `logged` takes sign(s) · log(1 + |s|) of it."""

    name: str
    chosen: Chosen
    column: str
    logged: bool = False

    def of(self, columns: Columns, way: str = "") -> Column:
        """Its scores among those of its metric; `way` names turns brought together, where there are some."""
        scores = columns.get(self.column + way, columns[self.column])
        return np.sign(scores) * np.log1p(np.abs(scores)) if self.logged else scores


@runtime_checkable
class Composite(Metric, Protocol):
    """A metric made of columns of others."""

    @property
    def learns(self) -> bool:
        """Whether its weights or scales come from evidence."""

    @property
    def in_sample(self) -> bool:
        """Whether a development dataset is scored with weights that were learned on it as well."""

    @property
    def drawn(self) -> int:
        """How many items of a dataset a calibration draws; 0 for all."""

    @property
    def level_apart(self) -> bool:
        """Whether whole dialogues and single responses have weights of their own."""

    def made_of(self) -> tuple[Input, ...]:
        """What it is made of."""

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """One weight per input for a quality."""

    def scaled(self, table: Table, evidence: Evidence) -> Table:
        """The inputs on one scale."""


class Composition:
    """What compositions share; by itself equal weights over standardised inputs."""

    __slots__ = ()
    card: ClassVar[MetricCard]
    drawn: ClassVar[int] = 0
    level_apart: ClassVar[bool] = True

    @property
    def learns(self) -> bool:
        """Whether its weights or scales come from evidence."""
        return True

    @property
    def in_sample(self) -> bool:
        """Whether a development dataset is scored with weights that were learned on it as well."""
        return False

    def weights(self, evidence: Evidence, dimension: str) -> Vector:  # noqa: ARG002  (the same for all)
        """The same weight for every input and quality."""
        return np.full(len(evidence.inputs), 1 / len(evidence.inputs))

    def scaled(self, table: Table, evidence: Evidence) -> Table:
        """Spreads from the mean of each input, both as they were on the development datasets."""
        return standardised(table, evidence)

    def depends(self: Composite, models: Models) -> tuple[str, ...]:
        """The signature of every input, and the digest of the evidence."""
        signatures = signed(self, models)
        parts = tuple(f"input={name}|{signature}" for name, signature in signatures.items())
        if not self.learns:
            return parts
        found = learned(self, models)
        other = evidences.strangers(found, signatures)
        told = f", learned on other scores of {', '.join(other)}" if other else ""
        return (*parts, f"weights={found.identity}{told}")

    def score(self: Composite, items: Sequence[Item], models: Models) -> Columns:
        """One score per item, higher is better; NaN where an input with a weight has none."""
        inputs = self.made_of()
        metrics = {one.chosen.label: one.chosen.metric for one in inputs}
        columns = {label: metric.score(items, models) for label, metric in metrics.items()}
        table = np.array([one.of(columns[one.chosen.label]) for one in inputs]).reshape(len(inputs), len(items))
        found = compose(self, table, learned(self, models), ())
        return {column: found[column] for column in self.card.columns}


def compose(metric: Composite, table: Table, evidence: Evidence, dimensions: Sequence[str]) -> dict[str, Column]:
    """The columns of a composition, those per quality included; CannotScore where no evidence is left."""
    name, *single = metric.card.columns
    if metric.learns and not any(witness.qualities for witness in evidence.witnesses):
        raise CannotScore(f"its weights were learned on this dataset alone: `harness calibrate {metric.card.name}` "
                          "with others")
    scaled = metric.scaled(table, evidence)
    if not single:
        return {name: mixed(scaled, metric.weights(evidence, ""))}
    weights = {dimension: metric.weights(evidence, dimension) for dimension in dimensions}
    every = weights or {dimension: metric.weights(evidence, dimension) for dimension in evidence.dimensions or ("",)}
    one = mixed(scaled, np.mean([*every.values()], axis=0))
    return {name: one, single[0]: one,
            **{of_quality(name, dimension): mixed(scaled, given) for dimension, given in weights.items()}}


def mixed(scaled: Table, weights: Vector) -> Column:
    """The weighted sum; an input without a weight need not be there."""
    total = np.zeros(scaled.shape[1])
    for row, weight in zip(scaled, weights.tolist(), strict=True):
        if weight:
            total = total + weight * row  # input by input: a matrix product rounds by the number of items
    return total


def standardised(table: Table, evidence: Evidence) -> Table:
    """(s − mean) / spread, cut at three spreads."""
    means, spreads = evidence.scale()
    found: Table = np.clip((table - means[:, None]) / spreads[:, None], -FURTHEST, FURTHEST)
    return found


def learned(metric: Composite, models: Models) -> Evidence:
    """The evidence for a composition; an empty one where it needs none."""
    signatures = signed(metric, models)
    if not metric.learns:
        return Evidence(tuple(signatures), ())
    return evidences.find(metric.card.name, signatures, models.home)


def signed(metric: Composite, models: Models) -> dict[str, str]:
    """The signature of every input by its name."""
    return {one.name: signature(one.chosen.metric, models) for one in metric.made_of()}


def named(text: str, **defaults: Any) -> tuple[Input, ...]:
    """The inputs of a text `A+B[option=value]+C/COLUMN`; `defaults` reach the options of that name."""
    names = [name.strip() for name in re.split(r"\+(?![^\[]*\])", text)]
    if not all(names) or len(set(names)) < len(names):
        raise BadOption(f"{text!r}: inputs are written A+B+C, each once")
    return tuple(_input(name, **defaults) for name in names)


@functools.lru_cache(maxsize=256)
def _input(name: str, **defaults: Any) -> Input:
    logged = name.startswith("log(") and name.endswith(")")
    metric, column = _parted(name[4:-1] if logged else name)
    chosen = registry.choose(metric, **defaults)
    if isinstance(chosen.metric, Composite):
        raise BadOption(f"{name!r}: a composition cannot be an input of another; name its inputs")
    columns = chosen.metric.card.columns
    if column and column not in columns:
        raise BadOption(f"{name!r}: {metric} has the columns {', '.join(columns)}")
    return Input(name, chosen, column or columns[0], logged)


def _parted(name: str) -> tuple[str, str]:
    """The metric and the column that a name is of; the column is empty for the metric's first."""
    metric, slash, column = name.rpartition("/")
    if metric.endswith("]"):
        return metric, column
    if registry.is_known(name):
        return name, ""
    if slash and registry.is_known(metric):
        return metric, column
    return _holder(name) or name, name if _holder(name) else ""


def _holder(column: str) -> str:
    """The metric that has a column of that name; empty if none has."""
    for metric in registry.names():
        try:
            if column in registry.card(metric).columns:
                return metric
        except BrokenPlugin:  # `harness list metrics` tells what is wrong with it
            continue
    return ""

