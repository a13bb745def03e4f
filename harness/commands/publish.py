"""`harness publish`: render the static site from the report of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.commands._output import configure_results, with_exhibits, write_site
from harness.results import files
from leaderboard import site


def configure(parser: argparse.ArgumentParser) -> None:
    """Which run, and where to."""
    configure_results(parser)
    parser.add_argument("--site", type=Path, metavar="DIR", help="where the pages go (default: DIR/site)")
    parser.add_argument("--against", type=Path, metavar="DIR",
                        help="an earlier run's results or report: a page tells what moved since, and why")


def run(args: argparse.Namespace) -> int:
    """Render and write."""
    report = with_exhibits(files.read(args.out), args.out)
    folder = args.site or args.out / "site"
    write_site(site.site(report, files.read(args.against) if args.against else None), folder)
    print(f"leaderboard: {(folder / 'index.html').resolve()}")
    return 0
