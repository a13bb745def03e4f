"""The table of `harness report --decide`: may a column replace a rater, and how many ratings is it worth?"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.errors import plural
from harness.commands._comparisons import Selection
from harness.commands._output import DATA
from harness.errors import BadConfig
from harness.results.decision_rows import Decision
from leaderboard.blocks.decisions import EXPLAINED, best, decision_table, limits, ranked
from leaderboard.model.index import make_index
from leaderboard.render.text import text, wrapped

TABLE_WIDTH = 130
"""Width of the table, which has three columns of names."""


def selected(chosen: Selection) -> list[Decision]:
    """Return the selected decisions by target, the best columns first."""
    rows = list(filter(chosen.has_row, chosen.results.decisions))
    if not rows:
        raise BadConfig("the results have no decisions for this selection; `harness run` adds them")
    return ranked(make_index(chosen.results), rows)


def decision_tables(chosen: Selection) -> Iterator[str]:
    """Yield the best columns of each target for each kind of data, with their limits."""
    index, rows = make_index(chosen.results), selected(chosen)
    kinds = {entry.name: "own" if entry.split == "own" else entry.kind for entry in index.datasets}
    for kind in dict.fromkeys(kinds[row.dataset] for row in rows):
        of_kind = [row for row in rows if kinds[row.dataset] == kind]
        shown = best(index, of_kind)
        yield text(decision_table(index, shown, DATA[kind]), TABLE_WIDTH)
        if more := len(of_kind) - len(shown):
            yield f"{plural(more, 'more row')}: --dataset, --quality and --metric select, --json prints all.\n"
        yield from (f"{limit}\n" for limit in limits(shown))
    yield wrapped(EXPLAINED, indent="")
