"""The numbers of the board for its scripts: numbers.js, which says `const Numbers = {...}`.

    statistics   their names
    columns      [label, path, metric, badge, family, fitted on ratings, parameters of its networks: null if not known,
                 whether it is of a control, rows that are equal to it everywhere]
    datasets     their names
    targets      [dataset, quality, rated items, root of the reliability: null below questions.LEAST] of each
    values       by statistic: row by row the correlation on each target times a million, null where there is none
    fitted       [row, dataset] where weights were fitted on the same ratings, so that the value does not compete
    sizes        of models that may be chosen: key, words, part of the question
    questions    board, title, targets, rule, places: [rank, low, high, value, 1.96 standard errors] of each row or
                 null; answers by choice: [row, what it is, the answer's second line]; people: the third line; marks:
                 [value, half its interval] of length and random, one rater, limit, those of the picture
    tests        by name: which column is better on each target, as pairs.py packs them, in base 64

    worst        whether there is worst.js, which says `const Worst = {METRIC: [dataset, place for people, place for the
                 metric, context ..., reply]}`

Names are as the page shows them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

from harness.results.rows import Example, RankingRow, Results
from leaderboard.model import questions as asking
from leaderboard.model.boards import has_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import Column, Index, Target, has_value, make_index
from leaderboard.model.pairs import packed
from leaderboard.model.sentences import about, evidence, is_control, people
from leaderboard.render.escaping import visible

MILLION = 1_000_000
NORMAL = 1.959964
"""Standard errors to each side of a value that make its 95 % interval."""
TURNS = 2
"""Of the context of a reply so many turns are shown in a drawer."""
MARKS = ("length", "random")
"""Controls that the picture shows as bands."""


def columns_of(results: Results) -> tuple[Column, ...]:
    """List the rows of the board: every column with a place on some board."""
    return tuple(sorted({column for one in asking.questions(results) for column in one.board.columns}))


def numbers(results: Results) -> bytes:
    """Write the script."""
    index, columns = make_index(results), columns_of(results)
    targets = sorted({target for one in asking.questions(results) for target in one.targets})
    datasets = list(dict.fromkeys(dataset for dataset, _ in targets))
    alike = asking.equals(results)
    content = {
        "statistics": list(index.statistics),
        "columns": [[*_column(index, column), [place for place, other in enumerate(columns) if other in alike.get(
            column, ())]] for column in columns],
        "datasets": [visible(name) for name in datasets],
        "targets": [[datasets.index(dataset), visible(quality), _rated(index, (dataset, quality)), _short(
            math.sqrt(value) if (value := index.reliability.get((dataset, quality, asking.LIMIT), 0.0)) >= asking.LEAST
            else math.nan)] for dataset, quality in targets],
        "values": {statistic: [[round(row.value * MILLION) if (row := index.correlation(target, column, statistic))
                                and has_value(row) else None for target in targets] for column in columns]
                   for statistic in index.statistics},
        "fitted": [[row, place] for row, column in enumerate(columns) for place, name in enumerate(datasets)
                   if index.is_fitted(column, name)],
        "sizes": sizes(index),
        "worst": any(row.metric for row in results.examples),
        "questions": [_question(index, one, columns, targets) for one in asking.questions(results)],
        "tests": {name: base64.b64encode(pairs).decode() for name, pairs in packed(index, targets, columns).items()},
    }
    return f"const Numbers = {json.dumps(content, allow_nan=False, separators=(',', ':'))};\n".encode()


def worst(results: Results) -> bytes:
    """Write the script with the reply that each metric gets most wrong."""
    furthest: dict[str, Example] = {}
    for row in sorted(results.examples, key=lambda row: (-abs(row.people - row.metrics), row.item)):
        furthest.setdefault(row.metric, row)
    content = {visible(metric): [visible(row.dataset), round(row.people, 4), round(row.metrics, 4),
                                 *map(visible, (*row.context[-TURNS:], row.response) if row.response else row.context)]
               for metric, row in sorted(furthest.items()) if metric}
    return f"const Worst = {json.dumps(content, allow_nan=False, separators=(',', ':'))};\n".encode()


def marks(question: asking.Question) -> list[list[float] | None]:
    """What the picture draws beside the metrics: length, random, one rater, what the raters' noise allows."""
    controls = [next((row for column, row in question.board.ranked.items() if column[0] == name), None)
                for name in MARKS]
    return [*([round(row.value, 4), half(row)] if row else None for row in controls),
            *([_short(value) or 0.0, 0.0] if math.isfinite(value) else None
              for value in (question.one_rater, question.limit))]


def half(row: RankingRow) -> float:
    """Half of the 95 % interval of a value; 0 where it is not known."""
    return round(NORMAL * row.error, 4) if math.isfinite(row.error) else 0.0


def _column(index: Index, column: Column) -> list[Any]:
    cost = costs(index.results).get(column)
    return [visible(index.labels[column]), index.metric_paths.get(column[0], ""), visible(column[0]),
            visible(index.badges.get(column[0], "")), visible(cost.family) if cost else "",
            bool(cost and cost.fitted), (cost.parameters or (None if cost.models else 0)) if cost else 0,
            is_control(index, column)]


def _question(index: Index, question: asking.Question, columns: Sequence[Column], targets: Sequence[Target],
              ) -> dict[str, Any]:
    answered = asking.answers(index.results)
    known = {choice: answered[question.board.name, choice] for choice in asking.CHOICES
             if (question.board.name, choice) in answered}
    return {
        "board": visible(question.board.name), "title": visible(question.title), "rule": question.board.rules[0],
        "targets": [targets.index(target) for target in question.targets],
        "places": [_place(question.row(column)) for column in columns],
        "answers": {key(choice): [columns.index(own.best), visible(about(index, own.best)),
                                  visible(evidence(index, question, own))] for choice, own in known.items()},
        "people": people(question), "marks": marks(question)}


def key(choice: asking.Choice) -> str:
    """Write a choice: 1 where ratings may be used, else 0; then the size of models in millions, none for any."""
    ratings, size = choice
    return f"{int(ratings)}{size_key(size)}"


def size_key(size: float) -> str:
    """Write a size of models in millions of parameters; nothing for any."""
    return f"{size / 1e6:.0f}" if math.isfinite(size) else ""


def sizes(index: Index) -> list[tuple[str, str, str]]:
    """The sizes of models that make a difference here: key, words, and as part of the question."""
    known = [cost.size for cost in costs(index.results).values()]
    return [(size_key(size), words, part) for place, (size, words, part) in enumerate(asking.SIZES)
            if not place or size == 0 or any(size < own <= asking.SIZES[place - 1][0] for own in known)]


def _place(row: RankingRow | None) -> list[float | int | None] | None:
    if row is None:
        return None
    interval = [round(row.low), round(row.high)] if has_interval(row) else [None, None]
    return [row.rank, *interval, round(row.value, 6), half(row)]


def _rated(index: Index, target: Target) -> int:
    return next(quality.rated for entry in index.datasets if entry.name == target[0]
                for quality in entry.qualities if quality.name == target[1])


def _short(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None
