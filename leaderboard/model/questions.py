"""The questions of the front page, and their answers: which column agrees best with people, and how sure that is.

A question is a board: all qualities of the datasets of a split, or one of them. Its answer depends on what a metric may
use: ratings to fit its weights on, models of a size. The lead over the best column of another metric is tested by
PERM-BOTH over all targets at once, to first order, adjusted by Holm over the leader's comparisons with the metrics
that follow it; its interval is over contexts drawn anew (harness/results/pooled.py). Which column would lead without
one of the datasets is told beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from harness.results.pooled import FOLLOWING, Pool
from harness.results.rows import RankingRow, Results
from harness.statistics.pooled import Difference, weights
from leaderboard.model.boards import Board, all_boards
from leaderboard.model.cost import costs
from leaderboard.model.index import ONE_RATER, STATISTIC, Column, Index, Target, make_index, once, split_order

LIMIT = "split-half"
"""The reliability whose root is what an errorless metric would reach."""
LEAST = 0.3
"""Below this reliability no correlation is corrected: divided by so noisy a root it says nothing."""
ALL = "all qualities"
SPLITS = {"": "", "dev": "", "test": ", test datasets", "own": ", your datasets", "more": ", further datasets"}
Choice = tuple[bool, float]
"""Whether weights may be fitted on ratings, and how many parameters the models of a metric may have."""
SIZES: tuple[tuple[float, str, str], ...] = (
    (math.inf, "any model", ""), (150e6, "models up to 150 M parameters", "up to 150 M parameters"),
    (30e6, "models up to 30 M parameters", "up to 30 M parameters"), (0.0, "no model", "without models"))
"""Sizes of models that a reader may allow: in words on their own, and as part of the question."""
CHOICES: tuple[Choice, ...] = tuple(product((False, True), (size for size, *_ in SIZES)))


@dataclass(frozen=True, slots=True)
class Question:
    """A board and what is averaged on it: `dimension` is "" for all qualities."""

    board: Board
    dimension: str
    title: str
    targets: tuple[Target, ...]
    one_rater: float
    """One rater with the mean of the others, averaged as the board is; not an upper bound."""
    limit: float
    """What the raters' noise leaves an errorless metric."""
    one_rater_on: int
    limit_on: int
    """On how many datasets these are known."""

    @property
    def datasets(self) -> int:
        """On how many datasets."""
        return len({dataset for dataset, _ in self.targets})

    def row(self, column: Column) -> RankingRow | None:
        """The place of a column, if it has every value."""
        return self.board.row(column)


@dataclass(frozen=True, slots=True)
class Answer:
    """The best column that a choice allows, the best one of another metric, and by how much it leads; None: untested.

    `without` has the column that leads without a dataset, by the dataset that is left out; empty where there is one.
    """

    best: Column
    following: Column | None
    lead: Difference | None
    without: Mapping[str, Column]


@once
def questions(results: Results) -> tuple[Question, ...]:
    """List the questions: all qualities of a split, then each quality, that of most datasets first."""
    index = make_index(results)
    asked = [_question(index, own) for own in all_boards(results) if own.statistic == STATISTIC]
    return tuple(sorted((one for one in asked if one.targets), key=lambda one: (
        split_order(one.board.name.partition(":")[0]), bool(one.dimension), -one.datasets, one.dimension)))


def default(asked: Iterable[Question]) -> Question | None:
    """The question that is answered first: overall quality where several datasets have it, else all qualities."""
    every = list(asked)
    return next((one for one in every if one.dimension == "overall" and one.datasets > 1), every[0] if every else None)


def allowed(index: Index, column: Column, choice: Choice) -> bool:
    """Tell whether a choice allows a column; models whose size is not known are of any."""
    cost, (ratings, size) = costs(index.results).get(column), choice
    return cost is None or ((ratings or not cost.fitted) and cost.size <= size)


@once
def answers(results: Results) -> Mapping[tuple[str, Choice], Answer]:
    """Answer every question for every choice, by the board's name; those that no column can answer are left out."""
    index, found = make_index(results), dict[tuple[str, Choice], Answer]()
    pool = Pool.of(results) if results.points else None
    for one in questions(results):
        first = {choice: own for choice in CHOICES if (own := tuple(best_of_each(index, one, choice)[:1 + FOLLOWING]))}
        tested = _leads(pool, one, dict.fromkeys(own for own in first.values() if own[1:])) if pool else {}
        means = _means_without(index, one)
        for choice, (best, *others) in first.items():
            found[one.board.name, choice] = Answer(best, others[0] if others else None, tested.get((best, *others)), {
                name: _leader(index, own, choice, best) for name, own in means.items() if best in own})
    return found


def _leads(pool: Pool, question: Question, wanted: Iterable[tuple[Column, ...]],
           ) -> dict[tuple[Column, ...], Difference]:
    """The lead of the first of some columns over the second, p being adjusted for all that follow."""
    columns, rule = list(wanted), question.board.rules[0]
    datasets = {name for name, _ in question.targets}
    if not columns or not datasets <= pool.points.keys():
        return {}
    leads = zip(columns, pool.leads(question.targets, columns, rule), strict=True)
    return {own: lead.difference for own, lead in leads if lead.better == own[0]}


def _means_without(index: Index, question: Question) -> dict[str, dict[Column, float]]:
    """The means of all columns on what is left without each dataset; none where there is but one."""
    means: dict[str, dict[Column, float]] = {}
    values = {column: np.array([index.value(target, column) for target in question.targets])
              for column in question.board.columns}
    datasets = [dataset for dataset, _ in question.targets]
    for name in sorted(set(datasets)) if question.datasets > 1 else ():
        rest = np.array([dataset != name for dataset in datasets])
        weight = weights([dataset for dataset in datasets if dataset != name], question.board.rules[0])
        means[name] = {column: mean for column, own in values.items()
                       if math.isfinite(mean := float(weight @ own[rest]))}
    return means


def _leader(index: Index, means: Mapping[Column, float], choice: Choice, best: Column) -> Column:
    """The first of the columns that a choice allows, by their means; `best` before its equals."""
    own = {column: round(mean, 9) for column, mean in means.items() if allowed(index, column, choice)}
    return max(own, key=lambda column: (own[column], column == best))


def best_of_each(index: Index, question: Question, choice: Choice) -> list[Column]:
    """The columns that a choice allows, of each metric the best; of those that are equal everywhere the first."""
    shown: dict[str, Column] = {}
    alike = equals(index.results)
    for column in question.board.ranked:
        if allowed(index, column, choice) and not alike.get(column, frozenset()) & set(shown.values()):
            shown.setdefault(column[0], column)
    return list(shown.values())


@once
def equals(results: Results) -> Mapping[Column, frozenset[Column]]:
    """The columns of other metrics that have the same correlations on every target, to three decimals."""
    values: dict[Column, dict[Target, float]] = {}
    for row in results.correlations:
        if row.statistic == STATISTIC and math.isfinite(row.value):
            values.setdefault((row.metric, row.column), {})[row.dataset, row.quality] = round(row.value, 3)
    alike: dict[frozenset[tuple[Target, float]], list[Column]] = {}
    for column, own in values.items():
        alike.setdefault(frozenset(own.items()), []).append(column)
    return {column: others for group in alike.values() if len(group) > 1 for column in group
            if (others := frozenset(other for other in group if other[0] != column[0]))}


def _question(index: Index, board: Board) -> Question:
    whole, _, dimension = board.name.partition(":")
    split, _, need = whole.partition("-")
    targets = tuple((entry.name, quality.name) for entry in index.on(board.name)
                    for quality in entry.qualities if dimension in ("", quality.dimension)
                    and quality.rated and (entry.name, quality.name) in index.valued)
    part = ", datasets with references" if need == "references" else f", in {need}" if need else ""
    title = (dimension or ALL) + part + SPLITS.get(index.split(split), f", {index.split(split)}")
    (one_rater, one_rater_on), (limit, limit_on) = (_mean(index, targets, board, own) for own in (ONE_RATER, LIMIT))
    return Question(board, dimension, title, targets, one_rater, limit, one_rater_on, limit_on)


def _mean(index: Index, targets: tuple[Target, ...], board: Board, method: str) -> tuple[float, int]:
    """Average a reliability, of the limit its root, over the targets that have one, and count their datasets."""
    known = [target for target in targets if math.isfinite(index.reliability.get((*target, method), math.nan))]
    values = [index.reliability[*target, method] for target in known]
    if method == LIMIT:
        values = [math.sqrt(max(value, 0.0)) for value in values]
    datasets = [dataset for dataset, _ in known]
    return float(weights(datasets, board.rules[0]) @ values) if known else math.nan, len(set(datasets))

