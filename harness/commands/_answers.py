"""The page of `harness judge view`: prompt, answer and score of every item, from results and stored answers.

It contains texts of datasets and models (escaped) and is for this machine only: no other command reads it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path

from markupsafe import Markup

from benchmarks import registry as datasets
from benchmarks.dataset import Item
from harness.results.rows import ItemScores, Results
from harness.scoring import score
from leaderboard.escaping import visible
from metrics import registry
from metrics.errors import MetricError
from metrics.external.libraries.judge import Judge
from metrics.judges import prompt as prompts
from metrics.judges.local import LocalJudge
from metrics.models.service import Models

HEAD = Markup("""<!doctype html><html lang="en"><meta charset="utf-8"><title>Answers of judges</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem}
pre{white-space:pre-wrap;background:#8881;padding:.5rem}h3{border-top:1px solid #8888;margin-top:1rem}
:root{color-scheme:light dark}</style><h1>Answers of judges</h1>
<p>This page contains texts of datasets and models. It is for this machine only; no other command reads it.</p>
""")


def page(results: Results, home: Path, url: str) -> tuple[bytes, int]:
    """Return the page for all judges in the results, and its number of items."""
    parts, items = [HEAD], 0
    sampled = {entry.name for entry in results.datasets if entry.origin == "sample"}
    datasets.register_home(home)
    for points in results.points:
        card = datasets.card(points.dataset)
        dataset = datasets.sample(card) if points.dataset in sampled else datasets.load(points.dataset, home)
        by_id = {item.id: item for item in dataset.items}
        for name in sorted({metric for metric, _ in points.scores if metric.startswith("judge:")}):
            parts.append(Markup("<h2>{} on {}</h2>").format(visible(name), points.dataset))
            try:
                judge = score.about(registry.choose(name).metric, dataset)
            except MetricError as error:
                parts.append(Markup("<p>{}</p>").format(visible(str(error))))
                continue
            if isinstance(judge, Judge):
                judge = dataclasses.replace(judge, url=url)
            for row, item in enumerate(points.items):
                if item in by_id and isinstance(judge, Judge | LocalJudge):
                    turns = score.turns(by_id[item]) if score.by_turn(judge, dataset) else [by_id[item]]
                    parts.append(_scores(points, name, row))
                    parts += [part for turn in turns for part in _exchanges(judge, turn, home)]
                    items += 1
    return "".join(parts).encode("utf-8", "replace"), items


def _scores(points: ItemScores, name: str, row: int) -> Markup:
    values = {column: values[row] for (metric, column), values in points.scores.items() if metric == name}
    people = {f"people, {quality}": means[row] for quality, means in points.human.items()}
    texts = (f"{column} {value:.3g}" if math.isfinite(value) else f"{column} –"
             for column, value in (values | people).items())
    return Markup("<h3>{}</h3><p>{}</p>").format(visible(points.items[row]), visible("; ".join(texts)))


def _exchanges(judge: Judge | LocalJudge, item: Item, home: Path) -> Iterator[Markup]:
    """Yield the questions about an item with their stored answers."""
    for question in prompts.questions(judge.prompt, item) if judge.takes(item) else ():
        text = "\n\n".join(f"{message['role']}: {message['content']}" for message in question.messages)
        yield Markup("<details><summary>prompt: {}</summary><pre>{}</pre></details>").format(
            ", ".join(quality.name for quality in question.qualities), visible(text))
        if isinstance(judge, LocalJudge):
            continue
        answers = judge.stored(question, Models(home))
        yield Markup("").join(Markup("<pre>{}</pre>").format(visible(answer.text)) for answer in answers) or Markup(
            "<p>no answer from this server is stored; use --url for another server</p>")
