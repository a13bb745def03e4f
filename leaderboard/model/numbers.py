"""The data of the board of an era for its scripts: numbers.js, which contains `const Numbers = {...}`.

    statistics   their names
    columns      label, path, metric, badge, family; fitted: on ratings; parameters of its networks (null: unknown);
                 control; equals: the columns that are equal everywhere
    datasets     their names
    targets      dataset, quality, rated items, limit: root of the reliability (null below questions.LEAST)
    values       by statistic: for each column the correlation on each target, or null
    fitted       [column, dataset] where weights were fitted on the same ratings, so the value is not ranked
    initial      the board of the question that is answered first
    sizes        limits on the size of models: [key, label, words in the question]
    questions    board, title, subject, targets, rule; ranks: [rank, low, high, value, 1.96 standard errors] of each
                 column or null; answers by choice: column, verdict, about, evidence; people: a sentence; marks of the
                 picture: [value, half its interval] of length, random, rater and limit, or null
    tests        by name and target: a digit for each pair of columns, see _tests
    worst        the script with `const Worst = {METRIC: {...}}`, if any: dataset, position for people and for the
                 metric, turns of the context and the reply

Columns, targets and datasets are named by their positions; names are written as on the pages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.results.item_scores import labels
from harness.results.rows import Comparisons, Correlation, Example, RankingRow, Results
from leaderboard.escaping import visible
from leaderboard.model import questions as asking
from leaderboard.model.boards import has_interval
from leaderboard.model.cost import Cost, costs
from leaderboard.model.index import STATISTIC, Column, Index, Target, has_value, make_index
from leaderboard.model.sentences import NORMAL, about, evidence, is_control, people, verdict

TURNS = 2
"""Context turns shown with a reply."""
ALPHA = 0.05
NOT_TESTED, NO_DIFFERENCE, BETTER, WORSE = range(4)
"""Codes of a test of two columns, also in compare.js."""


def columns_of(results: Results) -> tuple[Column, ...]:
    """List the rows of the board: every column on some board."""
    return tuple(sorted({column for question in asking.questions(results) for column in question.columns}))


def numbers(results: Results, worst: str = "worst.js") -> bytes:
    """Write numbers.js, with the name of the script that `worst` writes."""
    index, columns, questions = make_index(results), columns_of(results), asking.questions(results)
    targets = sorted({target for question in questions for target in question.targets})
    datasets = list(dict.fromkeys(dataset for dataset, _ in targets))
    alike, first = asking.equals(results), asking.default(questions)
    rated = {(entry.name, quality.name): quality.rated for entry in index.datasets for quality in entry.qualities}

    def correlation(row: Correlation | None) -> float | None:
        return round(row.value, 6) if row is not None and has_value(row) else None

    def limit(target: Target) -> float | None:
        reliability = index.rater_agreement(target, asking.LIMIT)
        return round(math.sqrt(reliability), 4) if reliability >= asking.LEAST else None

    return _script("Numbers", {
        "statistics": list(index.statistics),
        "columns": [{**_column(index, column), "equals": [row for row, other in enumerate(columns)
                                                          if other in alike.get(column, ())]} for column in columns],
        "datasets": [visible(name) for name in datasets],
        "targets": [{"dataset": datasets.index(target[0]), "quality": visible(target[1]), "items": rated[target],
                     "limit": limit(target)} for target in targets],
        "values": {statistic: [[correlation(index.correlation(target, column, statistic)) for target in targets]
                               for column in columns] for statistic in index.statistics},
        "fitted": [[row, number] for row, column in enumerate(columns) for number, name in enumerate(datasets)
                   if index.is_fitted(column, name)],
        "sizes": _sizes(index), "initial": visible(first.name) if first else "",
        "worst": worst if any(row.metric for row in results.examples) else "",
        "questions": [_question(index, question, columns, targets) for question in questions],
        "tests": _tests(index, targets, columns)})


def worst(results: Results) -> bytes:
    """Write worst.js: the item with the largest error of each metric."""
    largest: dict[str, Example] = {}
    for row in sorted(results.examples, key=lambda row: (-abs(row.people - row.metrics), row.item)):
        largest.setdefault(row.metric, row)
    return _script("Worst", {
        visible(metric): {
            "dataset": visible(row.dataset), "people": round(row.people, 4), "position": round(row.metrics, 4),
            "turns": list(map(visible, (*row.context[-TURNS:], row.response) if row.response else row.context))}
        for metric, row in sorted(largest.items()) if metric})


def _script(name: str, content: object) -> bytes:
    return f"const {name} = {json.dumps(content, allow_nan=False, separators=(',', ':'))};\n".encode()


def _column(index: Index, column: Column) -> dict[str, Any]:
    cost = costs(index.results).get(column) or Cost("", fitted=False, seconds=math.nan)
    return {"label": visible(index.labels[column]), "name": visible(index.names[column]),
            "path": index.metric_paths.get(column[0], ""), "metric": visible(column[0]),
            "badge": visible(index.badges.get(column[0], "")),
            "family": visible(cost.family), "fitted": cost.fitted,
            "parameters": cost.parameters if math.isfinite(cost.size) else None, "control": is_control(index, column)}


def _question(index: Index, question: asking.Question, columns: Sequence[Column], targets: Sequence[Target],
              ) -> dict[str, Any]:
    controls = {name: next((row for column, row in question.ranked.items() if column[0] == name), None)
                for name in ("length", "random")}
    raters = {"rater": question.one_rater, "limit": question.limit}
    return {
        "board": visible(question.name), "title": visible(question.title), "subject": visible(question.subject),
        "rule": question.rules[0],
        "targets": [targets.index(target) for target in question.targets],
        "ranks": [_rank(question.row(column)) for column in columns],
        "answers": {f"{int(ratings)}{_size_key(size)}": {
            "column": columns.index(answer.best), "verdict": verdict(index, question, answer.best),
            "about": visible(about(index, answer.best)), "evidence": visible(evidence(index, question, answer))}
            for (board, (ratings, size)), answer in asking.answers(index.results).items() if board == question.name},
        "people": people(question),
        "marks": {**{name: [round(row.value, 4), _half(row)] if row else None for name, row in controls.items()},
                  **{name: [round(value, 4), 0.0] if math.isfinite(value) else None
                     for name, value in raters.items()}}}


def _half(row: RankingRow) -> float:
    """Return half of the 95 % interval of a value; 0 if unknown."""
    return round(NORMAL * row.error, 4) if math.isfinite(row.error) else 0.0


def _size_key(size: float) -> str:
    return f"{size / 1e6:.0f}" if math.isfinite(size) else ""


def _sizes(index: Index) -> list[tuple[str, str, str]]:
    """Return the limits on the size of models that make a difference here: key, label, words in the question."""
    known = [cost.size for cost in costs(index.results).values()]
    return [(_size_key(size), label, words) for number, (size, label, words) in enumerate(asking.SIZES)
            if not number or size == 0 or any(size < parameters <= asking.SIZES[number - 1][0] for parameters in known)]


def _rank(row: RankingRow | None) -> list[float | int | None] | None:
    if row is None:
        return None
    interval = [round(row.low), round(row.high)] if has_interval(row) else [None, None]
    return [row.rank, *interval, round(row.value, 6), _half(row)]


def _tests(index: Index, targets: Sequence[Target], columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return the codes of the pairs (0, 1), (0, 2) ... (1, 2) ... of columns by test and target; "" if not tested."""
    upper = np.triu_indices(len(columns), 1)
    tests: dict[str, list[str]] = {}
    for rows in index.results.comparisons:
        if rows.statistic == STATISTIC and (rows.dataset, rows.quality) in targets:
            codes = tests.setdefault(rows.test, [""] * len(targets))
            codes[targets.index((rows.dataset, rows.quality))] = "".join(
                map(str, _square(index, columns, rows)[upper].tolist()))
    return dict(sorted(tests.items()))


def _square(index: Index, columns: Sequence[Column], comparisons: Comparisons) -> npt.NDArray[np.uint8]:
    """Return the code of each pair of columns on a target; columns without a correlation there are not tested."""
    position = {column: number for number, column in enumerate(columns)
                if has_value(index.correlation((comparisons.dataset, comparisons.quality), column))}
    scored = sorted(index.columns[comparisons.dataset])
    by_label = {name: position.get(column, -1) for name, column in zip(labels(scored), scored, strict=True)}
    positions = np.array([by_label.get(name, -1) for name in comparisons.names])
    better, worse = positions[comparisons.better], positions[comparisons.worse]
    listed = (better >= 0) & (worse >= 0)
    significant = comparisons.bh[listed] < ALPHA
    square = np.full((len(columns), len(columns)), NOT_TESTED, np.uint8)
    square[better[listed], worse[listed]] = np.where(significant, BETTER, NO_DIFFERENCE)
    square[worse[listed], better[listed]] = np.where(significant, WORSE, NO_DIFFERENCE)
    return square
