"""`harness report --published`: the means measured here beside printed ones, for the terminal and as Markdown."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from benchmarks.storage.files import write_atomically
from harness.commands._output import DATA, table
from harness.errors import BadConfig
from harness.published import measured
from harness.published.measured import (
    CONTROLS,
    RELEVANCE,
    TURNS,
    ControlComparison,
    MeanOverWeights,
    MeasuredColumn,
    PrintedSystem,
    PublishedComparison,
)
from harness.results import files
from leaderboard.blocks.cells import number
from leaderboard.blocks.tables import Kind

BEGIN, END = "<!-- harness report --published: begin -->", "<!-- harness report --published: end -->"
"""The lines between which `--into` writes."""
SHORT = {
    "convai2-grade": "convai2", "dailydialog-grade": "daily", "empathetic-grade": "empath",
    "dailydialog-gupta": "gupta", "dailydialog-zhao": "zhao-d", "persona-zhao": "zhao-p", "persona-usr": "usr-p",
    "topical-usr": "usr-t", "fed-turn": "fed", "fed-dial": "fed-d",
}
"""Headings that fit a terminal."""
MOST = 16
"""So many columns fit a screen beside what is printed of them."""
NOTE = "*: of another quality, or of fewer replies. All columns, or several runs: harness report --published"


def run(args: argparse.Namespace) -> None:
    """Print the table, or write it."""
    if args.published is None:
        raise BadConfig("--into goes with --published")
    reports = [files.read(folder / "report") for folder in (args.out, *args.published)]
    beside = measured.gather(reports)
    if not beside.turns:
        raise BadConfig(f"{args.out}: nothing to set beside published figures: none of its turn-level datasets is real "
                        f"and among {', '.join(TURNS)}; `harness import` or `harness fetch` brings them")
    if args.into is None:
        print(text(beside, beside.rows))
    else:
        _write_into(args.into, markdown(beside))
        print(f"written into {args.into}: {len(beside.rows)} columns of {len(reports)} "
              f"run{'s' if len(reports) > 1 else ''}")


def _write_into(path: Path, content: str) -> None:
    """Put a text between the two marks of a file; what is outside stays as it is."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BadConfig(f"{path}: no place for the table; put the lines {BEGIN} and {END} where it should stand")
    write_atomically(path, f"{before}{begin}\n{content}\n{end}{after}".encode())


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
    yield [row.column, number(row.mean.mean), *(number(row.sets[name].mean) for name in beside.datasets)]
    if row.published:
        yield _printed("(published)", row.published, beside)


def _printed(title: str, system: PrintedSystem, beside: PublishedComparison, *between: str) -> list[str]:
    return [title, number(system.mean(beside.turns)), *between, *(_value(system, name) for name in beside.datasets)]


def _value(system: PrintedSystem, dataset: str) -> str:
    mean = system.sets.get(dataset)
    return number(math.nan) if mean is None else number(mean.value) + ("" if mean.same else "*")


def markdown(beside: PublishedComparison) -> str:
    """Every column with its spread over the sets of weights, what it beats, and what is published of it."""
    nine = "nine sets" if beside.turns == TURNS else f"of {len(beside.turns)}"
    lines = [_line(["", "column", nine, "relevance", "beats", "seeds", *beside.datasets]),
             _line(["---:", "---", "---:", "---:", "---", *["---:"] * (1 + len(beside.datasets))])]
    places = iter(range(1, len(beside.rows) + 1))
    for row in beside.rows:
        models = f"<br><sub>{_escaped(', '.join(row.models))}</sub>" if row.models else ""
        lines.append(_line([
            str(next(places)) if row.complete else "", f"`{_escaped(row.column)}`{models}", _mean(row.mean),
            _mean(row.relevance), _beaten(row.beats), str(len(row.mean.values)),
            *(_mean(row.sets[name]) for name in beside.datasets)]))
        if row.published:
            lines.append(_published(f"*published: {row.published.name}*", row.published, beside))
    lines += [_published(f"*challenge: {system.name}*", system, beside) for system in beside.challenge]
    return "\n".join([textwrap.fill(_legend(beside), 120), "", *lines, ""])


def _published(title: str, system: PrintedSystem, beside: PublishedComparison) -> str:
    return _line(["", title, *(cell.replace("*", "\\*") for cell in _printed("", system, beside, "", "", "")[1:])])


def _mean(mean: MeanOverWeights) -> str:
    below = f"<br><sub>{' to '.join(map(number, mean.spread))}</sub>" if mean.spread else ""
    return number(mean.mean) + below


def _beaten(beats: Mapping[str, ControlComparison]) -> str:
    return "<br>".join(f"{'>' if control.whole else 'not'} {name} ({control.sets} of {control.of})"
                       for name, control in beats.items())


def _legend(beside: PublishedComparison) -> str:
    sets = "the nine turn-level datasets" if beside.turns == TURNS else f"{len(beside.turns)} turn-level datasets"
    return (f"Spearman, mean over the qualities of each dataset, then over {sets}; – where a cell is missing. "
            f"*relevance*: over the qualities {' and '.join(sorted(RELEVANCE))} alone. *beats*: whether the mean of a "
            "control is passed, and in how many datasets it is: `length` over all qualities, `cosine` over those of "
            "relevance. *seeds*: of how many trainings a figure is the mean; below it the lowest to the highest. "
            "\\*: published of another quality, or of fewer replies, than what is measured.")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(name: str) -> str:
    return name.replace("|", "\\|")
