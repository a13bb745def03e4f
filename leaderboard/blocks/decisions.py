"""The table of decisions: whether a column may replace a rater, and how many ratings one rating with it replaces."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from harness.results.decision_rows import Decision
from leaderboard.blocks.cells import column_cell, fitted_cell, number, with_fitted_note
from leaderboard.blocks.tables import Cell, Heading, Table, numeric
from leaderboard.model.index import Index, descending, plural
from leaderboard.texts import TEXTS

MAX_ROWS = 20
EXPLAINED: str = TEXTS["decisions"]["explained"]


def _spearman(index: Index, row: Decision) -> float:
    correlation = index.correlation((row.dataset, row.quality), (row.metric, row.column))
    return correlation.value if correlation else math.nan


def sorted_decisions(index: Index, rows: Iterable[Decision]) -> list[Decision]:
    """Sort decisions by target, the columns with the highest correlations first."""
    return sorted(rows, key=lambda row: (
        row.dataset, row.quality, descending(_spearman(index, row)), row.metric, row.column))


def best_decisions(index: Index, rows: Iterable[Decision]) -> list[Decision]:
    """Select the columns with the highest correlations on each target, at most MAX_ROWS in all."""
    targets = [list(group) for _, group in groupby(sorted_decisions(index, rows), key=attrgetter("dataset", "quality"))]
    return [row for group in targets for row in group[:max(1, MAX_ROWS // len(targets))]][:MAX_ROWS]


def decision_table(index: Index, decisions: Sequence[Decision], data: str) -> Table:
    headings = ("Dataset", Heading("Quality", "words"), Heading("Metric", "words"),
                *numeric("Spearman", "Worth", "95 %", "ρ", "Rater", "Constant"), Heading("Replaces", "words"),
                Heading("First", "words"))
    rows = []
    for row in decisions:
        name = column_cell(index, column := (row.metric, row.column))
        verdict = "yes" if row.replaces else "as constant" if row.passes else "no" if math.isfinite(row.rho) else ""
        interval = f"{row.worth_low:.2f}–{row.worth_high:.2f}" if math.isfinite(row.worth) else ""
        rows.append((row.dataset, row.quality, fitted_cell(name) if index.is_fitted(column, row.dataset) else name,
                     _spearman(index, row), number(row.worth, 2) if interval else math.nan, interval, row.rho,
                     row.rater_rho, row.constant_rho,
                     Cell(verdict, title=f"winning rate {row.winning_rate:.2f}" if verdict else row.note),
                     "yes" if row.tied_first else ""))
    any_fitted = any(index.is_fitted((row.metric, row.column), row.dataset) for row in decisions)
    return Table.of("decisions-table", f"Replacing raters (ε = {decisions[0].epsilon:g}) and saving ratings", headings,
                    rows, with_fitted_note(data, any_fitted))


def limitations(decisions: Iterable[Decision]) -> Iterator[str]:
    """Yield each limitation with the qualities that it concerns, and with the columns if it does not concern all."""
    columns: dict[str, list[str]] = defaultdict(list)
    notes: dict[str, dict[str, list[str]]] = {}
    for row in decisions:
        target = f"{row.dataset}, {row.quality}"
        columns[target].append(row.column)
        for note in filter(None, row.note.split("; ")):
            notes.setdefault(note, defaultdict(list))[target].append(row.column)
    for note, targets in notes.items():
        names = [target if limited_columns == columns[target] else f"{', '.join(limited_columns)} on {target}"
                 for target, limited_columns in targets.items()]
        yield f"{'; '.join(names) if len(names) < 4 else plural(len(names), 'quality', 'qualities')}: {note}"
