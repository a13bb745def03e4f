"""The static site of results: every page built and rendered, and the same tables as files.

    page.build(results) -> pages of tables          render(pages) -> files

Pages are found in leaderboard/pages/. The same results give the same bytes. Two runs of the same thing differ in their
timings: costs, and the times on the pages of the metrics and about the run.
"""

from __future__ import annotations

import functools
import gc
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from typing import TypeAlias

from harness.results.rows import Results
from leaderboard import pages as modules
from leaderboard.blocks.tables import Cell, Entry, Group, Heading, Page, Section, Table
from leaderboard.model.index import part, plural, real_alone, slug
from leaderboard.pages import changes, dataset, front, quality
from leaderboard.render import html, latex, markdown, rows

Build: TypeAlias = Callable[[Results], tuple[Page, ...]]
MARKDOWN = "LEADERBOARD.md"
CHANGES = "changes.csv"
STYLE = "style.css"
WORDS = {"Datasets": "By dataset", "Qualities": "By quality", "Metrics": "By metric"}
"""The name of a group of pages in the menu."""

SCRIPTS = ("tables.js",)
"""The scripts of every page, beside theme.js, which comes before anything is drawn."""

BOARD_SCRIPTS = ("ranking.js", "address.js", "controls.js", "compare.js", "board.js", "tables.js")
"""The scripts of a page with boards to be ranked anew, in this order."""


def site(results: Results, before: Results | None = None) -> dict[str, bytes]:
    """Draw the whole site, the content of each file by its path; with earlier results also what changed since."""
    collects = gc.isenabled()
    gc.disable()  # pages are made of very many small rows, none of them in a cycle
    try:
        return _files(real_alone(results), before and real_alone(before))
    finally:
        if collects:
            gc.enable()


def boards(results: Results) -> tuple[Page, ...]:
    """Build the pages that have boards, and no other."""
    real = real_alone(results)
    return (*front.build(real), *quality.build(real), *dataset.build(real))


def builders() -> tuple[Build, ...]:
    """Return the `build` of every page in leaderboard/pages/, by name."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(modules.__path__))
    loaded = (importlib.import_module(f"{modules.__name__}.{name}") for name in names)
    return tuple(module.build for module in loaded if hasattr(module, "build"))


def menu(pages: Sequence[Page]) -> tuple[Entry, ...]:
    """List the pages without a group, and every group at the place of its first page."""
    entries = (Entry(f"{slug(page.group)}.html", WORDS.get(page.group, page.group), page.group) if page.group
               else Entry(page.path, page.label) for page in pages)
    return tuple(dict.fromkeys(entries))


def lists(pages: Sequence[Page]) -> tuple[Page, ...]:
    """Make a page for every group, which lists its pages; a group that has a page of that path needs none."""
    paths, listed = {page.path for page in pages}, []
    for entry in (entry for entry in menu(pages) if entry.group and entry.path not in paths):
        rows = tuple((Cell(page.label, link=page.path), Cell(page.title if page.title != page.label else ""),
                      Cell(page.detail)) for page in pages if page.group == entry.group)
        headings = (Heading("Page", "stub"), Heading("Title"), Heading("What it is"))
        table = Table("list", plural(len(rows), "page"), headings, (Group(rows),), data="as each page says")
        listed.append(Page(path=entry.path, title=entry.label, label=entry.label,
                           lead=f"{entry.group} of this run, a page each.",
                           sections=(Section("pages", entry.group, (table,)),), markdown=False))
    return tuple(listed)


def _files(results: Results, before: Results | None) -> dict[str, bytes]:
    tables: dict[str, Callable[[Results], bytes]] = dict(rows.FILES)
    if before is not None:
        tables[CHANGES] = functools.partial(rows.changes, before)
    files = {path: table(results) for path, table in tables.items()}  # first: they take the most memory, for a moment
    built = [page for build in builders() for page in build(results)]
    if before is not None:
        built.append(changes.compare(before, results))
    note = f" The datasets: {some}." if (some := part(results)) else ""
    pages = sorted((replace(page, lead=page.lead + note) for page in built), key=lambda page: page.order)
    papers = latex.files(pages)
    downloads = (MARKDOWN, *tables, *(name for name in (latex.ALL,) if name in papers))
    entries = menu(pages)
    return {
        **{page.path: html.html(page, entries, [other for other in pages if page.group and other.group == page.group],
                                downloads, BOARD_SCRIPTS if page.data else SCRIPTS)
           for page in (*pages, *(replace(page, lead=page.lead + note) for page in lists(pages)))},
        MARKDOWN: markdown.document([page for page in pages if page.markdown]),
        **files, **papers, STYLE: b"\n".join(_static(".css").values()), **_static(".js"),
    }


def _static(ending: str) -> dict[str, bytes]:
    """Read the static files with an ending by name, the style sheet of the whole page first."""
    folder = resources.files("leaderboard") / "static"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(ending)),
                     key=lambda entry: (entry.name != STYLE, entry.name))
    return {entry.name: entry.read_bytes() for entry in entries}
