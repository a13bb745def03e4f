"""`harness publish`: render the static site from the report of a run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from harness.commands._output import configure_results, with_exhibits, write_site
from harness.commands.submit import pack
from harness.results import files
from leaderboard import site


def configure(parser: argparse.ArgumentParser) -> None:
    """Which run, and where to."""
    configure_results(parser)
    parser.add_argument("--site", type=Path, metavar="DIR", help="where the pages go (default: DIR/site)")
    parser.add_argument("--against", type=Path, metavar="DIR",
                        help="an earlier run's results or report: a page tells what moved since, and why")
    parser.add_argument("--bundle", type=Path, metavar="FILE",
                        help="write every score by item into this .zip, which the pages name in place of the large "
                             "tables; `harness run --reuse` starts from it")


def run(args: argparse.Namespace) -> int:
    """Render and write."""
    report = with_exhibits(files.read(args.out), args.out)
    folder = args.site or args.out / "site"
    link = ""
    if args.bundle:
        pack(report, args.bundle, name=args.bundle.stem)
        link = Path(os.path.relpath(args.bundle, folder)).as_posix()
    write_site(site.site(report, files.read(args.against) if args.against else None, link), folder)
    print(f"leaderboard: {(folder / 'index.html').resolve()}")
    if args.against:
        print(f"what changed: {(folder / 'changes.html').resolve()}")
    return 0
