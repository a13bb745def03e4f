"""How much the choice of a measure matters: the same metrics and ratings under every grouping and coefficient.

For each measure: on how many cells it exists, whether it tells metrics apart, whether two halves of the data agree
under it, and how far the ranking of the metrics moves from that of the default, Spearman's ρ over items. `comparison`
says what each of these is.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from harness.errors import BadConfig
from harness.results.exhibits import number
from harness.results.rows import Grid
from harness.statistics.estimates import STATISTICS
from harness.statistics.resampled_levels import Measure
from harness.studies import Findings, StudyRequest, TargetGroup
from harness.studies._picture import Map, heat_maps
from harness.studies.measures.comparison import DEFAULT, MOST, Amount, MeasureBoard, MeasureRow, Name, board, measured

TITLE = "How much the choice of a measure matters for the ranking of metrics"
FLAGS = ("metric", "dataset", "quality", "split")
HALVINGS = 50
LEAST = 40
"""With fewer draws no difference can have p < 0.05."""

HEAD = ("measure", "cells", "metrics", "power", "of default", "consistency", "of default", "tau")


def study(request: StudyRequest) -> Findings:
    """Measure every target once under every measure, and compare the measures on each kind of data."""
    if request.draws < LEAST:
        raise BadConfig(f"--draws should be {LEAST} or more: with fewer, no difference reaches 5 %")
    groups, failures = request.targets("harness study measures")
    return dataclasses.replace(compare(groups, request.seed, request.draws), failures=failures)


def compare(groups: Sequence[TargetGroup], seed: int, draws: int) -> Findings:
    """Compare the measures on each kind of data; `draws` is the number of resamples."""
    if not groups:
        raise BadConfig("nothing to study: no requested dataset has ratings that differ")
    amount = Amount(HALVINGS, draws)
    targets = {id(target): target for group in groups for target in group.targets}
    under = {key: measured(target, seed, amount) for key, target in targets.items()}
    boards = [board(group, [under[id(target)] for target in group.targets], amount) for group in groups]
    picture = heat_maps(TITLE, [
        Map(f"Correlation of rankings, {each.title}", tuple(_label(row.measure, short=True) for row in each.rows),
            each.tau) for each in boards])
    return Findings(
        tables=tuple(table for each in boards for table in (
            Grid(each.name, "Measures of agreement", HEAD, tuple(_line(row, each) for row in each.rows), each.title),
            _values(each))),
        remarks=tuple(_remarks(boards, seed, amount)),
        objects={"measure": [entry for each in boards for entry in _measures(each)],
                 "agreement": [entry for each in boards for entry in _agreements(each)]},
        pictures=(picture,))


def _label(measure: Measure, *, short: bool = False) -> str:
    """A measure in words: its statistic and its level."""
    level, statistic = measure
    words, title = "over items" if level == "items" else level.replace("-", " "), STATISTICS[statistic].title
    return f"{words.removeprefix('over ')}, {title}" if short else f"{title} {words}"


def _line(row: MeasureRow, board: MeasureBoard) -> tuple[str, ...]:
    spread = f" ± {number(row.spread)}" if math.isfinite(row.consistency) else ""
    return (_label(row.measure), f"{row.cells} of {board.cells}", str(row.metrics), _share(row.power),
            _share(row.power_default), number(row.consistency) + spread, number(row.consistency_default),
            number(row.tau))


def _values(board: MeasureBoard) -> Grid:
    """The mean of each metric by each measure, over the cells on which the measure exists; best by the default first.

    A metric that lacks one of these cells has none.
    """
    default = next((row.values for row in board.rows if row.measure == DEFAULT), {})
    every = sorted({name for row in board.rows for name in row.values},
                   key=lambda name: (-default.get(name, -math.inf), name))
    names = _named(every)
    rows = tuple((names[name], *(number(row.values.get(name, math.nan)) for row in board.rows)) for name in every)
    return Grid(f"{board.name}-values", "Every metric by every measure",
                ("metric", *(_label(row.measure, short=True) for row in board.rows)), rows, board.title)


def _named(every: Iterable[Name]) -> dict[Name, str]:
    """Columns by name, with their metric's where two share one."""
    counts = Counter(column for _, column in every)
    return {(metric, column): column if counts[column] == 1 else f"{metric}/{column}" for metric, column in every}


def _share(value: float) -> str:
    return f"{value:.0%}".replace("%", " %") if math.isfinite(value) else "–"


def _remarks(boards: Sequence[MeasureBoard], seed: int, amount: Amount) -> Iterator[str]:
    yield (f"power: share of pairs of metrics separated at 5 % (paired bootstrap, {amount.draws} draws, each pair of "
           "each cell by itself, not adjusted), mean over cells.")
    yield ("consistency: Kendall's τ between the rankings of metrics by two random halves of the data, mean ± standard "
           f"deviation over {amount.halvings} halvings.")
    yield (f"tau: Kendall's τ between the ranking of metrics and that by the default, {_label(DEFAULT)}. All but the "
           "first number are on the cells on which both exist; power needs a metric on one cell, the others need it on "
           "all of them (metrics), and three metrics. of default: what the default has there.")
    yield ("A context is drawn, or halved, with all its items. Over systems, the systems stay as they are and their "
           "items are drawn: a handful of systems leaves little to draw from, so this says nothing of other systems.")
    yield ("Pairwise accuracy keeps the threshold of ties that is best on the whole cell, which flatters its power and "
           "its consistency a little. A cell without groups of three items, or without three systems, is left out "
           f"where they are needed. Seed: {seed}.")
    for each in boards:
        if each.thinned:
            yield f"{each.title}: of {each.thinned} cells with more rated items, {MOST} items were taken at random."


def _measures(board: MeasureBoard) -> Iterator[dict[str, object]]:
    """Every measure with its figures and ranking, in which a column has its metric's name too where two share one."""
    names = _named({name for row in board.rows for name in row.values})
    for row in board.rows:
        figures = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)[1:-2]}
        yield {"data": board.name, "grouping": row.measure[0], "coefficient": row.measure[1], "of": board.cells,
               **figures, "ranking": [[names[name] for name in tied] for tied in row.ranking],
               "values": {names[name]: value for name, value in row.values.items()}}


def _agreements(board: MeasureBoard) -> Iterator[dict[str, object]]:
    for i, (level, statistic) in enumerate(row.measure for row in board.rows):
        for j, (other_level, other) in enumerate(row.measure for row in board.rows[:i]):
            cells, metrics = board.behind[i][j]
            yield {"data": board.name, "grouping": level, "coefficient": statistic, "other_grouping": other_level,
                   "other_coefficient": other, "tau": float(board.tau[i, j]), "cells": cells, "metrics": metrics}
