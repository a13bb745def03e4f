"""The page of changes: one table of every correlation that differs from an earlier run, with its cause."""

from __future__ import annotations

import math

from harness.results.rows import Results
from leaderboard.blocks.cells import metric_cell, number, number_cell
from leaderboard.blocks.tables import Block, Cell, Heading, Page, Prose, Row, Section, Table
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
        headings = (Heading("Metric", "stub"), Heading("Dataset", "words"), Heading("Quality", "words"),
                    Heading("Earlier", "number"), Heading("Now", "number"), Heading("Difference", "number"),
                    Heading("Why"))
        drawn = Table.of("changes-table", "Spearman, earlier and now", headings,
                         (_row(index, change) for change in listed[:ROWS]), index.data())
        blocks = (Prose(f"{plural(len(listed), 'correlation')} differ, are new or are gone"
                        f"{f'; the first {ROWS} are listed' * (len(listed) > ROWS)}. changes.csv lists all of them, "
                        "including differences beyond the third decimal.", link="changes.csv"), drawn)
    commit = f"commit {before.run.commit[:12]}" if before.run.commit else "unknown commit"
    return Page(path="changes.html", title="Changes since an earlier run", label="Changes",
                lead=f"This run compared with an earlier one (version {before.run.version}, {commit}).",
                sections=(Section("changed", "", blocks),), order=7, markdown=False)


def _row(index: Index, change: Change) -> Row:
    key = change.key
    text = number(change.difference)
    difference = Cell(f"+{text}") if change.difference > 0 else number_cell(change.difference)
    return (metric_cell(index, (key.metric, key.column))._replace(model=""),
            Cell(key.dataset, link=index.dataset_paths.get(key.dataset, "")), Cell(key.quality),
            *(number_cell(side.value) if side else Cell("–") for side in (change.old, change.new)),
            difference if math.isfinite(change.difference) else Cell("–"), Cell(change.why))
