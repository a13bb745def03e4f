"""Output shared by commands: tables, JSON lines and sites."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.storage.files import write_atomically
from harness.errors import BadConfig
from harness.results import files
from harness.results.entries import BoardId
from harness.results.rows import Correlation, Results
from leaderboard.blocks.tables import Heading, Table
from leaderboard.render import text

LISTING = ".published.json"
"""Name of the file that lists a site's files, so that publishing again can delete those that are no longer needed."""
LETTER = re.compile(r"[^\W\de_]")
"""Matches a letter other than the e of an exponent."""
DATA = {"sample": "the bundled sample (made by a script, simulated raters)", "real": "real human judgements",
        "own": "your own datasets"}


def data_of(board: str, origin: str) -> str:
    """Describe the data of a board or split."""
    return DATA["own" if BoardId.parse(board).split == "own" else origin]


def table(caption: str, heads: Sequence[str], data: str, rows: Iterable[Sequence[str]],
          widest: int = text.WIDTH) -> str:
    """Format a table for the terminal: numbers are right-aligned, and the first column with words names the rows."""
    rows = list(rows)
    has_words = [any(LETTER.search(row[position].replace(" to ", "")) for row in rows)
                 for position in range(len(heads))]
    headings = (Heading(head, "number" if not has_words[position] else "words" if any(has_words[:position]) else "stub")
                for position, head in enumerate(heads))
    return text.text(Table.of("", caption, headings, rows, data), widest)


def print_correlations(report: Results, is_selected: Callable[[Correlation], bool] = lambda row: True) -> None:
    """Print each correlation, with the split, origin and level of its dataset, as a line of JSON."""
    entries = {entry.name: entry for entry in report.datasets}
    for row in filter(is_selected, report.correlations):
        entry = entries[row.dataset]
        sys.stdout.write(files.json_line(row, split=entry.split, origin=entry.origin, level=entry.level))


def write_site(pages: Mapping[str, bytes], folder: Path) -> None:
    """Write changed files, and delete files of the previous site that this one lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    previous_files, listing = set[str](), folder / LISTING
    with contextlib.suppress(FileNotFoundError, ValueError):
        if isinstance(names := json.loads(listing.read_bytes()), list):
            previous_files = {name for name in names if isinstance(name, str) and name.isprintable()}
    if foreign := sorted(name for name in pages.keys() - previous_files if (folder / name).exists()):
        raise BadConfig(f"{folder}: {foreign[0]} exists and was not written by harness; choose another folder")
    # list the files before writing them, so that after an interruption they do not count as foreign
    write_atomically(listing, json.dumps(sorted(previous_files | pages.keys())).encode())
    for parent in {(folder / name).parent for name in pages}:
        parent.mkdir(parents=True, exist_ok=True)
    for name, content in pages.items():
        if not (folder / name).is_file() or (folder / name).read_bytes() != content:
            write_atomically(folder / name, content, durable=False)  # `harness publish` can rebuild them
    for name in previous_files - pages.keys():
        if (folder / name).is_file() and (folder / name).resolve().is_relative_to(folder.resolve()):
            (folder / name).unlink()
    write_atomically(listing, json.dumps(sorted(pages)).encode())
