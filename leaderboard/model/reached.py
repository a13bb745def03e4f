"""What a metric reaches: every cell, its standing on each board, and whether that is more than length does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from harness.results.rows import Correlation, DatasetEntry, QualityEntry, RankingRow
from leaderboard.blocks.cells import agreement_cell, learned_cell, missing, number
from leaderboard.blocks.grid import coverage, marked
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.boards import BOARDS, complete, names
from leaderboard.model.index import Index, Key, split_order, statistic_title, there
from leaderboard.model.slugs import slug

STATISTIC = "spearman"
OTHERS = ("pearson", "kendall")
CONTROL = "length"
CEILING = "leave-one-out"
NONE_LEADS = (math.nan, math.nan)
"""The values of a column here are of different datasets: none is the best of them."""

ORIGINS = {"real": "real data", "sample": "bundled sample"}
SPLITS = {"dev": "Development datasets", "test": "Test datasets"}

Place: TypeAlias = tuple[str, str]
"""A dataset and one of its qualities."""


@dataclass(frozen=True, slots=True)
class Field:
    """All columns beside each other: their ranks on each cell, their ranking under each board's own rule."""

    found: Index
    ranks: Mapping[Place, Mapping[Key, int]]
    reliability: Mapping[Place, float]
    ranking: Mapping[tuple[str, str, Key], RankingRow]
    control: Key | None

    def value(self, place: Place, key: Key) -> float:
        """Find a column's Spearman on a cell; NaN where there is none or its weights were learned there."""
        row = self.found.correlation(*place, key, STATISTIC)
        return math.nan if row is None or (key[0], place[0]) in self.found.learned else row.value


def field(index: Index) -> Field:
    """Put the columns of a report beside each other."""
    cells: dict[Place, list[tuple[float, Key]]] = {}
    for row in index.results.correlations:
        if row.statistic == STATISTIC and there(row) and (row.metric, row.dataset) not in index.learned:
            cells.setdefault((row.dataset, row.quality), []).append((row.value, (row.metric, row.column)))
    own = {(row.board, row.origin, (row.metric, row.column)): row for row in index.results.ranking
           if row.statistic == STATISTIC and row.rule == row.board.partition("-")[0]}
    controls = [(entry.name, entry.columns[0]) for entry in index.results.metrics
                if entry.name == CONTROL and entry.family == "control" and entry.columns]
    return Field(
        index, {place: _ranks(rows) for place, rows in cells.items()},
        {(row.dataset, row.quality): row.value for row in index.results.reliability if row.method == CEILING},
        own, controls[0] if controls else None)


def tables(every: Field, keys: Sequence[Key], origin: str) -> tuple[Table, ...]:
    """Draw every rated cell of an origin, a table per column of a metric; all but the first are folded."""
    return tuple(_table(every, key, origin, folded=position > 0) for position, key in enumerate(keys))


def ranking(every: Field, keys: Sequence[Key], origin: str) -> tuple[Table, ...]:
    """Draw the place of each column on each board of an origin, under the board's own rule."""
    rows = tuple(_standing(every, row) for name, board_origin in names(every.found.results) if board_origin == origin
                 for key in keys if (row := every.ranking.get((name, origin, key))) is not None)
    if not rows:
        return ()
    return (Table(
        anchor=f"ranking-{origin}", caption=f"RankingRow on the boards: {statistic_title(STATISTIC)}",
        headings=(Heading("Board", "stub"), Heading("Column"), Heading("Average", "number"),
                  Heading("Length control", "number"), Heading("Rank, 95 %", "number"),
                  Heading("Letters", title="Columns that share a letter cannot be told apart"),
                  Heading("Cells", "number")),
        groups=(Group(rows),), data=every.found.data(origin), sample=origin == "sample"),)


def behind_length(every: Field, keys: Sequence[Key], origin: str) -> tuple[str, ...]:
    """Say for each board where a column does not reach more than the length control, with both numbers."""
    if every.control is None or every.control in keys:
        return ()
    return tuple(
        f"{every.found.labels[key]} does not beat the length control on “{BOARDS.get(name, name)}”, "
        f"{ORIGINS[origin]}: {number(own)} against {number(control)}{where}."
        for name, board_origin in names(every.found.results) if board_origin == origin
        for key in keys for own, control, where in (_beside_length(every, name, origin, key),)
        if own <= control)  # NaN where there is nothing to compare


def _beside_length(every: Field, name: str, origin: str, key: Key) -> tuple[float, float, str]:
    """Take the averages of the board where both have one, else the means over the cells that both have."""
    if every.control is None:
        return math.nan, math.nan, ""
    own, other = (every.ranking.get((name, origin, one)) for one in (key, every.control))
    if own is not None and other is not None and complete(own) and complete(other):
        return own.value, other.value, ""
    pairs = [pair for place in rated(every.found.on(origin, name))
             if all(map(math.isfinite, pair := (every.value(place, key), every.value(place, every.control))))]
    if not pairs:
        return math.nan, math.nan, ""
    mean, control = (math.fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
    cells = "1 cell" if len(pairs) == 1 else f"{len(pairs)} cells"
    return mean, control, f", the means over the {cells} that both have"


def rated(datasets: Sequence[DatasetEntry]) -> list[Place]:
    """List the cells of datasets: every quality that people rated."""
    return [(entry.name, quality.name) for entry in datasets for quality in entry.qualities if quality.rated]


def _standing(every: Field, row: RankingRow) -> Row:
    found, key = every.found, (row.metric, row.column)
    first = (Cell(BOARDS.get(row.board, row.board), link="index.html"), Cell(found.labels[key]))
    cells = Cell(f"{row.covered} of {row.cells}")
    if not complete(row):
        gone = missing("no average over an incomplete row", coverage(row.covered, row.cells))
        return (*first, gone, Cell(""), Cell(""), Cell(""), cells)
    control = every.ranking.get((row.board, row.origin, every.control)) if every.control else None
    known = math.isfinite(row.low) and math.isfinite(row.high)
    return (*first, Cell(number(row.value), value=row.value),
            Cell(number(control.value), value=control.value) if control is not None and complete(control)
            else missing("the length control has no average here"),
            Cell(str(row.rank), value=row.rank, small=f"{row.low:.0f}–{row.high:.0f}" if known else ""),
            Cell(row.letters), cells)


def _table(every: Field, key: Key, origin: str, *, folded: bool) -> Table:
    found = every.found
    datasets = found.on(origin)
    splits = sorted({entry.split for entry in datasets}, key=split_order)
    groups = (Group(tuple(_row(every, entry, quality, key) for entry in datasets if entry.split == split
                          for quality in entry.qualities if quality.rated), SPLITS.get(split, split))
              for split in splits)
    label = found.labels[key]
    return Table(
        anchor=f"reached-{origin}-{slug('-'.join(key))}", caption=f"{label} on every quality of every dataset",
        headings=(Heading("Dataset", "stub"), Heading("Quality"),
                  Heading(statistic_title(STATISTIC), "number", small="95 % interval"), Heading("p", "number"),
                  Heading("Rank", "number", small="of columns", title="Rank by Spearman among the columns of the run"),
                  Heading("People", "number", small="one against the others"),
                  Heading("Corrected", "number", small="had people been of one mind",
                          title="Spearman divided by the root of the people's reliability"),
                  *(Heading(statistic_title(name), "number", small="95 % interval") for name in OTHERS),
                  Heading("n", "number")),
        groups=tuple(group for group in groups if group.rows),
        data=marked(found.data(origin), any((key[0], entry.name) in found.learned for entry in datasets)),
        sample=origin == "sample", folded=label if folded else "")


def _row(every: Field, entry: DatasetEntry, quality: QualityEntry, key: Key) -> Row:
    found, place = every.found, (entry.name, quality.name)
    first = (Cell(entry.name, link=found.dataset_paths[entry.name]),
             Cell(quality.name, link=found.quality_paths[quality.dimension]))
    row = found.correlation(*place, key, STATISTIC)
    if row is None or not there(row):
        return (*first, missing(found.why(*place, key, STATISTIC)), *(Cell(""),) * 7)
    ranks = every.ranks.get(place, {})
    rank = Cell(f"{ranks[key]} of {len(ranks)}", value=ranks[key]) if key in ranks else Cell("")
    others = (_shown(every, found.correlation(*place, key, name), f"no {name}") for name in OTHERS)
    return (*first, _shown(every, row, ""),
            Cell(p_value(row.p), value=row.p if math.isfinite(row.p) else None), rank,
            _number(every.reliability.get(place, math.nan)), _number(row.corrected), *others,
            Cell(str(row.n), value=row.n))


def _shown(every: Field, row: Correlation | None, why: str) -> Cell:
    if row is None or not there(row):
        return missing((row.note if row is not None else "") or why)
    cell = agreement_cell(row, NONE_LEADS)
    return learned_cell(cell) if (row.metric, row.dataset) in every.found.learned else cell


def _number(value: float) -> Cell:
    return Cell(number(value), value=value) if math.isfinite(value) else Cell("", title="not known")


def p_value(p: float) -> str:
    """Write a p-value, nothing where there is none."""
    if not math.isfinite(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _ranks(rows: Sequence[tuple[float, Key]]) -> dict[Key, int]:
    """Rank from the highest value; equals share a rank."""
    ordered = sorted((value for value, _ in rows), reverse=True)
    first: dict[float, int] = {}
    for position, value in enumerate(ordered, start=1):
        first.setdefault(value, position)
    return {key: first[value] for value, key in rows}
