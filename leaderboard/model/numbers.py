"""The numbers of the board for its scripts: numbers.js, which says `const Numbers = {...}`.

    statistics   their names
    columns      [label, path, metric, badge, fitted on ratings, models, seconds per 1,000 items, parameters, family]
    datasets     their names
    targets      [dataset, quality, rated items, root of the reliability] of each
    values       by statistic: row by row the correlation on each target times a million, null where there is none
    fitted       [row, dataset] where weights were fitted on the same ratings, so that the value does not compete
    questions    board, title, targets, rule, places: [rank, low, high, value, 1.96 standard errors] of each row or
                 null; answers by choice: [row, what it is, the answer's second line]; people: the third line; marks:
                 [value, half its interval] of length and random, one rater, limit, those of the picture
    tests        by name: which column is better on each target, as pairs.py packs them, in base 64

Names are as the page shows them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

from harness.results.rows import RankingRow, Results
from leaderboard.model import questions as asking
from leaderboard.model.boards import has_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import STATISTIC, Column, Index, Target, has_value, make_index
from leaderboard.model.pairs import make_pairs
from leaderboard.model.sentences import about, evidence, people
from leaderboard.render.escaping import visible

MILLION = 1_000_000
NORMAL = 1.959964
"""Standard errors to each side of a value that make its 95 % interval."""
MARKS = ("length", "random")
"""Controls that the picture shows as bands."""


def columns_of(results: Results) -> tuple[Column, ...]:
    """List the rows of the board: every column with a place on some board."""
    return tuple(sorted({column for one in asking.questions(results) for column in one.board.columns}))


def targets_of(results: Results) -> tuple[Target, ...]:
    """List the targets of the questions."""
    return tuple(sorted({target for one in asking.questions(results) for target in one.targets}))


def numbers(results: Results) -> bytes:
    """Write the script."""
    index, columns, targets = make_index(results), columns_of(results), targets_of(results)
    datasets = list(dict.fromkeys(dataset for dataset, _ in targets))
    pairs = make_pairs(results)
    content = {
        "statistics": list(index.statistics),
        "columns": [_column(index, column) for column in columns],
        "datasets": [visible(name) for name in datasets],
        "targets": [[datasets.index(dataset), visible(quality), _rated(index, (dataset, quality)), _short(
            math.sqrt(max(0.0, index.reliability.get((dataset, quality, asking.LIMIT), math.nan))))]
            for dataset, quality in targets],
        "values": {statistic: [[round(row.value * MILLION) if (row := index.correlation(target, column, statistic))
                                and has_value(row) else None for target in targets] for column in columns]
                   for statistic in index.statistics},
        "fitted": [[row, place] for row, column in enumerate(columns) for place, name in enumerate(datasets)
                   if index.is_fitted(column, name)],
        "questions": [_question(index, one, columns, targets) for one in asking.questions(results)],
        "tests": {name: base64.b64encode(pairs.packed((STATISTIC, name), targets, columns)).decode()
                  for name in pairs.tests},
    }
    return f"const Numbers = {json.dumps(content, allow_nan=False, separators=(',', ':'))};\n".encode()


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
            visible(index.badges.get(column[0], "")), bool(cost and cost.fitted), bool(cost and cost.models),
            float(f"{cost.seconds:.3g}") if cost and math.isfinite(cost.seconds) else None,
            cost.parameters if cost else 0, visible(cost.family) if cost else ""]


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
    """Write a choice: ratings and models, each 1 where it is allowed."""
    return "".join(str(int(part)) for part in choice)


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
