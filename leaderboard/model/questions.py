"""The questions of the front page and their answers: the column with the highest correlation, and the evidence for it.

A question is a board: all qualities of the datasets of a split, or one quality. Its answer depends on whether a metric
may be fitted on ratings, and how large its models may be. The lead over the best column of another metric is tested by
PERM-BOTH over all targets at once, adjusted over all pairs of columns of the board (harness/statistics/pooled.py).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from harness.results.pooled import Lead, Pool
from harness.results.rows import Results
from harness.statistics.pooled import weights
from leaderboard.model.boards import Board, all_boards, era_of
from leaderboard.model.cost import cost_of
from leaderboard.model.index import (
    ONE_RATER,
    STATISTIC,
    ColumnKey,
    Index,
    Target,
    cached_by_results,
    make_index,
    split_order,
)

LIMIT = "split-half"
"""Method of the reliability whose square root is the limit from rater noise."""
MIN_RELIABILITY = 0.3
"""Correlations are not corrected for a lower reliability, whose square root is too noisy to divide by."""
TITLE_SUFFIXES = {"": "", "dev": "", "test": ", test datasets", "recent": "", "own": "", "more": ""}
"""Additions to the titles of questions by split."""
Choice = tuple[bool, float]
"""Constraints on a metric: whether weights may be fitted on ratings, and the maximum number of model parameters."""
SIZES: Mapping[float, tuple[str, str]] = {
    math.inf: ("any size", ""), 150e6: ("up to 150 M parameters", "with models up to 150 M parameters"),
    30e6: ("up to 30 M parameters", "with models up to 30 M parameters"), 0.0: ("no model", "without models")}
"""Limits on the size of models, with their labels and their words in the question."""
CHOICES: tuple[Choice, ...] = tuple(product((False, True), SIZES))
DEFAULT_CHOICE: Choice = (False, math.inf)
"""The first choice shown: not fitted on ratings, any model."""


@dataclass(frozen=True)
class Question(Board):
    """A Spearman board with the targets that it averages; `dimension` is "" for all qualities.

    `systems` names the rated systems, "" for the sample and challenges. Nothing is known about fitting on ratings if
    the numbers are `published`. `one_rater` is the correlation of one rater with the mean of the others, averaged like
    the board; `limit` is the limit from rater noise. Both come with the number of targets on which they are known.
    """

    dimension: str
    title: str
    systems: str
    published: bool
    targets: tuple[Target, ...]
    one_rater: tuple[float, int]
    limit: tuple[float, int]

    @property
    def datasets(self) -> int:
        return len({dataset for dataset, _ in self.targets})

    @property
    def subject(self) -> str:
        """The systems and the quality that the question is about."""
        quality = self.title.replace("overall", "overall quality") if self.dimension == "overall" else self.title
        return f"{self.systems}, {quality}" if self.systems else quality


@dataclass(frozen=True, slots=True)
class Answer:
    """The best column that a choice allows, the best column of another metric, and the lead (None if not tested).

    `without` maps each dataset to the column that leads without it; it is empty if there is only one dataset.
    """

    choice: Choice
    best: ColumnKey
    following: ColumnKey | None
    lead: Lead | None
    without: Mapping[str, ColumnKey]


@cached_by_results
def questions(results: Results) -> tuple[Question, ...]:
    """Return the questions: for each split all qualities, then single qualities, the most datasets first.

    The test datasets of published results come first, since they decided the challenge.
    """
    index = make_index(results)
    candidates = (_question(index, board) for board in all_boards(results) if board.statistic == STATISTIC)
    return tuple(sorted((question for question in candidates if question.targets), key=lambda question: (
        question.published and question.id.split != "test", split_order(question.id.group), bool(question.dimension),
        -question.datasets, question.dimension)))


def default_question(all_questions: Sequence[Question]) -> Question | None:
    """Return the question to answer first: overall quality if several datasets have it, else all qualities."""
    overall = (question for question in all_questions if question.dimension == "overall" and question.datasets > 1)
    return next(overall, all_questions[0] if all_questions else None)


def is_allowed(index: Index, column: ColumnKey, choice: Choice) -> bool:
    """Return True if a choice allows a column; models of unknown size count as larger than any limit."""
    (ratings, size), cost = choice, cost_of(index, column)
    return (ratings or not cost.fitted) and cost.size <= size


@cached_by_results
def answers(results: Results) -> Callable[[str], Mapping[Choice, Answer]]:
    """Return a function from the name of a board to its answers, for every choice that allows a column."""
    index, pool = make_index(results), Pool.of(results)
    by_name = {question.name: question for question in questions(results)}
    return functools.cache(lambda name: _answers(index, pool, by_name[name]))


def _answers(index: Index, pool: Pool, question: Question) -> dict[Choice, Answer]:
    leaders = {choice: columns[:2] for choice in CHOICES if (columns := best_of_each(index, question, choice))}
    pairs = [(columns[0], columns[1]) for columns in leaders.values() if columns[1:]]
    datasets = {dataset for dataset, _ in question.targets}
    has_item_scores = datasets <= pool.points.keys()
    leads = dict(zip(pairs, pool.leads(question.targets, pairs, question.rule), strict=True) if has_item_scores else ())
    means = {name: pool.means([target for target in question.targets if target[0] != name], question.rule)
             for name in sorted(datasets) if len(datasets) > 1}
    answers = {}
    for choice, (best, *following) in leaders.items():
        candidates = [column for column in question.columns if is_allowed(index, column, choice)]
        candidates.sort(key=lambda column: column != best)  # at equal means, the best column leads
        answers[choice] = Answer(
            choice, best, following[0] if following else None,
            leads.get((best, following[0])) if following else None,
            {name: max(candidates, key=lambda column: round(columns.get(column, -math.inf), 9))
             for name, columns in means.items() if best in columns})
    return answers


def best_of_each(index: Index, question: Question, choice: Choice) -> list[ColumnKey]:
    return first_of_each(index, (column for column in question.ranked if is_allowed(index, column, choice)))


def first_of_each(index: Index, columns: Iterable[ColumnKey]) -> list[ColumnKey]:
    """Return the first column of each metric; of columns with identical scores, only the first."""
    first_columns: dict[str, ColumnKey] = {}
    for column in columns:
        if not identical_columns(index.results).get(column, frozenset()) & set(first_columns.values()):
            first_columns.setdefault(column[0], column)
    return list(first_columns.values())


@cached_by_results
def identical_columns(results: Results) -> Mapping[ColumnKey, frozenset[ColumnKey]]:
    """Map each column to the columns of other metrics with the same score for every item, if any."""
    pool, by_digest = Pool.of(results), dict[str, list[ColumnKey]]()
    targets = pool.targets()
    columns = sorted(column for column, values in pool.columns.items() if values.keys() & set(targets))
    for column, digest in zip(columns, pool.digests(targets, columns), strict=True):
        by_digest.setdefault(digest, []).append(column)
    return {column: others for group in by_digest.values() if len(group) > 1 for column in group
            if (others := frozenset(other for other in group if other[0] != column[0]))}


def _question(index: Index, board: Board) -> Question:
    split, part_name, dimension = board.id.split, board.id.part, board.id.dimension
    targets = tuple((entry.name, quality.name) for entry in index.datasets_on(board.name)
                    for quality in entry.qualities if dimension in ("", quality.dimension)
                    and quality.rated and (entry.name, quality.name) in index.targets_with_values)
    part = ", datasets with references" if part_name == "references" else f", in {part_name}" if part_name else ""
    title = (dimension or "all qualities") + part + TITLE_SUFFIXES.get(index.split(split), f", {index.split(split)}")
    hide_systems = "challenge" in index.results.run.options or all(entry.kind == "sample" for entry in index.datasets)
    return Question(board.name, board.statistic, board.ranking, dimension, title,
                    "" if hide_systems else era_of(split).systems, "published" in index.results.run.options, targets,
                    *(_mean(index, targets, board, method) for method in (ONE_RATER, LIMIT)))


def _mean(index: Index, targets: tuple[Target, ...], board: Board, method: str) -> tuple[float, int]:
    """Average a reliability (for LIMIT, its square root) over the targets where it is known, and count them."""
    reliable = {target: value for target in targets if math.isfinite(value := index.rater_agreement(target, method))}
    values = [rater_limit(value) if method == LIMIT else value for value in reliable.values()]
    datasets = [dataset for dataset, _ in reliable]
    return float(weights(datasets, board.rule) @ values) if reliable else math.nan, len(reliable)


def rater_limit(reliability: float) -> float:
    """Return the limit from rater noise: the square root of a reliability; 0 if negative, NaN if unknown."""
    return math.sqrt(max(reliability, 0.0)) if math.isfinite(reliability) else math.nan
