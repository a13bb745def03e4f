"""The table of `harness report --decide`: may a column replace a rater, and how many ratings is it worth?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from harness.commands._comparisons import Selection, Target
from harness.commands._output import DATA, table
from harness.errors import BadConfig
from harness.results.rows import Decision
from leaderboard.blocks.cells import MISSING, number
from leaderboard.blocks.tables import Kind
from leaderboard.model.index import plural

ROWS = 20
HEADS: dict[str, Kind] = {
    "Quality": "stub", "Metric": "text", "Spearman": "number", "ρ": "number", "Rater": "number", "Constant": "number",
    "Replaces": "text", "Worth": "number", "95 %": "number", "First": "text"}
EXPLAINED = """\
ρ: share of items on which the metric is at least as near to the other raters as a rater. Rater, Constant: the
same of the raters and of the best constant. Replaces: significantly above the raters' share less ε and above
the constant's; 'as constant' if only the former. Worth: how many ratings one rating with the metric replaces,
with its 95 % interval. First: the highest correlation, or not significantly below it."""


def decisions(chosen: Selection) -> list[tuple[Decision, float]]:
    """Return the selected decisions with the correlation of their column, the best columns of a target first."""
    values = {(row.dataset, row.quality, row.metric, row.column): row.value
              for row in chosen.results.correlations if row.statistic == "spearman" and math.isfinite(row.value)}
    rows = [(row, values.get((row.dataset, row.quality, row.metric, row.column), -math.inf))
            for row in chosen.results.decisions
            if chosen.has(row.dataset, row.quality) and (not chosen.columns or row.column in chosen.columns)]
    if not rows:
        raise BadConfig("the results have no decisions for this selection; `harness run` adds them")
    return sorted(rows, key=lambda pair: (pair[0].dataset, pair[0].quality, -pair[1], pair[0].column))


def decided(chosen: Selection) -> Iterator[str]:
    """Format the best columns of each target, at most ROWS in all, for each kind of data; then the limits."""
    by_kind: dict[str, dict[Target, list[tuple[Decision, float]]]] = defaultdict(lambda: defaultdict(list))
    for row, value in decisions(chosen):
        entry = chosen.entry((row.dataset, row.quality))
        by_kind["own" if entry.split == "own" else entry.kind][row.dataset, row.quality].append((row, value))
    for kind, targets in by_kind.items():
        shown = [pair for rows in targets.values() for pair in rows[:max(1, ROWS // len(targets))]][:ROWS]
        yield table(f"Decisions, ε = {shown[0][0].epsilon:g}", HEADS.items(), DATA[kind],
                    (_cells(row, value) for row, value in shown))
        if more := sum(map(len, targets.values())) - len(shown):
            yield f"{plural(more, 'more row')}: --dataset, --quality and --metric select, --json prints all.\n"
        notes: dict[str, dict[str, None]] = defaultdict(dict)
        for row, _ in shown:
            for note in filter(None, row.note.split("; ")):
                notes[note][f"{row.dataset}, {row.quality}"] = None
        if notes:
            yield "".join(f"{'; '.join(names) if len(names) < 4 else f'{len(names)} qualities'}: {note}\n"
                          for note, names in notes.items())
    yield EXPLAINED


def _cells(row: Decision, value: float) -> tuple[str, ...]:
    verdict = "yes" if row.replaces else "as constant" if row.passes else "no" if math.isfinite(row.rho) else MISSING
    interval = f"{row.worth_low:.2f} to {row.worth_high:.2f}" if math.isfinite(row.worth) else MISSING
    return (f"{row.dataset}, {row.quality}", row.column, number(value), number(row.rho), number(row.rater_rho),
            number(row.constant_rho), verdict, number(row.worth, 2), interval, "yes" if row.tied_first else "")
