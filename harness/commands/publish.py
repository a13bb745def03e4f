"""`harness publish`: draw the pages from a report alone."""

from __future__ import annotations

import argparse
from pathlib import Path

NAME = "publish"
HELP = "render the static site from the report of a run"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which run, and where to."""
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("results"),
                        help="where the run wrote its results (default: ./results)")
    parser.add_argument("--site", type=Path, metavar="DIR", help="where the pages go (default: DIR/site)")
    parser.add_argument("--against", type=Path, metavar="DIR",
                        help="an earlier run's results or report: a page tells what moved since, and why")


def run(args: argparse.Namespace) -> int:
    """Render and write."""
    from harness.commands._against import earlier
    from harness.commands._output import with_exhibits, write_site
    from harness.results import files
    from leaderboard import site

    report = with_exhibits(files.read(args.out / "report"), args.out)
    folder = args.site or args.out / "site"
    write_site(site.site(report, earlier(args.against)), folder)
    print(f"leaderboard: {(folder / 'index.html').resolve()}")
    return 0
