"""The page of changes: Spearman correlations that differ from an earlier run, and why.

The sample and real data of the same name count as two datasets, so simulated and real results are never compared.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from harness.results.differences import Causes, causes, distance, summary
from harness.results.rows import Results
from leaderboard.blocks.cells import column_cell, dataset_cell, number
from leaderboard.blocks.tables import Heading, Page, Prose, Section, Table, numeric
from leaderboard.model.index import STATISTIC, descending, has_value, make_index, plural

UNEXPLAINED = "unexplained: same inputs, different number"
MAX_ROWS = 400
VISIBLE_DIFFERENCE = 0.0005
"""Smaller differences are not visible in three decimals."""


class Change(NamedTuple):
    """A correlation that differs; a value is NaN if the run lacks it."""

    origin: str
    dataset: str
    quality: str
    metric: str
    column: str
    old: float
    new: float
    why: str

    @property
    def difference(self) -> float:
        return self.new - self.old


def page(before: Results, results: Results) -> Page:
    index = make_index(results)
    visible = [change for change in changes(before, results) if not abs(change.difference) < VISIBLE_DIFFERENCE]
    rows = ((column_cell(index, (change.metric, change.column)), dataset_cell(index, change.dataset), change.quality,
             number(change.old), number(change.new), number(change.difference), change.why)
            for change in visible[:MAX_ROWS])
    headings = ("Metric", Heading("Dataset", "words"), Heading("Quality", "words"),
                *numeric("Earlier", "Now", "Difference"), "Why")
    count = f"{plural(len(visible), 'correlation')} changed in the first three decimals, new or gone" + (
        f"; the first {MAX_ROWS} are listed" if len(visible) > MAX_ROWS else "")
    commit = f"commit {before.run.commit[:12]}" if before.run.commit else "unknown commit"
    return Page(path="changes.html", title="Changes since an earlier run", label="Changes",
                lead=f"A comparison of this run with an earlier one (version {before.run.version}, {commit}).",
                sections=(Section("changed", "", (
                    Prose(f"{count}. changes.csv lists every difference.", link="changes.csv"),
                    Table.of("changes-table", "Spearman, earlier and now", headings, rows, index.describe_data()))),),
                order=7, markdown=False)


def changes(before: Results, results: Results) -> list[Change]:
    """List every correlation that differs: unexplained changes first, then by size; added and removed ones last."""
    old, new, differences = _values(before), _values(results), causes(before, results)
    values = {key: (old.get(key, math.nan), new.get(key, math.nan)) for key in {**old, **new}}
    changed = [Change(*key, *pair, _why(*pair, differences, key)) for key, pair in values.items() if distance(*pair)]
    return sorted(changed, key=lambda change: (
        change.why != UNEXPLAINED, descending(abs(change.difference)), change))


def _values(results: Results) -> dict[tuple[str, str, str, str, str], float]:
    origin = {entry.name: entry.kind for entry in results.datasets}
    return {(origin[row.dataset], row.dataset, row.quality, row.metric, row.column): row.value
            for row in results.correlations if row.statistic == STATISTIC and has_value(row)}


def _why(old: float, new: float, differences: Causes, key: tuple[str, ...]) -> str:
    """Name the causes of a change; options of the whole run, such as the seed, cannot change a correlation."""
    _, dataset, _, metric, _ = key
    if math.isnan(old) or math.isnan(new):
        return "new" if math.isnan(old) else "gone"
    if specific := summary(differences.affecting(dataset, metric)):
        return specific
    if of_run := summary(cause for cause in differences.run if cause.kind != "options"):
        return f"the whole run: {of_run}"
    return "perhaps code: uncommitted changes" if differences.unsure else UNEXPLAINED
