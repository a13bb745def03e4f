"""`harness submit BUNDLE`: Pack the scores, report, cards and environment of a run into a bundle.

    harness submit results.zip
    harness submit deb.zip --metric deb --name "DEB, retrained"
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.errors import plural
from benchmarks.storage.files import write_atomically
from harness import bundle
from harness.commands._arguments import RESULTS, add
from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import Results


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="output file (.zip)")
    add(parser, RESULTS)
    add(parser, "metric", help="metric to include, as named in the results; repeatable (default: all)")
    add(parser, "name TEXT: display name of the bundle (default: its metrics)")


def run(args: argparse.Namespace) -> int:
    pack(files.read(args.out), args.bundle, args.metric or (), args.name)
    return 0


def pack(report: Results, path: Path, metrics: Sequence[str] = (), name: str = "") -> None:
    """Write a bundle of the named metrics (default: all) and print a summary."""
    if path.suffix != ".zip":
        raise BadConfig(f"{path}: expected a .zip")
    packed = bundle.bundle_of(report, metrics, name)
    content, results = bundle.zipped(packed), packed.results
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    columns = sum(len(table.scores) for table in results.points)
    print(f"{path}: {packed.name!r}, {plural(len(results.metrics), 'metric')}, {plural(columns, 'column')} of scores "
          f"on {plural(len(results.points), 'dataset')}, {len(content) / 1e6:.2f} MB")
    if results.failures:
        print(f"failures included: {plural(len(results.failures), 'pair')} of metric and dataset")
