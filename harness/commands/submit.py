"""`harness submit`: pack scores, report, cards and environment of a run into one bundle, for `harness verify`."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.storage.files import write_atomically
from harness import bundle
from harness.commands._output import configure_results
from harness.errors import BadConfig
from harness.results import files


def configure(parser: argparse.ArgumentParser) -> None:
    """Which run, which metrics of it, and where the bundle goes."""
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="the file to write, a .zip")
    configure_results(parser)
    parser.add_argument("--metric", action="append", metavar="NAME",
                        help="only this one, as the report names it; may be repeated (default: every metric)")
    parser.add_argument("--name", default="", metavar="TEXT",
                        help="what the bundle is called where it is shown (default: its metrics)")


def run(args: argparse.Namespace) -> int:
    """Write the bundle."""
    if args.bundle.suffix != ".zip":
        raise BadConfig(f"{args.bundle}: a bundle is a .zip")
    made = bundle.of(files.read(args.out), args.metric or (), args.name)
    content = bundle.packed(made)
    write_atomically(args.bundle, content)
    columns = sum(len(scored.columns) for scored in made.scores.values())
    print(f"{args.bundle}: {made.name!r}, {len(made.metrics)} metrics, {columns} columns of scores on "
          f"{len(made.scores)} datasets, {len(content) / 1e6:.2f} MB")
    if made.failures:
        print(f"failed and listed as such: {len(made.failures)} pairs of metric and dataset")
    return 0
