"""The page of `harness judge view`: prompt, answer and score of every item, from results and stored answers.

It contains texts of datasets and models (escaped) and is for this machine only: no other command reads it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import registry as datasets
from benchmarks.dataset import Item
from harness.results.rows import ItemScores, Results
from harness.scoring import score
from leaderboard.render.templates import templates
from metrics import registry
from metrics.errors import MetricError, MissingResource
from metrics.external.libraries.judge import Judge
from metrics.judges import prompt as prompts
from metrics.judges.local import LocalJudge
from metrics.models.service import Models


def page(results: Results, home: Path, url: str) -> tuple[bytes, int, str]:
    """Return the page for all judges in the results, its number of items, and why a judge is missing, or ""."""
    sections: list[tuple[str, str, str, list[Any]]] = []
    sampled = {entry.name for entry in results.datasets if entry.origin == "sample"}
    datasets.register_home(home)
    for points in results.points:
        card = datasets.card(points.dataset)
        dataset = datasets.sample(card) if points.dataset in sampled else datasets.load(points.dataset, home)
        by_id = {item.id: item for item in dataset.items}
        for name in sorted({metric for metric, _ in points.scores if metric.startswith("judge:")}):
            try:
                judge = score.about(registry.choose(name, seed=results.run.seed).metric, dataset)
            except MetricError as error:
                hint = "; run this command in the folder of the prompt" * isinstance(error, MissingResource)
                sections.append((name, points.dataset, f"{error}{hint}", []))
                continue
            if isinstance(judge, Judge):
                judge = dataclasses.replace(judge, url=url)
            items = []
            for row, item in enumerate(points.items):
                if item in by_id and isinstance(judge, Judge | LocalJudge):
                    turns = score.turns(by_id[item]) if score.by_turn(judge, dataset) else [by_id[item]]
                    items.append((item, _scores(points, name, row),
                                  [exchange for turn in turns for exchange in _exchanges(judge, turn, home)]))
            sections.append((name, points.dataset, "", items))
    content = templates().get_template("answers.html").render(sections=sections)
    problem = next((f"{name}: {problem}" for name, _, problem, _ in sections if problem), "")
    return content.encode(), sum(len(items) for *_, items in sections), problem


def _scores(points: ItemScores, name: str, row: int) -> str:
    values = {column: values[row] for (metric, column), values in points.scores.items() if metric == name}
    people = {f"people, {quality}": means[row] for quality, means in points.human.items()}
    return "; ".join(f"{column} {value:.3g}" if math.isfinite(value) else f"{column} –"
                     for column, value in (values | people).items())


def _exchanges(judge: Judge | LocalJudge, item: Item, home: Path) -> Iterator[tuple[prompts.Question, Any]]:
    """Yield the questions about an item with their stored answers; None for a local judge, which stores none."""
    for question in prompts.questions(judge.prompt, item) if judge.takes(item) else ():
        yield question, tuple(judge.stored(question, Models(home))) if isinstance(judge, Judge) else None
