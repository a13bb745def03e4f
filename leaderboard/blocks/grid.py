"""One board: a row per column of a metric, a cell per quality of a dataset, ranked by the mean of the cells.

A row that lacks a cell has no mean and no rank. A quality that nobody rated is shown but not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.results.rows import Correlation, DatasetEntry, QualityEntry
from leaderboard.blocks.cells import LEARNED_MEANS, MISSING, agreement_cell, leaders, learned_cell, missing, value_cell
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.index import Index, Key, statistic_title, there
from leaderboard.model.slugs import slug

UNRANKED = "Not ranked: a value is missing"
CONTROL = "length"
"""The metric that every other should beat: it counts the words of the response."""

BELOW = ("▽", "not above the length control")


@dataclass(frozen=True, slots=True)
class Place:
    """A quality of a dataset, and what its column is called."""

    dataset: DatasetEntry
    quality: QualityEntry
    heading: Heading


@dataclass(frozen=True, slots=True)
class _Line:
    key: Key
    found: tuple[Correlation | None, ...]
    mean: float
    covered: int
    cells: int


def boards(index: Index, places: Sequence[Place], keys: Iterable[Key], caption: str, anchor: str,
           origin: str) -> tuple[Table, ...]:
    """Draw a table per statistic over the same places; all but the first are folded."""
    rows = sorted(keys)
    return tuple(_board(index, places, rows, statistic, caption, anchor, origin, folded=position > 0)
                 for position, statistic in enumerate(index.statistics))


def coverage(covered: int, cells: int) -> str:
    """Say how much of a row is there."""
    return f"{covered} of {cells} cells"


def groups(ranked: Iterable[Row], unranked: Iterable[Row]) -> tuple[Group, ...]:
    """Put the ranked rows first, and below them the others."""
    both = (Group(tuple(ranked)), Group(tuple(unranked), UNRANKED))
    return tuple(group for group in both if group.rows)


def marked(data: str, learned: bool) -> str:
    """Say below a table what its mark means, where it has one."""
    return f"{data}; {LEARNED_MEANS}" if learned else data


def metric_cell(index: Index, key: Key) -> Cell:
    """Name a column and the models it comes from, leading to the card of its metric."""
    return Cell(index.labels[key], link=index.cards.get(key[0], ""), model=index.models.get(key[0], ""), key=key)


def signed(cell: Cell, key: Key, value: float, bar: float) -> Cell:
    """Mark the name of a column whose average is not above that of the length control."""
    return replace(cell, sign=BELOW) if key[0] != CONTROL and value <= bar else cell


def _board(index: Index, places: Sequence[Place], keys: Sequence[Key], statistic: str, caption: str,
           anchor: str, origin: str, *, folded: bool) -> Table:
    lines = [_line(index, places, key, statistic) for key in keys]
    ranked = sorted((line for line in lines if math.isfinite(line.mean)),
                    key=lambda line: (-line.mean, line.key))
    unranked = sorted((line for line in lines if not math.isfinite(line.mean)),
                      key=lambda line: (-line.covered, line.key))
    lead = [leaders(row.value for line in lines if (row := line.found[column]) is not None
                    and (line.key[0], place.dataset.name) not in index.learned)
            for column, place in enumerate(places)]
    lead_mean = leaders(line.mean for line in ranked)
    bar = max((line.mean for line in ranked if line.key[0] == CONTROL), default=math.nan)
    averaged = len(places) > 1
    title = statistic_title(statistic)
    return Table(
        anchor=f"{anchor}-{slug(statistic)}",
        caption=f"{caption}: {title}",
        headings=(Heading("Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
                  *((Heading("Mean", "number", title="Mean of the other columns", key="test"),) if averaged else ()),
                  *(_with_n(place.heading, [line.found[column] for line in lines])
                    for column, place in enumerate(places))),
        groups=groups(
            ((Cell(str(rank), value=rank), signed(metric_cell(index, line.key), line.key, line.mean, bar),
              *((value_cell(line.mean, lead_mean),) if averaged else ()),
              *_cells(index, places, line, statistic, lead))
             for rank, line in zip(_ranks(ranked), ranked, strict=True)),
            ((Cell(""), replace(metric_cell(index, line.key), small=coverage(line.covered, line.cells)),
              *((Cell(MISSING, title="no mean over an incomplete row"),) if averaged else ()),
              *_cells(index, places, line, statistic, lead))
             for line in unranked)),
        data=marked(index.data(origin), any((key[0], place.dataset.name) in index.learned
                                           for key in keys for place in places)),
        sample=origin == "sample", folded=title if folded else "",
    )


def _line(index: Index, places: Sequence[Place], key: Key, statistic: str) -> _Line:
    found = tuple(index.correlation(place.dataset.name, place.quality.name, key, statistic) for place in places)
    learned = [(key[0], place.dataset.name) in index.learned for place in places]
    counted = [None if seen else row for row, place, seen in zip(found, places, learned, strict=True)
               if place.quality.rated]  # what was learned on the same ratings does not compete
    values = [row.value for row in counted if row is not None and there(row)]
    complete = bool(counted) and len(values) == len(counted)
    mean = math.fsum(values) / len(values) if complete else math.nan
    return _Line(key, found, mean, len(values), len(counted))


def _cells(index: Index, places: Sequence[Place], line: _Line, statistic: str,
           lead: Sequence[tuple[float, float]]) -> Row:
    shown = (agreement_cell(row, best) if row is not None and there(row)
             else missing(_why(index, place, line.key, statistic))
             for row, place, best in zip(line.found, places, lead, strict=True))
    return tuple(learned_cell(cell) if cell.value is not None and (line.key[0], place.dataset.name) in index.learned
                 else cell for cell, place in zip(shown, places, strict=True))


def _why(index: Index, place: Place, key: Key, statistic: str) -> str:
    nobody = not place.quality.rated and index.correlation(
        place.dataset.name, place.quality.name, key, statistic) is None
    return "nobody rated this quality" if nobody else index.why(
        place.dataset.name, place.quality.name, key, statistic)


def _with_n(heading: Heading, found: Sequence[Correlation | None]) -> Heading:
    sizes = sorted({row.n for row in found if row is not None and there(row)})
    if not sizes:
        return heading
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]}–{sizes[-1]}"
    return replace(heading, small=", ".join(filter(None, (heading.small, n))))


def _ranks(lines: Sequence[_Line]) -> list[int]:
    """Places from the best; equal means share one, and the next is counted from the start."""
    ranks: list[int] = []
    for position, line in enumerate(lines):
        same = position > 0 and line.mean == lines[position - 1].mean
        ranks.append(ranks[-1] if same else position + 1)
    return ranks
