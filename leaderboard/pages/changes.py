"""The page of changes: one table of every correlation that differs from an earlier run, with its cause."""

from __future__ import annotations

from harness.results.rows import Results
from leaderboard.blocks.cells import MISSING, column_cell, dataset_cell, number
from leaderboard.blocks.tables import Block, Cell, Heading, Page, Prose, Row, Section, Table, numeric
from leaderboard.model.changes import Change, changes
from leaderboard.model.index import Index, make_index, plural

ROWS = 400
VISIBLE = 0.0005
"""Smaller differences do not show in three decimals."""


def compare(before: Results, results: Results) -> Page:
    """Build the page that compares results with earlier ones."""
    index = make_index(results)
    listed = [change for change in changes(before, results) if not abs(change.difference) < VISIBLE]
    blocks: tuple[Block, ...] = (Prose("No correlation differs in the first three decimals."),)
    if listed:
        first = f"; the first {ROWS} are listed" if len(listed) > ROWS else ""
        headings = (Heading("Metric", "stub"), Heading("Dataset", "words"), Heading("Quality", "words"),
                    *numeric("Earlier", "Now", "Difference"), Heading("Why"))
        blocks = (Prose(f"{plural(len(listed), 'correlation')} differ, are new or are gone{first}. changes.csv lists "
                        "all of them, including differences beyond the third decimal.", link="changes.csv"),
                  Table.of("changes-table", "Spearman, earlier and now", headings,
                           (_row(index, change) for change in listed[:ROWS]), index.data()))
    commit = f"commit {before.run.commit[:12]}" if before.run.commit else "unknown commit"
    return Page(path="changes.html", title="Changes since an earlier run", label="Changes",
                lead=f"This run compared with an earlier one (version {before.run.version}, {commit}).",
                sections=(Section("changed", "", blocks),), order=7, markdown=False)


def _row(index: Index, change: Change) -> Row:
    key, sign = change.key, "+" if change.difference > 0 else ""
    return (column_cell(index, (key.metric, key.column)), dataset_cell(index, key.dataset), Cell(key.quality),
            *(Cell(number(row.value) if row else MISSING) for row in (change.old, change.new)),
            Cell(sign + number(change.difference)), Cell(change.why))
