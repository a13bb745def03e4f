"""The questions of the front page, and their answers: which column agrees best with people, and how sure that is.

A question is a board: all qualities of the datasets of a split, or one of them. Its answer depends on what a metric may
use: ratings to fit its weights on, models. The lead over the best column of another metric is tested over all targets
at once, with whole contexts drawn (harness/results/pooled.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from harness.results.pooled import DRAWS, Pool
from harness.results.rows import RankingRow, Results
from harness.statistics.pooled import Difference, weights
from leaderboard.model.boards import Board, all_boards
from leaderboard.model.cost import costs
from leaderboard.model.index import ONE_RATER, STATISTIC, Column, Index, Target, make_index, once, split_order

LIMIT = "split-half"
"""The reliability whose root is what an errorless metric would reach."""
ALL = "all qualities"
SPLITS = {"dev": "", "test": ", test datasets", "own": ", your datasets", "more": ", further datasets"}
Choice = tuple[bool, bool]
"""Whether weights may be fitted on ratings, and whether models may be used."""
FEWEST, AFFORDED = 100, 50_000_000
"""Draws for a lead, however many items; and items times draws that a page may wait for."""
CHOICES: tuple[Choice, ...] = tuple(product((False, True), (True, False)))


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

    @property
    def datasets(self) -> int:
        """On how many datasets."""
        return len({dataset for dataset, _ in self.targets})

    def row(self, column: Column) -> RankingRow | None:
        """The place of a column, if it has every value."""
        return self.board.row(column)


@dataclass(frozen=True, slots=True)
class Answer:
    """The best column that a choice allows, the best one of another metric, and by how much it leads; None: "
      "untested.
    """

    best: Column
    following: Column | None
    lead: Difference | None


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
    """Tell whether a choice allows a column."""
    cost, (ratings, models) = costs(index.results).get(column), choice
    return cost is None or ((ratings or not cost.fitted) and (models or not cost.models))


@once
def answers(results: Results) -> Mapping[tuple[str, Choice], Answer]:
    """Answer every question for every choice, by the board's name; those that no column can answer are left out."""
    index, found = make_index(results), dict[tuple[str, Choice], Answer]()
    pool = Pool.of(results) if results.points else None
    for one in questions(results):
        pairs: dict[Choice, tuple[Column, Column | None]] = {}
        for choice in CHOICES:
            ranked = [column for column in one.board.ranked if allowed(index, column, choice)]
            if ranked:
                pairs[choice] = ranked[0], next((other for other in ranked if other[0] != ranked[0][0]), None)
        tested = list(dict.fromkeys((best, other) for best, other in pairs.values() if other is not None))
        datasets = {name for name, _ in one.targets}
        leads = {}
        if pool and tested and datasets <= pool.points.keys():
            items = sum(len(pool.points[name].items) for name in datasets)
            draws = max(FEWEST, min(DRAWS, AFFORDED // max(items, 1)))
            leads = dict(zip(tested, pool.leads(one.targets, tested, one.board.rules[0], draws), strict=True))
        for choice, (best, other) in pairs.items():
            lead = leads.get((best, other)) if other else None
            difference = lead.difference if lead and lead.better == best else None
            found[one.board.name, choice] = Answer(best, other, difference)
    return found


def _question(index: Index, board: Board) -> Question:
    whole, _, dimension = board.name.partition(":")
    split, _, need = whole.partition("-")
    targets = tuple((entry.name, quality.name) for entry in index.on(board.name.partition(":")[0])
                    for quality in entry.qualities if dimension in ("", quality.dimension)
                    and quality.rated and (entry.name, quality.name) in index.valued)
    title = (dimension or ALL) + (f", datasets with {need}" if need else "") + SPLITS.get(split, f", {split}")
    return Question(board, dimension, title, targets, _mean(index, targets, board, ONE_RATER),
                    _mean(index, targets, board, LIMIT))


def _mean(index: Index, targets: tuple[Target, ...], board: Board, method: str) -> float:
    """Average a reliability by the board's rule over the targets that have one; of the limit its root."""
    known = [target for target in targets if math.isfinite(index.reliability.get((*target, method), math.nan))]
    values = [index.reliability[*target, method] for target in known]
    if method == LIMIT:
        values = [math.sqrt(max(value, 0.0)) for value in values]
    weight = weights([dataset for dataset, _ in known], board.rules[0])
    return float(weight @ values) if known else math.nan

