"""`harness report --published`: the means measured here beside printed ones, for the terminal."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator

from harness.commands._output import DATA, table
from harness.errors import BadConfig
from harness.published import measured
from harness.published.measured import CONTROLS, TURNS, MeasuredColumn, PrintedSystem, PublishedComparison
from harness.results import files
from leaderboard.blocks.cells import number
from leaderboard.blocks.tables import Kind

SHORT = {
    "convai2-grade": "convai2", "dailydialog-grade": "daily", "empathetic-grade": "empath",
    "dailydialog-gupta": "gupta", "dailydialog-zhao": "zhao-d", "persona-zhao": "zhao-p", "persona-usr": "usr-p",
    "topical-usr": "usr-t", "fed-turn": "fed", "fed-dial": "fed-d",
}
"""Headings that fit a terminal."""
MOST = 16
"""So many columns fit a screen beside what is printed of them."""
NOTE = "*: of another quality, or of fewer replies. All columns: harness report --published"


def run(args: argparse.Namespace) -> None:
    """Print the table."""
    beside = measured.gather(files.read(args.out))
    if not beside.turns:
        raise BadConfig(f"{args.out}: nothing to set beside published figures: none of its turn-level datasets is real "
                        f"and among {', '.join(TURNS)}; `harness import` or `harness fetch` brings them")
    print(text(beside, beside.rows))


def short(beside: PublishedComparison) -> str:
    """A screenful: the best columns, those that papers print figures of, and the controls; empty without any."""
    complete = [row for row in beside.rows if row.complete]
    firm = [row for row in complete if row.published or row.column in CONTROLS]
    others = [row for row in complete if row not in firm]
    kept = {row.column for row in (*firm, *others[:max(0, MOST - len(firm))])}
    return text(beside, [row for row in complete if row.column in kept]) if kept else ""


def text(beside: PublishedComparison, rows: Iterable[MeasuredColumn]) -> str:
    """The table for the terminal, with what the challenge prints of the highest, of its winner and of the baseline."""
    ahead = [_printed(f"challenge: {system.name}", system, beside) for place, system in enumerate(beside.challenge)
             if place == 0 or system.name in {"MME-CRS", "Deep AM-FM"}]
    caption = ("Spearman, mean over the qualities of a dataset, then over the turn-level ones; "
               "below a column and below the rest: published figures")
    nine = "nine" if beside.turns == TURNS else f"of {len(beside.turns)}"
    heads: list[tuple[str, Kind]] = [("Column", "stub"), (nine, "number"),
                                     *((SHORT[name], "number") for name in beside.datasets)]
    return table(caption, heads,
                 DATA["real"], [line for row in rows for line in _pair(row, beside)], ahead) + NOTE + "\n"


def _pair(row: MeasuredColumn, beside: PublishedComparison) -> Iterator[list[str]]:
    yield [row.column, number(row.mean), *(number(row.sets[name]) for name in beside.datasets)]
    if row.published:
        yield _printed("(published)", row.published, beside)


def _printed(title: str, system: PrintedSystem, beside: PublishedComparison) -> list[str]:
    return [title, number(system.mean(beside.turns)), *(_value(system, name) for name in beside.datasets)]


def _value(system: PrintedSystem, dataset: str) -> str:
    mean = system.sets.get(dataset)
    return number(math.nan) if mean is None else number(mean.value) + ("" if mean.same else "*")
