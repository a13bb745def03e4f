"""Composites: metrics that mix the columns of other metrics (their inputs) with weights.

    inputs      METRIC, METRIC[options], METRIC/COLUMN or COLUMN; log(...) applies sign(s) · log(1 + |s|)
    evidence    correlations of the inputs with ratings on development datasets (metrics/evidence.py)
    score       sum over the inputs of weight · scaled score

A composite with the columns `NAME` and `NAME-single` has weights per quality: it returns `NAME@QUALITY` for each
quality of the dataset, and their mean as `NAME-single`, for a test phase that takes one score per item. A composite
whose weights do not depend on the quality has the column `NAME`, and `NAME@QUALITY` for qualities of which an input has
a column.

In a run, the harness mixes scores that it already has (harness/scoring/scorer.py); on a development dataset, it uses
weights learned on the others. `Composite.score` is for callers who have only items.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics import evidence as evidences
from metrics import registry
from metrics.column import Column, Columns, of_quality
from metrics.errors import BadOption, BrokenPlugin, CannotScore
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard, Signature, line, signature
from metrics.models.service import Models
from metrics.registry import Chosen

InputScores: TypeAlias = npt.NDArray[np.float64]
"""Scores of the inputs, (inputs, items)."""

MAX_DEVIATIONS = 3.0
"""Scaled scores are clipped at this many standard deviations from the mean, so that no outlier dominates."""


@dataclass(frozen=True, slots=True)
class Input:
    """A column of a metric, and the name it was requested by."""

    name: str
    chosen: Chosen
    column: str
    logged: bool = False

    def of(self, columns: Columns, aggregation: str = "", dimension: str = "") -> Column:
        """Return the scores for an aggregation of turns and a quality, or the plain scores where it has no column."""
        name = self.column + aggregation if self.column + aggregation in columns else self.column
        scores = columns.get(of_quality(name, dimension), columns[name])
        return np.sign(scores) * np.log1p(np.abs(scores)) if self.logged else scores


def tables(inputs: Sequence[tuple[Input, Columns]], dimensions: Iterable[str], aggregation: str = "",
           ) -> tuple[InputScores, dict[str, InputScores]]:
    """Return the inputs' scores, and by quality their scores for each quality of which an input has a column."""
    def table(dimension: str = "") -> InputScores:
        return np.array([source.of(columns, aggregation, dimension) for source, columns in inputs])

    return table(), {dimension: table(dimension) for dimension in dimensions
                     if any(of_quality(source.column, dimension) in columns for source, columns in inputs)}


class Composite:
    """Base class: equal weights over standardised inputs.

    `sample_size` is the number of items that a calibration samples per dataset, 0 for all. With `separate_levels`,
    dialogues and single responses have separate weights. `inputs` is an option; without it, override `made_of`.
    """

    __slots__ = ()
    inputs: str
    card: ClassVar[MetricCard]
    sample_size: ClassVar[int] = 0
    separate_levels: ClassVar[bool] = True

    @property
    def learns(self) -> bool:
        """True if weights or scales come from evidence."""
        return True

    @property
    def in_sample(self) -> bool:
        """True if the weights for a development dataset are learned on that dataset as well."""
        return False

    @property
    def scale(self) -> str:
        """`standard`, or `none` to mix raw scores."""
        return "standard" if self.learns else "none"

    def made_of(self) -> tuple[Input, ...]:
        """Return the inputs named by the option `inputs`; a value that starts with `+` is added to the default."""
        return named(type(self)().inputs + self.inputs if self.inputs.startswith("+") else self.inputs)

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """Return the weights of the inputs for a quality."""
        return np.full(len(evidence.inputs), 1 / len(evidence.inputs))

    def scaled(self, table: InputScores, evidence: Evidence) -> InputScores:
        """Standardise the inputs by mean and standard deviation on development datasets, clipped at ±MAX_DEVIATIONS."""
        if self.scale == "none":
            return table
        means, spreads = evidence.scale()
        return np.asarray(np.clip((table - means[:, None]) / spreads[:, None], -MAX_DEVIATIONS, MAX_DEVIATIONS))

    def depends(self, models: Models) -> Mapping[str, str]:
        """Return the parts of each input's signature, prefixed by its name, and the digest of the evidence."""
        signatures = input_signatures(self, models)
        parts = {f"{name}: {part}": value for name, of_input in signatures.items() for part, value in of_input.items()}
        if not self.learns:
            return parts
        evidence = learned_evidence(self, models)
        changed = evidences.changed_inputs(evidence, signatures)
        remark = f", learned on other scores of {', '.join(changed)}" if changed else ""
        return {**parts, f"weights {self.card.name}": f"{evidence.identity}{remark}"}

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a score per item, higher is better; NaN where an input of non-zero weight has none."""
        inputs = self.made_of()
        keys = {name: line(of_input) for name, of_input in input_signatures(self, models).items()}  # same for equal
        metrics = {keys[source.name]: source.chosen.metric for source in inputs}
        columns = {key: metric.score(items, models) for key, metric in metrics.items()}
        table = np.array([source.of(columns[keys[source.name]]) for source in inputs]).reshape(len(inputs), len(items))
        return compose(self, table, learned_evidence(self, models), ())


def compose(metric: Composite, table: InputScores, evidence: Evidence, dimensions: Sequence[str],
            by_quality: Mapping[str, InputScores] = MappingProxyType({})) -> dict[str, Column]:
    """Return the columns of a composite, including those per quality; raise CannotScore if no evidence is left.

    For a quality in `by_quality`, its table replaces `table`.
    """
    name, *single = metric.card.columns
    if metric.learns and not evidence.qualities:
        raise CannotScore("its weights were learned only on this dataset; learn them on others with "
                          f"`harness calibrate {metric.card.name}`")
    scaled = metric.scaled(table, evidence)
    scaled_by = {dimension: metric.scaled(scores, evidence) for dimension, scores in by_quality.items()}
    if not single:
        weights = metric.weights(evidence, "")
        return {name: mix(scaled, weights),
                **{of_quality(name, dimension): mix(scores, weights) for dimension, scores in scaled_by.items()}}
    weights_by = {dimension: metric.weights(evidence, dimension)
                  for dimension in dimensions or evidence.dimensions or ("",)}
    columns = {of_quality(name, dimension): mix(scaled_by.get(dimension, scaled), weights_by[dimension])
               for dimension in dimensions}
    mean = (np.mean([*columns.values()], axis=0) if by_quality
            else mix(scaled, np.mean([*weights_by.values()], axis=0)))
    return {name: mean, single[0]: mean, **columns}


def mix(scaled: InputScores, weights: Vector) -> Column:
    """Return the weighted sum, ignoring inputs of weight 0, which may be NaN."""
    used = weights != 0
    return np.asarray((weights[used, None] * scaled[used]).sum(axis=0))


def input_signatures(metric: Composite, models: Models) -> dict[str, Signature]:
    return {source.name: models.load_once(("signature", source.chosen.metric),
                                     functools.partial(signature, source.chosen.metric, models))
            for source in metric.made_of()}


def learned_evidence(metric: Composite, models: Models) -> Evidence:
    """Return the evidence for a composite, empty if it needs none."""
    signatures = input_signatures(metric, models)
    return evidences.find(metric.card.name, signatures, models.home) if metric.learns else Evidence(tuple(signatures))


def ranked_weights(metric: Composite, evidence: Evidence) -> Iterator[tuple[str, Sequence[tuple[str, float]]]]:
    """Yield each quality with its inputs and their weights, largest first."""
    for dimension in evidence.dimensions:
        weights = zip(evidence.inputs, metric.weights(evidence, dimension).tolist(), strict=True)
        yield dimension, sorted(weights, key=lambda pair: -pair[1])


def named(text: str, **defaults: Any) -> tuple[Input, ...]:
    """Parse `A+B[option=value]+C/COLUMN`; `defaults` apply to options of these names that are not set."""
    names = terms(text)
    if not all(names) or len(set(names)) < len(names):
        raise BadOption(f"{text!r}: inputs must be written as A+B+C, without repetitions")
    return tuple((_input.__wrapped__ if _in_file(name) else _input)(name, **defaults) for name in names)


def check_not_negative(name: str, **options: float) -> None:
    for option, value in options.items():
        if not value >= 0:
            raise BadOption(f"{name}: {option} must be 0 or more, not {value}")


def terms(text: str) -> list[str]:
    """Split at each `+` outside brackets."""
    return [term.strip() for term in re.split(r"\+(?![^\[]*\])", text)]


def _in_file(name: str) -> bool:
    """Return True if the metric is in a file, which may change, so that the input must not be cached."""
    head = name.partition("[")[0]
    return ":" in head or ".py" in head or registry.is_path(head)


@functools.lru_cache(maxsize=256)
def _input(name: str, **defaults: Any) -> Input:
    logged = name.startswith("log(") and name.endswith(")")
    metric, column = _split(name[4:-1] if logged else name)
    chosen = registry.choose(metric, **defaults)
    columns = chosen.metric.card.columns
    if isinstance(chosen.metric, Composite):
        raise BadOption(f"{name!r}: a composite cannot be an input of another; list its inputs instead")
    if column and column not in columns:
        raise BadOption(f"{name!r}: {metric} has the columns {', '.join(columns)}")
    return Input(name, chosen, column or columns[0], logged)


def _split(name: str) -> tuple[str, str]:
    """Split a name into metric and column; the column is empty for the metric's first."""
    metric, slash, column = name.rpartition("/")
    in_folder = registry.is_path(metric) and Path(metric, "pyproject.toml").expanduser().is_file()
    if metric.endswith("]") or (in_folder and not Path(name).expanduser().exists()):
        return metric, column
    if registry.is_known(name):
        return name, ""
    if slash and registry.is_known(metric):
        return metric, column
    for candidate in registry.names():
        try:
            if name in registry.card(candidate).columns:
                return candidate, name
        except BrokenPlugin:  # `harness list metrics` shows what is wrong with it
            continue
    return name, ""
