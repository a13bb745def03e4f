"""`harness submit`: pack scores, report, cards and environment of a run into one bundle, for `harness verify`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.storage.files import write_atomically
from harness import bundle
from harness.commands._output import configure_results
from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import Results


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
    pack(files.read(args.out), args.bundle, args.metric or (), args.name)
    return 0


def pack(report: Results, path: Path, metrics: Sequence[str] = (), name: str = "") -> None:
    """Write the bundle of some metrics of a run, or of all, and say what is in it."""
    if path.suffix != ".zip":
        raise BadConfig(f"{path}: a bundle is a .zip")
    made = bundle.of(report, metrics, name)
    content = bundle.packed(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    columns = sum(len(scored.columns) for scored in made.scores.values())
    print(f"{path}: {made.name!r}, {len(made.metrics)} metrics, {columns} columns of scores on "
          f"{len(made.scores)} datasets, {len(content) / 1e6:.2f} MB")
    if made.failures:
        print(f"failed and listed as such: {len(made.failures)} pairs of metric and dataset")
