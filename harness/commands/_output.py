"""What several commands write: the correlations as JSON lines, and a site with its exhibits into a folder."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.storage.files import write_atomically
from harness.errors import BadConfig

if TYPE_CHECKING:
    from harness.results.rows import Results

LISTING = ".published.json"
"""Which files the last publishing wrote, so that pages of datasets no longer in the report go."""


def print_correlations(report: Results, wanted: Callable[[str, str], bool] = lambda dataset, quality: True) -> None:
    """One JSON object a line: split, origin and level of the dataset, then the agreement."""
    from harness.results.files import json_line

    about = {entry.name: entry for entry in report.datasets}
    for row in report.correlations:
        if wanted(row.dataset, row.quality):
            entry = about[row.dataset]
            sys.stdout.write(json_line(row, split=entry.split, origin=entry.origin, level=entry.level))


def with_exhibits(report: Results, out: Path) -> Results:
    """Set beside a report what the challenge prints and the studies in its folder; a broken one is a warning."""
    from harness.published import exhibit
    from harness.results import exhibits

    studies, warnings = exhibits.gathered(out)
    for line in warnings:
        print(f"left out: {line}", file=sys.stderr)
    return dataclasses.replace(report, exhibits=(*studies, exhibit.challenge(report)))


def write_site(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the pages; a page that the last publishing wrote and this one did not is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    foreign = sorted(name for name in files if name not in _listed(folder) and (folder / name).exists())
    if foreign:
        raise BadConfig(f"{folder}: {foreign[0]} is there and was not published by the harness; choose another folder")
    before = _listed(folder)
    _list(folder, before | files.keys())  # first, so that a run killed here is not taken for a stranger's folder
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    for name in before - files.keys():
        if (folder / name).is_file() and (folder / name).resolve().is_relative_to(folder.resolve()):
            (folder / name).unlink()
    _list(folder, set(files))


def _list(folder: Path, names: set[str]) -> None:
    write_atomically(folder / LISTING, json.dumps(sorted(names)).encode())


def _listed(folder: Path) -> set[str]:
    try:
        names = json.loads((folder / LISTING).read_bytes())
    except (FileNotFoundError, ValueError):
        return set()
    if not isinstance(names, list):
        return set()
    return {name for name in names if isinstance(name, str) and name.isprintable()}
