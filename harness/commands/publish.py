"""`harness publish`: Draw the leaderboard pages from the results of a run.

    harness publish
    harness publish --against older/results
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from harness.commands._arguments import RESULTS, add
from harness.commands._output import with_exhibits, write_site
from harness.commands.submit import pack
from harness.results import files
from leaderboard import site


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, "out", **RESULTS)
    parser.add_argument("--site", type=Path, metavar="DIR", help="output folder (default: OUT/site)")
    parser.add_argument("--against", type=Path, metavar="DIR",
                        help="results of an earlier run: add a page of the correlations that changed, with the causes")
    parser.add_argument("--bundle", type=Path, metavar="FILE",
                        help="write all item scores to this .zip, for `harness run --reuse`; pages link it instead of "
                             "the large tables")


def run(args: argparse.Namespace) -> int:
    report, link = with_exhibits(files.read(args.out), args.out), ""
    folder = args.site or args.out / "site"
    if args.bundle:
        pack(report, args.bundle, name=args.bundle.stem)
        link = Path(os.path.relpath(args.bundle, folder)).as_posix()
    write_site(site.site(report, files.read(args.against) if args.against else None, link), folder)
    print(f"leaderboard: {(folder / 'index.html').resolve()}")
    if args.against:
        print(f"changes: {(folder / 'changes.html').resolve()}")
    return 0
