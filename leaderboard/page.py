"""The static site of a report, and its summary for the terminal: every view, drawn and rendered.

    view.build(report) -> pages of tables          render(pages) -> files

Views are found in leaderboard/views/. The same report gives the same bytes; only the timings on about.html
differ between two runs of the same thing.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from importlib import resources
from typing import TypeAlias

from harness.results import Report
from leaderboard import exports, render, views
from leaderboard import summary as terminal
from leaderboard.tables import Page

View: TypeAlias = Callable[[Report], tuple[Page, ...]]
EXPORTS = {"standings.csv": exports.standings, "agreements.csv": exports.agreements,
           "contests.csv": exports.contests, "ceilings.csv": exports.ceilings}
MARKDOWN = "LEADERBOARD.md"
STYLE = "style.css"


def site(report: Report) -> dict[str, bytes]:
    """Draw the whole site: the content of each file by its path."""
    pages = sorted((page for view in found_views() for page in view(report)), key=lambda page: page.order)
    downloads = (MARKDOWN, *EXPORTS)
    return {
        **{page.path: render.html(page, pages, downloads) for page in pages},
        MARKDOWN: render.markdown([page for page in pages if page.markdown]),
        **{path: table(report) for path, table in EXPORTS.items()},
        STYLE: _styles(),
    }


def _styles() -> bytes:
    """Join the style sheets, the one of the whole page first."""
    folder = resources.files("leaderboard") / "static"
    sheets = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".css")),
                    key=lambda entry: (entry.name != STYLE, entry.name))
    return b"\n".join(entry.read_bytes() for entry in sheets)


def summary(report: Report) -> str:
    """Write the report as plain text for the terminal."""
    return terminal.write(report)


def found_views() -> tuple[View, ...]:
    """Find the `build` of every module in leaderboard/views/, by name."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(views.__path__))
    return tuple(importlib.import_module(f"{views.__name__}.{name}").build for name in names)
