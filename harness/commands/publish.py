"""`harness publish`: Draw the leaderboard pages from the results of a run.

    harness publish
    harness publish --against older/results
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from pathlib import Path

from harness.commands._arguments import RESULTS, add
from harness.commands._output import write_site
from harness.commands.submit import pack
from harness.published import exhibit
from harness.results import exhibits, files
from harness.results.rows import Results
from leaderboard import site


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, RESULTS)
    add(parser, "site DIR: output folder (default: OUT/site)")
    add(parser, "against DIR: results of an earlier run: add a page of the correlations that changed, with the causes")
    add(parser, "bundle FILE: write all item scores to this .zip, for `harness run --reuse`; pages link it instead "
                "of the large tables")


def run(args: argparse.Namespace) -> int:
    page = publish(files.read(args.out), args.out, args.site, args.against, args.bundle)
    print(f"leaderboard: {page}")
    if args.against:
        print(f"changes: {page.with_name('changes.html')}")
    return 0


def publish(report: Results, out: Path, folder: Path | None = None, against: Path | None = None,
            bundle: Path | None = None) -> Path:
    """Draw the pages of results, with the studies in the folder `out`, and return the path of the first page."""
    studies, warnings = exhibits.read_all(out)
    sys.stderr.writelines(f"left out: {line}\n" for line in warnings)
    complete, link = dataclasses.replace(report, exhibits=(*studies, exhibit.challenge(report))), ""
    folder = folder or out / "site"
    if bundle:
        pack(complete, bundle, name=bundle.stem)
        link = Path(os.path.relpath(bundle, folder)).as_posix()
    write_site(site.site(complete, files.read(against) if against else None, link), folder)
    return (folder / "index.html").resolve()
