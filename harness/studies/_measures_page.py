"""What the study of measures says: tables, JSON objects, and the files measures.md, measures.csv and agreement.svg."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.results.rows import Grid
from harness.statistics.estimates import STATISTICS
from harness.statistics.resampled_levels import Measure
from harness.studies import Findings
from harness.studies._comparison import DEFAULT, MeasureBoard, MeasureRow, Name
from harness.studies._picture import Map, svg
from harness.studies._resamples import MOST, Amount

HEAD = ("measure", "cells", "metrics", "power", "of default", "consistency", "of default", "tau")
FIGURES = ("cells", "metrics", "power", "power_default", "consistency", "spread", "consistency_default", "tau")


def findings(title: str, boards: Sequence[MeasureBoard], seed: int, amount: Amount) -> Findings:
    """Everything that is printed and kept."""
    remarks = tuple(_remarks(boards, seed, amount))
    picture = svg(title, [Map(f"Correlation of rankings, {one.title}", tuple(map(_short, _measures(one))), one.tau)
                          for one in boards])
    return Findings(
        tables=tuple(map(_table, boards)), remarks=remarks,
        objects=tuple(entry for one in boards for entry in _objects(one)),
        files={"measures.md": "\n".join(_page(title, boards, remarks)).encode(), "measures.csv": _csv(boards),
               "agreement.svg": picture})


def label(measure: Measure) -> str:
    """A measure in words: its statistic and its level."""
    level, statistic = measure
    return f"{STATISTICS[statistic].title} {_words(level)}"


def _short(measure: Measure) -> str:
    level, statistic = measure
    return f"{_words(level).removeprefix('over ')}, {STATISTICS[statistic].title}"


def _words(level: str) -> str:
    return "over items" if level == "items" else level.replace("-", " ")


def _measures(board: MeasureBoard) -> list[Measure]:
    return [row.measure for row in board.rows]


def _table(board: MeasureBoard) -> Grid:
    rows = tuple((label(row.measure), f"{row.cells} of {board.cells}", str(row.metrics), _share(row.power),
                  _share(row.power_default), _spread(row.consistency, row.spread),
                  _number(row.consistency_default), _number(row.tau)) for row in board.rows)
    return Grid(board.name, "Measures of agreement", HEAD, rows, board.title)


def _remarks(boards: Sequence[MeasureBoard], seed: int, amount: Amount) -> Iterator[str]:
    yield (f"power: share of pairs of metrics separated at 5 % (paired bootstrap, {amount.draws} draws, each pair of "
           "each cell by itself, not adjusted), mean over cells.")
    yield ("consistency: Kendall's τ between the rankings of metrics by two random halves of the data, mean ± standard "
           f"deviation over {amount.halvings} halvings.")
    yield (f"tau: Kendall's τ between the ranking of metrics and that by the default, {label(DEFAULT)}. All but the "
           "first number are on the cells on which both exist; power needs a metric on one cell, the others need it on "
           "all of them (metrics), and three metrics. of default: what the default has there.")
    yield ("A context is drawn, or halved, with all its items. Over systems, the systems stay as they are and their "
           "items are drawn: a handful of systems leaves little to draw from, so this says nothing of other systems.")
    yield ("Pairwise accuracy keeps the threshold of ties that is best on the whole cell, which flatters its power and "
           "its consistency a little. A cell without groups of three items, or without three systems, is left out "
           f"where they are needed. Seed: {seed}.")
    for board in boards:
        if board.thinned:
            yield f"{board.title}: of {board.thinned} cells with more rated items, {MOST} items were taken at random."


def _page(title: str, boards: Sequence[MeasureBoard], remarks: Iterable[str]) -> Iterator[str]:
    yield from (f"# {title}", "", *(line for remark in remarks for line in (remark, "")))
    yield from ("![Correlation of rankings; the numbers are in the tables below](agreement.svg)", "")
    for board in boards:
        names = _names(board)
        shown = [_short(measure) for measure in _measures(board)]
        yield from (f"## On {board.title}", "", *_markdown(HEAD, _table(board).rows))
        yield from ("### Correlation of rankings", "",
                    "Kendall's τ between the rankings by two measures, on the cells and metrics they share.", "")
        yield from _markdown(("", *shown), [(name, *map(_number, line)) for name, line
                                            in zip(shown, board.tau, strict=True)])
        yield from ("### Rankings", "", "By the mean over all cells on which the measure exists, best first.", "")
        yield from _markdown(("measure", "cells", "metrics from the best on"),
                             [(label(row.measure), str(row.cells), _ranking(row, names)) for row in board.rows])


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    lines = (head, ["---"] * len(head), *rows)
    yield from ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    yield ""


def _names(board: MeasureBoard) -> dict[Name, str]:
    """A column by its name, with its metric before it where two metrics have one of that name."""
    every = {name for row in board.rows for place in row.ranking for name in place}
    columns = [column for _, column in every]
    return {(metric, column): column if columns.count(column) == 1 else f"{metric}/{column}"
            for metric, column in every}


def _ranking(row: MeasureRow, names: Mapping[Name, str]) -> str:
    return ", ".join(" = ".join(f"`{names[name]}`" for name in place) for place in row.ranking)


def _objects(board: MeasureBoard) -> Iterator[dict[str, object]]:
    names = _names(board)
    for row in board.rows:
        yield {"kind": "measure", "data": board.name, **_parts(row.measure), "of": board.cells,
               **{name: _plain(getattr(row, name)) for name in FIGURES},
               "ranking": [[names[name] for name in place] for place in row.ranking]}
    for i, first in enumerate(_measures(board)):
        for j, second in enumerate(_measures(board)[:i]):
            cells, metrics = board.behind[i][j]
            yield {"kind": "agreement", "data": board.name, **_parts(first), "beside": _parts(second),
                   "tau": _plain(float(board.tau[i, j])), "cells": cells, "metrics": metrics}


def _csv(boards: Sequence[MeasureBoard]) -> bytes:
    """One row per kind of data and measure, with its agreement with every other."""
    every = list(dict.fromkeys(measure for board in boards for measure in _measures(board)))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("data", "grouping", "coefficient", "of", *FIGURES, *(f"tau {' '.join(one)}" for one in every)))
    for board in boards:
        known = _measures(board)
        for row, line in zip(board.rows, board.tau, strict=True):
            taus = [float(line[known.index(one)]) if one in known else math.nan for one in every]
            figures = [_plain(value) for value in (*(getattr(row, name) for name in FIGURES), *taus)]
            writer.writerow((board.name, *row.measure, board.cells, *figures))
    return stream.getvalue().encode()


def _parts(measure: Measure) -> dict[str, str]:
    return dict(zip(("grouping", "coefficient"), measure, strict=True))


def _plain(value: float) -> float | None:
    """A number for a program, to six decimals; nothing for what is missing."""
    return round(value, 6) + 0 if math.isfinite(value) else None


def _number(value: float) -> str:
    return f"{round(value, 2) + 0:.2f}".replace("-", "−") if math.isfinite(value) else "–"


def _spread(value: float, spread: float) -> str:
    return f"{_number(value)} ± {_number(spread)}" if math.isfinite(value) else _number(value)


def _share(value: float) -> str:
    return f"{value:.0%}".replace("%", " %") if math.isfinite(value) else "–"
