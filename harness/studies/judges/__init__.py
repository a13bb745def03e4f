"""Sensitivity of a language model's judgements to its size, the order of the answers, the wording and the length.

Each model is asked the same question, whether the reply is relevant and consistent, in three ways: as shipped
(`judge:relevance`), with its two answers in the other order, and in other words; the text before the question is read
once. If judgements change with the wording of the question, their correlation says less about the model; if the
correlation disappears with length held constant, the model only measures length.
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
from harness.statistics.estimates import estimate
from harness.statistics.panel import panel
from harness.studies import Findings, StudyRequest
from metrics.models import catalogue

TITLE = "Sensitivity of a language model's judgements"
FLAGS = ("dataset", "quality", "split")
PROMPT = Path(__file__).with_name("three-ways.toml")
SHIPPED = "as-shipped"
WAYS = {SHIPPED: "as shipped", "no-or-yes": "answers swapped", "other-words": "other words"}

HEAD = ("model", "question", "s / 1,000", "ρ", "ρ, length held", "ρ with length", "ρ with shipped")
FIGURES = ("agreement", "partial", "length", "shipped")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The correlations of one model's answers to one question on one target."""

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
    """Ask every model of `--lm` (a list separated by commas) in three ways."""
    models = [name for name in (request.choice.lm if request.choice else "").split(",") if name]
    if not request.choice or not models:
        raise BadConfig("no model to judge: pass --lm smollm2-135m, or several models separated by commas")
    judges = tuple(f"judge:{PROMPT}[lm={model}]" for model in models)
    results, targets, failures = dataclasses.replace(
        request, selection=dataclasses.replace(request.selection, metrics=judges),
        choice=dataclasses.replace(request.choice, lm="")).scored("judges")
    skips = (f"{skip.metric} on {skip.dataset}: {skip.reason}" for skip in results.skips if "lm=" in skip.metric)
    if not targets:
        raise BadConfig("nothing to study: no requested dataset has ratings that differ")
    return findings([judgement for target in targets for judgement in _judgements(target, models)], models,
                    {model: _seconds(results, model) for model in models}, (*failures, *skips))


def _judgements(target: TargetData, models: Sequence[str]) -> Iterator[Judgement]:
    words = np.full(target.scores.shape[1], np.nan) if target.words is None else target.words.astype(float)
    rows = {column: row for row, (_, column) in enumerate(target.names)}
    for model in models:
        by_way = {way: row for way in WAYS if (row := rows.get(f"{PROMPT.stem}-{way}[lm={model}]")) is not None}
        for way, row in by_way.items():
            people, answers = target.panel(row), target.scores[row]
            yield Judgement(target.dataset, target.quality, model, way, people.n, estimate(people, "spearman").value,
                            estimate(people, "partial").value, _spearman(answers, words),
                            _spearman(answers, target.scores[by_way[SHIPPED]]))


def _spearman(scores: np.ndarray, others: np.ndarray) -> float:
    groups = np.zeros(len(scores), dtype=np.intp)
    return estimate(panel(scores, others, groups, groups), "spearman").value


def _seconds(results: Results, model: str) -> float:
    """Return the seconds that all questions on 1,000 items take."""
    timed = [row for row in results.timings if f"lm={model}]" in row.metric]
    items = sum(row.items for row in timed)
    return 1000 * sum(row.seconds for row in timed) / items if items else math.nan


def findings(judgements: Sequence[Judgement], models: Sequence[str], seconds: dict[str, float],
             failures: tuple[str, ...] = ()) -> Findings:
    """Build the table and the heat map; means are over the targets of a dataset, then over datasets."""
    cells = [(model, way) for model in models for way in WAYS]
    means = np.array([_mean([row for row in judgements if (row.model, row.way) == cell]) for cell in cells])
    lines = tuple((model, WAYS[way], number(seconds[model], 0), *map(number, mean))
                  for (model, way), mean in zip(cells, means, strict=True))
    labels = tuple(f"{model}, {WAYS[way]}" for model, way in cells)
    square = np.full((len(labels) + 3, len(labels) + 3), np.nan)
    square[:len(labels), len(labels):] = means[:, :3]
    heat = HeatMap.of("Judgements, ratings, ratings with length held constant, and length",
                      (*labels, "people", "people, length held", "length"), np.fmax(square, square.T),
                      f"Mean Spearman correlations of {len(labels)} judgements; the numbers are in judgement.csv.")
    known = catalogue.cards()
    parameters = ", ".join(f"{model} {known[model].parameters / 1e6:,.0f} M" if model in known else f"{model} unknown"
                           for model in models)
    return Findings(
        tables=(Grid("judges", "Sensitivity of judgements", HEAD, lines,
                     f"mean over {', '.join(sorted({row.dataset for row in judgements}))}"),),
        remarks=(("ρ: Spearman's with the mean ratings, over items; mean over the qualities of a dataset, then over "
                  "datasets. length held: partial correlation given the number of words. with shipped: with the "
                  "answers of the same model to the shipped question. s / 1,000: seconds for 1,000 items, all three "
                  f"questions. Parameters: {parameters}."),),
        objects={"judgement": [dataclasses.asdict(row) for row in judgements]}, maps=(heat,), failures=failures)


def _mean(rows: Sequence[Judgement]) -> list[float]:
    datasets = dict.fromkeys(row.dataset for row in rows)
    means = [np.nanmean([[getattr(row, name) for name in FIGURES] for row in rows if row.dataset == dataset], axis=0)
             for dataset in datasets]
    return [float(mean) for mean in np.mean(means, axis=0)] if means else [math.nan] * len(FIGURES)
