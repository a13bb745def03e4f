"""An earlier report to hold one against: where it lies, and what moved since, for the terminal."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from pathlib import Path

from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import Results
from leaderboard.blocks.tables import Block, Facts, Group, Prose, Table
from leaderboard.pages import changes
from leaderboard.render.text import WIDTH, plain, text

MOST = 25
"""As many rows of a table are printed."""

LONGEST = 60
"""A table with a longer text in a cell is printed as paragraphs."""


def earlier(folder: Path | None) -> Results | None:
    """Read the report in a folder, or of the run whose results are in it; None where no folder is named."""
    if folder is None:
        return None
    for place in (folder, folder / "report"):
        if (place / "report.json").is_file():
            return files.read(place)
    raise BadConfig(f"{folder}: no report there, neither {folder / 'report.json'} nor "
                    f"{folder / 'report' / 'report.json'}; name the folder of an earlier run's results")


def lines(before: Results, report: Results) -> Iterator[str]:
    """Write the page of what moved as plain text; a long table is cut and says so."""
    page = changes.compare(before, report)
    yield from _filled(page.lead)
    for section in page.sections:
        yield ""
        yield plain(section.title).upper()
        for block in section.blocks:
            yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Facts):
        for term, cell in block.pairs:
            yield from _filled(f"{term}: {cell.text}")
    elif isinstance(block, Prose):
        yield from _filled(("$ " if block.code else "") + block.text)


def _table(table: Table) -> Iterator[str]:
    rows = table.rows
    if any(len(cell.text) > LONGEST for row in rows for cell in row):  # words need more than a line
        for row in rows:
            yield from _filled("; ".join(f"{heading.text.lower()}: {cell.text}" for heading, cell
                                         in zip(table.headings, row, strict=True) if cell.text))
        return
    yield text(dataclasses.replace(table, groups=(Group(rows[:MOST]),))).rstrip("\n")
    if len(rows) > MOST:
        yield f"... and {len(rows) - MOST} more rows; `harness publish --against` has them"


def _filled(words: str) -> Iterator[str]:
    yield from textwrap.wrap(plain(words), WIDTH, subsequent_indent="  ", break_on_hyphens=False)
