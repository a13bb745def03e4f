"""The static site of a report, and its summary for the terminal: every view, drawn and rendered.

    view.build(report) -> pages of tables          render(pages) -> files

Views are found in leaderboard/pages/. The same report gives the same bytes. Two runs of the same thing differ in what
their timings say: costs, and the times on the pages of the metrics and about the run.
"""

from __future__ import annotations

import functools
import gc
import importlib
import pkgutil
from collections.abc import Callable
from importlib import resources
from typing import TypeAlias

from harness.results.rows import Results
from leaderboard import pages as views
from leaderboard.blocks import menu
from leaderboard.blocks.tables import Page
from leaderboard.pages import changes, dataset, overall, quality
from leaderboard.render import csv, html, json, latex, markdown
from leaderboard.render import summary as terminal

View: TypeAlias = Callable[[Results], tuple[Page, ...]]
EXPORTS = {"ranking.csv": csv.ranking, "correlations.csv": csv.correlations,
           "comparisons.csv": csv.comparisons, "reliability.csv": csv.reliability}
MARKDOWN = "LEADERBOARD.md"
CHANGES = "changes.csv"
STYLE = "style.css"
SCRIPTS = ("tables.js",)
"""What every page runs, beside theme.js, which comes before anything is drawn."""

BOARD_SCRIPTS = ("ranking.js", "address.js", "controls.js", "compare.js", "board.js", "tables.js")
"""What a page with boards to be ranked anew runs, in this order."""


def site(results: Results, before: Results | None = None) -> dict[str, bytes]:
    """Draw the whole site: the content of each file by its path; beside an earlier report also what moved since."""
    threshold = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)  # pages are made of very many small rows, none of them in a cycle
    try:
        return _drawn(results, before)
    finally:
        gc.set_threshold(*threshold)


def _drawn(results: Results, before: Results | None) -> dict[str, bytes]:
    tables: dict[str, Callable[[Results], bytes]] = {**EXPORTS, **json.FILES}
    if before is not None:
        tables[CHANGES] = functools.partial(csv.changes, before)
    files = {path: table(results) for path, table in tables.items()}  # first: they take the most memory, for a moment
    drawn = (*(page for view in found_views() for page in view(results)), *changed(results, before))
    pages = sorted(drawn, key=lambda page: page.order)
    papers = latex.files(pages)
    downloads = (MARKDOWN, *tables, *(name for name in (latex.ALL,) if name in papers))
    known = menu.menu(pages)
    return {
        **{page.path: html.html(page, known, menu.siblings(page, pages), downloads,
                                  BOARD_SCRIPTS if page.data else SCRIPTS) for page in (*pages, *menu.lists(pages))},
        MARKDOWN: markdown.document([page for page in pages if page.markdown]),
        **files,
        **papers,
        STYLE: _styles(),
        **_scripts(),
    }


def boards(results: Results) -> tuple[Page, ...]:
    """Build the pages that have boards, and no other."""
    return (*overall.build(results), *quality.build(results), *dataset.build(results))


def changed(results: Results, before: Results | None) -> tuple[Page, ...]:
    """Build the page of what moved since an earlier report, where there is one."""
    return () if before is None else (changes.compare(before, results),)


def _styles() -> bytes:
    """Join the style sheets, the one of the whole page first."""
    folder = resources.files("leaderboard") / "static"
    sheets = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".css")),
                    key=lambda entry: (entry.name != STYLE, entry.name))
    return b"\n".join(entry.read_bytes() for entry in sheets)


def _scripts() -> dict[str, bytes]:
    folder = resources.files("leaderboard") / "static"
    return {entry.name: entry.read_bytes() for entry in sorted(folder.iterdir(), key=lambda entry: entry.name)
            if entry.name.endswith(".js")}


def summary(results: Results) -> str:
    """Write the report as plain text for the terminal."""
    return terminal.write(results)


def found_views() -> tuple[View, ...]:
    """Find the `build` of every page in leaderboard/pages/, by name."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(views.__path__))
    modules = (importlib.import_module(f"{views.__name__}.{name}") for name in names)
    return tuple(module.build for module in modules if hasattr(module, "build"))
