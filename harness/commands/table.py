"""`harness table`: the measured figures beside published ones, of one run or of several with other weights."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.storage.files import write_atomically
from harness.errors import BadConfig

if TYPE_CHECKING:
    from harness.results.rows import Results

NAME = "table"
HELP = "print the figures of runs on real data beside published ones, or write them into a Markdown file"

BEGIN, END = "<!-- harness table: begin -->", "<!-- harness table: end -->"
"""The lines between which `--into` writes."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Which runs, and where to."""
    parser.add_argument("--out", type=Path, metavar="DIR", action="append",
                        help="where a run wrote its results (default: ./results); may be repeated, one for each "
                             "set of weights")
    parser.add_argument("--into", type=Path, metavar="FILE",
                        help="write the table as Markdown between two marks of this file")
    parser.add_argument("--cards", type=Path, metavar="DIR",
                        help="write what the first run found of trained metrics into the cards of these checkpoints")


def run(args: argparse.Namespace) -> int:
    """Print the table, or write it."""
    from harness.commands import _figures
    from harness.published import figures
    from harness.results import files

    folders = args.out or [Path("results")]
    found = figures.gather([files.read(folder / "report") for folder in folders])
    if not found.turns:
        raise BadConfig(f"{folders[0]}: no figures to set beside published ones: none of its turn-level datasets is "
                        f"real and among {', '.join(figures.TURNS)}; `harness import` or `harness fetch` brings them")
    if args.cards:
        for line in amend(args.cards, files.read(folders[0] / "report")):
            print(line)
    elif args.into is None:
        print(_figures.text(found, found.rows))
    else:
        write_into(args.into, _figures.markdown(found))
        print(f"written into {args.into}: {len(found.rows)} columns of {len(folders)} "
              f"run{'s' if len(folders) > 1 else ''}")
    return 0


def amend(folder: Path, report: Results) -> Iterator[str]:
    """Write the correlations of a run into the cards of the checkpoints that it used; tell which."""
    from harness.published import figures
    from metrics.training import checkpoint

    rows = {row.column: row for row in figures.gather([report]).rows}
    readers = [entry for entry in report.metrics if entry.family != "composite"]
    for place in sorted(path.parent for path in folder.glob(f"*/{checkpoint.CARD}")):
        used = checkpoint.read(place.name, place)
        columns = [column for entry in readers for column in entry.columns
                   if f"weights={used.identity}" in entry.signature.split("|") and column in rows]
        if columns:
            told = {name: {"mean of the turn-level sets": rows[name].mean, **rows[name].sets} for name in columns}
            checkpoint.amend(used, {"correlations": {name: {key: round(one.mean, 4) for key, one in sets.items()
                                                            if one.mean == one.mean} for name, sets in told.items()}})
            yield f"{place.name}: {', '.join(columns)}"


def write_into(path: Path, content: str) -> None:
    """Put a text between the two marks of a file; what is outside stays as it is."""
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN + "\n")
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise BadConfig(f"{path}: no place for the table; put the lines {BEGIN} and {END} where it should stand")
    write_atomically(path, f"{before}{begin}\n{content}\n{end}{after}".encode())
