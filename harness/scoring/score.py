"""Score one metric on one dataset, even if their levels differ.

A turn-level metric scores a whole dialogue turn by turn: every turn of the system is a response to the turns before it,
and the scores of the turns are aggregated by mean (the plain column), sum, max and product (`COLUMN:sum`, ...).
For a dialogue-level metric, a turn-level item is the dialogue of its context and response.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import difflib
import math
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import registry
from benchmarks.dataset import SYSTEM, Dataset, Item
from metrics.column import checked, of_aggregate, of_quality, split_quality
from metrics.composition import Composite
from metrics.errors import BadScores, CannotScore
from metrics.metric import NEEDS, Column, Metric, Narrowing, checkpoints, encoder_of, options
from metrics.models.counters import COUNTERS
from metrics.models.service import Models

AGGREGATIONS: dict[str, Callable[[Column], np.float64]] = {
    "mean": np.mean, "sum": np.sum, "max": np.max, "product": np.prod}
"""Aggregations of the scores of turns; turns without a score are ignored."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The columns of a metric on a dataset, with their items and the seconds that scoring took.

    `standalone_seconds` is the time that the metric would take by itself, without loading models, but reusing texts
    that another metric has cached; NaN if unknown. `day` is the day of scoring.
    """

    items: tuple[str, ...]
    columns: dict[str, Column]
    seconds: float
    standalone_seconds: float = math.nan
    day: str = ""


def score(metric: Metric, dataset: Dataset, models: Models) -> Scores:
    """Score every item of the dataset; raise CannotScore if no item has what the metric needs."""
    if need := unmet(metric, dataset):
        raise CannotScore(f"no item has {need}")
    return score_part(metric, dataset, models)


def score_part(metric: Metric, dataset: Dataset, models: Models) -> Scores:
    """Score every item of a dataset or a part of one, even if none has what the metric needs."""
    metric = restrict(metric, dataset)
    items = read_items(metric, dataset)
    models.requested.clear()
    models.memory.start_metric()
    excluded, stored_answers, start = COUNTERS.excluded, COUNTERS.stored_answers, time.perf_counter()
    is_main_thread = threading.current_thread() is threading.main_thread()  # all threads share the working directory
    folder = contextlib.chdir(".") if is_main_thread else contextlib.nullcontext()
    with contextlib.redirect_stdout(sys.stderr), folder:  # keep a metric's output out of the command's
        columns = checked(metric.card.name, metric.card.columns, items, metric.score(items, models))
    seconds = time.perf_counter() - start
    standalone = (max(0.0, seconds - (COUNTERS.excluded - excluded)) if COUNTERS.stored_answers == stored_answers
                  else math.nan)
    _check_models(metric, models)
    if by_turn(metric, dataset):
        columns = aggregated(columns, dataset.items)
    return Scores(tuple(item.id for item in dataset.items), columns, seconds, standalone, today())


def restrict(metric: Metric, dataset: Dataset) -> Metric:
    """Return the metric restricted to this dataset: a judge asks only about its qualities."""
    return metric.about(dataset.card.qualities) if isinstance(metric, Narrowing) else metric


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def met_needs(items: Sequence[Item]) -> tuple[str, ...]:
    """Return the needs that at least one item meets."""
    return tuple(need for need in NEEDS if any(getattr(item, need) for item in items))


def unmet(metric: Metric, dataset: Dataset) -> str:
    """Return a need of a metric, or of an input of a composite, that no item of the dataset meets; else ""."""
    met = met_needs(dataset.items)
    return next((need for scored in inputs(metric) for need in scored.card.needs if need not in met), "")


def needs(metric: Metric) -> tuple[str, ...]:
    """Return the needs of a metric and of its inputs: fields of items, resources, and kinds of models."""
    cards = [part.card for part in (metric, *inputs(metric))]
    return tuple(dict.fromkeys(name for kind in ("needs", "resources", "models") for card in cards
                               for name in getattr(card, kind)))


def inputs(metric: Metric) -> list[Metric]:
    """Return the inputs of a composite, or the metric itself."""
    return [part.chosen.metric for part in metric.made_of()] if isinstance(metric, Composite) else [metric]


def by_turn(metric: Metric, dataset: Dataset) -> bool:
    return dataset.card.level == "dialogue" and "dialogue" not in metric.card.levels


def read_items(metric: Metric, dataset: Dataset) -> tuple[Item, ...]:
    """Return the items to pass to the metric: those of the dataset, or the turns of its dialogues."""
    if by_turn(metric, dataset):
        return tuple(turn for item in dataset.items for turn in turns(item))
    return dataset.items


def turns(dialogue: Item) -> list[Item]:
    """Return the system's turns of a dialogue, or else all turns, each as a response to the turns before it."""
    has_system_turns = any(turn.speaker == SYSTEM for turn in dialogue.context)
    return [dataclasses.replace(dialogue, id=f"{dialogue.id}#{index}", context=dialogue.context[:index], response=turn)
            for index, turn in enumerate(dialogue.context) if turn.speaker == SYSTEM or not has_system_turns]


def aggregated(columns: dict[str, Column], dialogues: Sequence[Item]) -> dict[str, Column]:
    """Aggregate the scores of turns per dialogue, by each of AGGREGATIONS."""
    ends = np.cumsum([len(turns(dialogue)) for dialogue in dialogues])[:-1]
    aggregates = {}
    for name, column in columns.items():
        by_dialogue = np.split(column, ends)
        plain, quality = split_quality(name, columns)
        for aggregation, combine in AGGREGATIONS.items():
            label = of_quality(of_aggregate(plain, aggregation), quality)
            aggregates[label] = np.array([_aggregate(scores, combine) for scores in by_dialogue])
    return aggregates


def _aggregate(scores: Column, combine: Callable[[Column], np.float64]) -> float:
    finite = scores[np.isfinite(scores)]
    with np.errstate(over="ignore"):
        value = float(combine(finite)) if finite.size else np.nan
    return value if np.isfinite(value) else np.nan  # a product can overflow


def check_qualities(dataset: Dataset, columns: Collection[str]) -> None:
    """Raise BadScores for a COLUMN@QUALITY that would be ignored, because no quality has this dimension."""
    cards = (dataset.card, *registry.cards().values())
    known = {quality.dimension for card in cards for quality in card.qualities}
    for column in columns:
        quality = split_quality(column, columns)[1]
        if quality and quality not in known:
            nearest = difflib.get_close_matches(quality.casefold(), known, n=1, cutoff=0.5)
            raise BadScores(f"column {column}: no quality of a dataset has the dimension {quality!r}; " + (
                f"did you mean {nearest[0]!r}?" if nearest else
                "`harness show DATASET` lists the dimensions of its qualities"))


def _check_models(metric: Metric, models: Models) -> None:
    """Raise BadScores for models missing from the signature, since the scores would be reused with other models."""
    declared = set()
    for scored in inputs(metric):
        declared |= {(kind, options(scored)[kind]) for kind in scored.card.models}
        for weights in checkpoints(scored):
            declared |= {("checkpoint", weights), ("encoder", f"{encoder_of(scored)}+{weights}")}
    for kind, name in sorted(models.requested - declared):
        if kind == "checkpoint":
            raise BadScores(f"{metric.card.name} uses the weights {name!r}, which its signature does not contain: "
                            f"declare checkpoints=({name!r},) in its card")
        raise BadScores(f"{metric.card.name} uses models.{kind}({name!r}), which its signature does not contain: "
                        f"declare models=('{kind}',) in its card, add an option {kind}: str = '', "
                        f"and call models.{kind}(self.{kind})")
