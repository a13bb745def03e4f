"""The data of an era's board for the scripts: numbers.js, which contains `const Numbers = {...}`.

    statistics   their names
    columns      label, name, path, metric, badge, family, fitted (on ratings), parameters (null: unknown), control;
                 equals: other columns with the same scores everywhere
    datasets     their names
    targets      dataset, quality, rated items, limit from rater noise (null below questions.MIN_RELIABILITY)
    values       by statistic: for each column the correlation on each target, or null
    fitted       [column, dataset] if weights were fitted on the same ratings, so that the value is not ranked
    initial      the board of the question that is answered first
    sizes        limits on the size of models: [key, label, words in the question]
    questions    board, title, subject, targets, rule; ranks: [rank, low, high, value, 1.96 standard errors] of each
                 column or null; answers by choice: column, verdict, about, evidence; people: a sentence on the raters;
                 marks: [value, half-width of its interval] of length, random, rater and limit, or null
    tests        by name and target: a digit for each pair of columns, see _tests
    worst        the script with `const Worst = {METRIC: {...}}`, if any: dataset, rank by people and by the metric
                 (0 to 1), last turns of the context and the reply

Columns, targets and datasets are referred to by their indices; names are written as on the pages.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.results.item_scores import labels
from harness.results.rows import Example, RankingRow, Results
from leaderboard.escaping import visible
from leaderboard.model import questions
from leaderboard.model.boards import half_width
from leaderboard.model.cost import cost_of, costs
from leaderboard.model.index import STATISTIC, ColumnKey, Index, Target, has_value, make_index
from leaderboard.model.sentences import describe_answer, evidence, is_control, rater_agreement, verdict

TURNS = 2
"""Context turns shown with a reply."""
DECIMALS = 10
"""Decimals: finer than the tolerance of ranking.js, so that equal means tie, and enough to print the page's digits."""
ALPHA = 0.05
NOT_TESTED, NO_DIFFERENCE, BETTER, WORSE = range(4)
"""Codes of a test of two columns, also in compare.js."""


def columns_of(results: Results) -> tuple[ColumnKey, ...]:
    """Return the columns that are on at least one board, sorted, as numbers.js lists them."""
    return tuple(sorted({column for question in questions.questions(results) for column in question.columns}))


def numbers(results: Results, worst_file: str = "worst.js") -> bytes:
    """Return the content of numbers.js; `worst_file` is the file name of worst.js."""
    index, columns, on_boards = make_index(results), columns_of(results), questions.questions(results)
    targets = sorted({target for question in on_boards for target in question.targets})
    datasets = list(dict.fromkeys(dataset for dataset, _ in targets))
    default_question = questions.default_question(on_boards)
    rated_items = {(entry.name, quality.name): quality.rated for entry in index.datasets for quality in entry.qualities}

    def correlation(column: ColumnKey, target: Target, statistic: str) -> float | None:
        row = index.correlation(target, column, statistic)
        return None if row is None else _rounded(row.value, DECIMALS)

    def limit(target: Target) -> float | None:
        reliability = index.rater_agreement(target, questions.LIMIT)
        return round(math.sqrt(reliability), DECIMALS) if reliability >= questions.MIN_RELIABILITY else None

    return _script("Numbers", {
        "statistics": list(index.statistics), "columns": [_column(index, column, columns) for column in columns],
        "datasets": datasets,
        "targets": [{"dataset": datasets.index(target[0]), "quality": target[1], "items": rated_items[target],
                     "limit": limit(target)} for target in targets],
        "values": {statistic: [[correlation(column, target, statistic) for target in targets] for column in columns]
                   for statistic in index.statistics},
        "fitted": [[row, position] for row, column in enumerate(columns) for position, name in enumerate(datasets)
                   if index.is_fitted(column, name)],
        "sizes": _sizes(index), "initial": default_question.name if default_question else "",
        "worst": worst_file if any(row.metric for row in results.examples) else "",
        "questions": [_question(index, question, columns, targets) for question in on_boards],
        "tests": _tests(index, targets, columns)})


def worst(results: Results) -> bytes:
    """Return the content of worst.js."""
    largest: dict[str, Example] = {}
    for row in sorted(results.examples, key=lambda row: (-abs(row.people - row.metrics), row.item)):
        if row.metric:
            largest.setdefault(row.metric, row)
    return _script("Worst", {
        metric: {"dataset": row.dataset, "people": round(row.people, DECIMALS),
                 "position": round(row.metrics, DECIMALS),
                 "turns": [*row.context[-TURNS:], row.response] if row.response else list(row.context)}
        for metric, row in sorted(largest.items())})


def _script(name: str, content: object) -> bytes:
    def escaped(value: object) -> object:
        if isinstance(value, dict):
            return {visible(key): escaped(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return list(map(escaped, value))
        return visible(value) if isinstance(value, str) else value

    return f"const {name} = {json.dumps(escaped(content), allow_nan=False, separators=(',', ':'))};\n".encode()


def _rounded(value: float, decimals: int) -> float | None:
    return round(value, decimals or None) if math.isfinite(value) else None


def _column(index: Index, column: ColumnKey, columns: Sequence[ColumnKey]) -> dict[str, Any]:
    entry, cost = index.metrics.get(column[0]), cost_of(index, column)
    equal_columns = questions.identical_columns(index.results).get(column, ())
    return {"label": index.labels[column], "name": index.names[column], "path": index.metric_paths.get(column[0], ""),
            "metric": column[0], "badge": index.badges.get(column[0], ""), "family": entry.family if entry else "",
            "fitted": cost.fitted, "parameters": _rounded(cost.size, 0), "control": is_control(index, column),
            "equals": [row for row, candidate in enumerate(columns) if candidate in equal_columns]}


def _question(index: Index, question: questions.Question, columns: Sequence[ColumnKey], targets: Sequence[Target],
              ) -> dict[str, Any]:
    controls = {name: next((row for column, row in question.ranked.items() if column[0] == name), None)
                for name in ("length", "random")}
    return {
        "board": question.name, "title": question.title, "subject": question.subject, "rule": question.rule,
        "targets": [targets.index(target) for target in question.targets],
        "ranks": [_rank(question.ranked.get(column)) for column in columns],
        "answers": {f"{int(ratings)}{_size_key(size)}": {
            "column": columns.index(answer.best), "verdict": verdict(index, question, answer.best),
            "about": describe_answer(index, question, answer), "evidence": evidence(index, question, answer)}
            for (ratings, size), answer in questions.answers(index.results)(question.name).items()},
        "people": rater_agreement(question),
        "marks": {**{name: [round(row.value, 4), round(half_width(row), 4)] if row else None
                     for name, row in controls.items()},
                  **{name: [round(value, 4), 0.0] if math.isfinite(value) else None
                     for name, value in (("rater", question.one_rater[0]), ("limit", question.limit[0]))}}}


def _size_key(size: float) -> str:
    return f"{size / 1e6:.0f}" if math.isfinite(size) else ""


def _sizes(index: Index) -> list[list[str]]:
    """Return key, label and words of the limits: any size, no model, and those that exclude a model of the results."""
    sizes = [cost.size for cost in costs(index.results).values()]
    larger_sizes = [math.inf, *questions.SIZES]
    limits = zip(questions.SIZES.items(), larger_sizes, strict=False)
    return [[_size_key(size), *words] for (size, words), larger in limits
            if size in (math.inf, 0) or any(size < parameters <= larger for parameters in sizes)]


def _rank(row: RankingRow | None) -> list[float | int | None] | None:
    if row is None:
        return None
    return [row.rank, _rounded(row.low, 0), _rounded(row.high, 0), round(row.value, DECIMALS),
            round(half_width(row), DECIMALS)]


def _tests(index: Index, targets: Sequence[Target], columns: Sequence[ColumnKey]) -> dict[str, list[str]]:
    """Return, by test and target, the codes of the pairs (0, 1), (0, 2) ... (1, 2) ... of columns; "" if not tested."""
    upper = np.triu_indices(len(columns), 1)
    tests: dict[str, list[str]] = {}
    for rows in index.results.comparisons:
        target = (rows.dataset, rows.quality)
        if rows.statistic == STATISTIC and target in targets:
            scored = sorted(index.columns[rows.dataset])
            position = {name: columns.index(column) for name, column in zip(labels(scored), scored, strict=True)
                        if column in columns and has_value(index.correlation(target, column))}
            positions = np.array([position.get(name, -1) for name in rows.names])
            better, worse = positions[rows.better], positions[rows.worse]
            both_shown = (better >= 0) & (worse >= 0)
            significant = rows.bh[both_shown] < ALPHA
            codes_by_pair = np.full((len(columns), len(columns)), NOT_TESTED, np.uint8)
            codes_by_pair[better[both_shown], worse[both_shown]] = np.where(significant, BETTER, NO_DIFFERENCE)
            codes_by_pair[worse[both_shown], better[both_shown]] = np.where(significant, WORSE, NO_DIFFERENCE)
            codes = "".join(map(str, codes_by_pair[upper].tolist()))
            tests.setdefault(rows.test, [""] * len(targets))[targets.index(target)] = codes
    return dict(sorted(tests.items()))
