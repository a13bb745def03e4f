"""The page of changes: Spearman correlations that differ from an earlier run, and why.

The sample and real data of the same name count as two datasets, so simulated and real results are never compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from harness.results.differences import Causes, causes, summary
from harness.results.rows import Correlation, Results
from leaderboard.blocks.cells import MISSING, column_cell, dataset_cell, number
from leaderboard.blocks.tables import Block, Heading, Page, Prose, Section, Table, numeric
from leaderboard.model.index import STATISTIC, Index, descending, has_value, make_index, plural

UNEXPLAINED = "unexplained: same inputs, different number"
MAX_ROWS = 400
VISIBLE_DIFFERENCE = 0.0005
"""Smaller differences are not visible in three decimals."""


class Key(NamedTuple):
    """A column on one quality of a dataset, which is real data or the sample (`origin`)."""

    origin: str
    dataset: str
    quality: str
    metric: str
    column: str


@dataclass(frozen=True, slots=True)
class Change:
    """A changed correlation; `old` is None if it was added, `new` is None if it was removed."""

    key: Key
    old: Correlation | None
    new: Correlation | None
    why: str

    @property
    def difference(self) -> float:
        """The new value minus the old one; NaN unless both exist."""
        return self.new.value - self.old.value if self.old and self.new else math.nan


def compare(before: Results, results: Results) -> Page:
    index = make_index(results)
    visible = [change for change in changes(before, results) if not abs(change.difference) < VISIBLE_DIFFERENCE]
    blocks: tuple[Block, ...] = (Prose("No correlation differs in the first three decimals."),)
    if visible:
        truncation = f"; the first {MAX_ROWS} are listed" if len(visible) > MAX_ROWS else ""
        headings = ("Metric", Heading("Dataset", "words"), Heading("Quality", "words"),
                    *numeric("Earlier", "Now", "Difference"), "Why")
        blocks = (Prose(f"Changed, new or missing: {plural(len(visible), 'correlation')}{truncation}. changes.csv "
                        "lists all of them, including differences beyond the third decimal.", link="changes.csv"),
                  Table.of("changes-table", "Spearman, earlier and now", headings,
                           (_row(index, change) for change in visible[:MAX_ROWS]), index.describe_data()))
    commit = f"commit {before.run.commit[:12]}" if before.run.commit else "unknown commit"
    return Page(path="changes.html", title="Changes since an earlier run", label="Changes",
                lead=f"A comparison of this run with an earlier one (version {before.run.version}, {commit}).",
                sections=(Section("changed", "", blocks),), order=7, markdown=False)


def _row(index: Index, change: Change) -> tuple[object, ...]:
    key, sign = change.key, "+" if change.difference > 0 else ""
    return (column_cell(index, (key.metric, key.column)), dataset_cell(index, key.dataset), key.quality,
            *(number(row.value) if row else MISSING for row in (change.old, change.new)),
            sign + number(change.difference), change.why)


def changes(before: Results, results: Results) -> list[Change]:
    """List every correlation that differs: unexplained changes first, then by size; added and removed ones last."""
    old, new, differences = _values(before), _values(results), causes(before, results)
    old_index, new_index = make_index(before), make_index(results)
    changed = []
    for key in {**old, **new}:
        old_row, new_row = old.get(key), new.get(key)
        if old_row is None:
            changed.append(Change(key, old_row, new_row, f"new; earlier run: {_why_missing(old_index, key)}"))
        elif new_row is None:
            changed.append(Change(key, old_row, new_row, f"gone: {_why_missing(new_index, key)}"))
        elif old_row.value != new_row.value:
            changed.append(Change(key, old_row, new_row, _why(key, differences)))
    return sorted(changed, key=lambda change: (
        change.why != UNEXPLAINED, descending(abs(change.difference)), change.key))


def _values(results: Results) -> dict[Key, Correlation]:
    origin = {entry.name: entry.kind for entry in results.datasets}
    return {Key(origin[row.dataset], row.dataset, row.quality, row.metric, row.column): row
            for row in results.correlations if row.statistic == STATISTIC and has_value(row)}


def _why(key: Key, differences: Causes) -> str:
    """Name the causes of a change; options of the whole run, such as the seed, cannot change a correlation."""
    if specific := summary(differences.affecting(key.dataset, key.metric)):
        return specific
    if of_run := summary(cause for cause in differences.run if cause.kind != "options"):
        return f"the whole run: {of_run}"
    return "perhaps code: uncommitted changes" if differences.unsure else UNEXPLAINED


def _why_missing(index: Index, key: Key) -> str:
    entry = next((entry for entry in index.datasets if entry.name == key.dataset), None)
    if entry is None:
        return "dataset not in the run"
    if entry.kind != key.origin:
        return f"dataset is {'real data' if key.origin == 'sample' else 'the bundled sample'}"
    if key.quality not in {quality.name for quality in entry.qualities}:
        return "quality not in the run"
    if key.metric not in index.metrics:
        return "metric not in the run"
    return index.reason_missing((key.dataset, key.quality), (key.metric, key.column))
