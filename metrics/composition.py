"""Composites: metrics made of the columns of other metrics, mixed with weights.

    inputs       the columns, by `METRIC`, `METRIC[options]`, `METRIC/COLUMN` or the column alone; `log(...)` of one
    evidence     the inputs' correlations with people on development datasets (metrics/evidence.py)
    weights      one per input, for a quality
    scaled       the inputs brought to one scale

A composite has two columns: `NAME` has weights for each quality (`NAME@QUALITY`, one for each quality of the dataset),
`NAME-single` is the mean over the qualities, for a test phase that takes one score per item. Without qualities both are
the same. A composite whose weights are the same for every quality has the first column alone.

The harness makes composites of scores that it has (harness/scoring/composites.py), on a development dataset with the
weights that were learned on the others. `score` serves callers who have items alone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics import evidence as evidences
from metrics import registry
from metrics.column import of_quality
from metrics.errors import BadOption, BrokenPlugin, CannotScore
from metrics.evidence import Evidence, Vector
from metrics.metric import Column, Columns, MetricCard, signature
from metrics.models.service import Models
from metrics.registry import Chosen

InputScores: TypeAlias = npt.NDArray[np.float64]
"""The scores of the inputs: (inputs, items)."""

FURTHEST = 3.0
"""Scores further from the mean than so many spreads are cut there, so that no outlier decides."""


@dataclass(frozen=True, slots=True)
class Input:
    """A column of a metric, and the name it was requested by. `logged` takes sign(s) · log(1 + |s|) of it."""

    name: str
    chosen: Chosen
    column: str
    logged: bool = False

    def of(self, columns: Columns, aggregation: str = "") -> Column:
        """Its scores among the columns of its metric; of turns brought together the aggregation, where it has one."""
        scores = columns.get(self.column + aggregation, columns[self.column])
        return np.sign(scores) * np.log1p(np.abs(scores)) if self.logged else scores


class Composite:
    """A metric made of columns of others; by itself with equal weights over standardised inputs.

    `drawn` is how many items of a dataset a calibration draws, 0 for all. With `level_apart` whole dialogues and single
    responses have weights of their own.
    """

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

    @property
    def scale(self) -> str:
        """`none` where the scores are taken as they are."""
        return "standard" if self.learns else "none"

    def made_of(self) -> tuple[Input, ...]:
        """Its inputs."""
        raise NotImplementedError

    def weights(self, evidence: Evidence, dimension: str) -> Vector:  # noqa: ARG002  (the same for all)
        """One weight per input for a quality: here the same for every input and quality."""
        return np.full(len(evidence.inputs), 1 / len(evidence.inputs))

    def scaled(self, table: InputScores, evidence: Evidence) -> InputScores:
        """The inputs on one scale: (s − mean) / spread on the development datasets, cut at three spreads."""
        if self.scale == "none":
            return table
        means, spreads = evidence.scale()
        return np.asarray(np.clip((table - means[:, None]) / spreads[:, None], -FURTHEST, FURTHEST))

    def depends(self, models: Models) -> tuple[str, ...]:
        """The signature of every input, and the digest of the evidence."""
        signatures = signed(self, models)
        parts = tuple(f"input={name}|{signature}" for name, signature in signatures.items())
        if not self.learns:
            return parts
        evidence = learned(self, models)
        other = evidences.strangers(evidence, signatures)
        remark = f", learned on other scores of {', '.join(other)}" if other else ""
        return (*parts, f"weights={evidence.identity}{remark}")

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """One score per item, higher is better; NaN where an input with a weight has none."""
        inputs = self.made_of()
        metrics = {part.chosen.label: part.chosen.metric for part in inputs}
        columns = {label: metric.score(items, models) for label, metric in metrics.items()}
        table = np.array([part.of(columns[part.chosen.label]) for part in inputs]).reshape(len(inputs), len(items))
        scores = compose(self, table, learned(self, models), ())
        return {column: scores[column] for column in self.card.columns}


def compose(metric: Composite, table: InputScores, evidence: Evidence,
            dimensions: Sequence[str]) -> dict[str, Column]:
    """The columns of a composite, those per quality included; CannotScore where no evidence is left."""
    name, *single = metric.card.columns
    if metric.learns and not evidence.qualities:
        raise CannotScore(f"its weights were learned on this dataset alone: `harness calibrate {metric.card.name}` "
                          "with others")
    scaled = metric.scaled(table, evidence)
    if not single:
        return {name: mixed(scaled, metric.weights(evidence, ""))}
    weights = {dimension: metric.weights(evidence, dimension) for dimension in dimensions}
    every = weights or {dimension: metric.weights(evidence, dimension) for dimension in evidence.dimensions or ("",)}
    mean = mixed(scaled, np.mean([*every.values()], axis=0))
    return {name: mean, single[0]: mean,
            **{of_quality(name, dimension): mixed(scaled, own) for dimension, own in weights.items()}}


def mixed(scaled: InputScores, weights: Vector) -> Column:
    """The weighted sum; an input without a weight may be NaN."""
    total = np.zeros(scaled.shape[1])
    for row, weight in zip(scaled, weights.tolist(), strict=True):
        if weight:
            total = total + weight * row  # input by input: a matrix product rounds by the number of items
    return total


def learned(metric: Composite, models: Models) -> Evidence:
    """The evidence for a composite; an empty one where it needs none."""
    signatures = signed(metric, models)
    if not metric.learns:
        return Evidence(tuple(signatures), ())
    return evidences.find(metric.card.name, signatures, models.home)


def signed(metric: Composite, models: Models) -> dict[str, str]:
    """The signature of every input by its name."""
    metrics = ((part.name, part.chosen.metric) for part in metric.made_of())
    return {name: models.once(("signature", own), functools.partial(signature, own, models)) for name, own in metrics}


def weights_shown(metric: Composite, evidence: Evidence) -> Iterator[tuple[str, Sequence[tuple[str, float]]]]:
    """The weights of every quality, the largest first."""
    for dimension in evidence.dimensions:
        weights = zip(evidence.inputs, metric.weights(evidence, dimension).tolist(), strict=True)
        yield dimension, sorted(weights, key=lambda pair: -pair[1])


def default_or_more(metric: Any) -> tuple[Input, ...]:
    """What the option `inputs` names: a text that begins with `+` adds to the default."""
    default = type(metric).__dataclass_fields__["inputs"].default
    return named(default + metric.inputs if metric.inputs.startswith("+") else metric.inputs)


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
    """The metric and the column of a name; the column is empty for the metric's first."""
    metric, slash, column = name.rpartition("/")
    if metric.endswith("]"):
        return metric, column
    if registry.is_known(name):
        return name, ""
    if slash and registry.is_known(metric):
        return metric, column
    for holder in registry.names():
        try:
            if name in registry.card(holder).columns:
                return holder, name
        except BrokenPlugin:  # `harness list metrics` shows what is wrong with it
            continue
    return name, ""
