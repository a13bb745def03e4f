"""`harness reproduce dstc10`: recompute the averages, rankings and claims that the challenge's papers print."""

from __future__ import annotations

import argparse

from harness.published import exhibit
from harness.results.rows import Grid


def configure(parser: argparse.ArgumentParser) -> None:
    """Which papers, and how much."""
    parser.add_argument("paper", choices=("dstc10",), help="those about DSTC10 Track 5")
    parser.add_argument("--all", action="store_true", help="print the boards too, with every average and rank")


def run(args: argparse.Namespace) -> int:
    """Recompute and print; a difference in print is a finding and no error."""
    for grid in exhibit.printed():
        if args.all or grid.name in ("winners", "checks", "differs"):
            print(_text(grid))
    return 0


def _text(grid: Grid) -> str:
    """A table as wide as it is."""
    widths = [max(map(len, column)) for column in zip(grid.head, *grid.rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in (grid.head, *grid.rows))
    return "\n".join((grid.caption, "", *lines, ""))
