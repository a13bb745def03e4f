"""What a language model's judgement hangs on: its size and cost, the order of the answers, the words, the length.

Each model is asked the same question, whether the reply is relevant and consistent, in three ways: as it is shipped
(`judge:relevance`), with its two answers in the other order, and in other words; what stands before the question is
read once. A judgement that moves when only the words do says less than its correlation; one that is gone where length
is held constant has counted words.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.errors import BadConfig
from harness.results.exhibits import number
from harness.results.rows import Grid, HeatMap, Results
from harness.run.correlate import TargetData
from harness.run.run import run_with_data
from harness.statistics.estimates import estimate
from harness.statistics.panel import panel
from harness.studies import Findings, StudyRequest
from metrics.models import catalogue

TITLE = "What a language model's judgement hangs on"
FLAGS = ("dataset", "quality", "split")
PROMPT = Path(__file__).with_name("three-ways.toml")
SHIPPED = "as-shipped"
WAYS = {SHIPPED: "as shipped", "no-or-yes": "answers swapped", "other-words": "other words"}
"""The ways by their names in the prompt, and in words."""

HEAD = ("model", "question", "s / 1,000", "ρ", "ρ, length held", "ρ with length", "ρ with shipped")


@dataclass(frozen=True, slots=True)
class Judgement:
    """One model, asked in one way, on one target."""

    dataset: str
    quality: str
    model: str
    way: str
    items: int
    agreement: float
    partial: float
    length: float
    shipped: float


def study(request: StudyRequest) -> Findings:
    """Ask every model of `--lm` (several with commas between) in three ways, and compare what they answer."""
    models = [name for name in (request.choice.lm if request.choice else "").split(",") if name]
    if not models:
        raise BadConfig("say which models judge: --lm smollm2-135m, or several with commas between")
    judges = tuple(f"judge:{PROMPT}[lm={model}]" for model in models)
    own = dataclasses.replace(
        request, selection=dataclasses.replace(request.selection, metrics=judges),
        choice=dataclasses.replace(request.choice, lm="") if request.choice else None)
    report, targets = run_with_data(dataclasses.replace(own.plan, command="harness study judges"), own.workspace)
    failures = (*(f"{failure.metric} on {failure.dataset}: {failure.error}" for failure in report.failures),
                *(f"{skip.metric} on {skip.dataset}: {skip.reason}" for skip in report.skips if "lm=" in skip.metric))
    usable = [target for target in targets if target.judged.usable]
    if not usable:
        raise BadConfig("nothing to study: no requested dataset has ratings that differ")
    return findings([judgement for target in usable for judgement in _judgements(target, models)], models,
                    {model: _seconds(report, model) for model in models}, failures)


def _judgements(target: TargetData, models: Sequence[str]) -> Iterator[Judgement]:
    words = np.full(target.scores.shape[1], np.nan) if target.words is None else target.words.astype(float)
    rows = {column: row for row, (_, column) in enumerate(target.names)}
    for model in models:
        own = {way: row for way in WAYS if (row := rows.get(f"{PROMPT.stem}-{way}[lm={model}]")) is not None}
        for way, row in own.items():
            beside, column = target.panel(row), target.scores[row]
            yield Judgement(
                target.dataset, target.quality, model, way, beside.n, estimate(beside, "spearman").value,
                estimate(beside, "partial").value, _spearman(column, words),
                _spearman(column, target.scores[own[SHIPPED]]))


def _spearman(one: np.ndarray, other: np.ndarray) -> float:
    nothing = np.zeros(len(one), dtype=np.intp)
    return estimate(panel(one, other, nothing, nothing, None), "spearman").value


def _seconds(report: Results, model: str) -> float:
    """Seconds for 1,000 items, asked in all ways."""
    timed = [row for row in report.timings if f"lm={model}]" in row.metric]
    items = sum(row.items for row in timed)
    return 1000 * sum(row.seconds for row in timed) / items if items else math.nan


def findings(judgements: Sequence[Judgement], models: Sequence[str], seconds: dict[str, float],
             failures: tuple[str, ...] = ()) -> Findings:
    """Everything that is printed and kept; a mean is over the targets of a dataset, then over datasets."""
    means = {(model, way): _mean([row for row in judgements if (row.model, row.way) == (model, way)])
             for model in models for way in WAYS}
    lines = tuple(
        (model, words, number(seconds[model], 0), *map(number, means[model, way]))
        for model in models for way, words in WAYS.items())
    labels = tuple(f"{model}, {words}" for model in models for words in WAYS.values())
    square = np.full((len(labels) + 3, len(labels) + 3), np.nan)
    square[:len(labels), len(labels):] = np.array([means[model, way][:3] for model in models for way in WAYS])
    beside = HeatMap.of("Judgements beside people, people with length held constant, and length",
                        (*labels, "people", "people, length held", "length"), np.fmax(square, square.T),
                        f"Mean Spearman correlations of {len(labels)} judgements; the numbers are in judgement.csv.")
    datasets = sorted({row.dataset for row in judgements})
    return Findings(
        tables=(Grid("judges", "What a judgement hangs on", HEAD, lines, f"mean over {', '.join(datasets)}"),),
        remarks=(("ρ: Spearman's with the mean ratings, over items; mean over the qualities of a dataset, then over "
                 "datasets. length held: partial correlation given the number of words. with as shipped: with what "
                 "the same model answers to the shipped question. s / 1,000: seconds for 1,000 items, all three "
                  f"questions. {_parameters(models)}"),),
        objects={"judgement": [dataclasses.asdict(row) for row in judgements]}, maps=(beside,), failures=failures)


def _mean(rows: Sequence[Judgement]) -> list[float]:
    """The mean of each figure over the qualities of each dataset, then over datasets."""
    own: dict[str, list[tuple[float, ...]]] = {row.dataset: [] for row in rows}
    for row in rows:
        own[row.dataset].append((row.agreement, row.partial, row.length, row.shipped))
    figures = [np.nanmean(some, axis=0) for some in own.values()]
    return [float(mean) for mean in np.mean(figures, axis=0)] if figures else [math.nan] * 4


def _parameters(models: Sequence[str]) -> str:
    known = catalogue.cards()
    return "Parameters: " + ", ".join(f"{model} {known[model].parameters / 1e6:,.0f} M" if model in known else
                                      f"{model} not known" for model in models) + "."
