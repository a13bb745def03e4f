"""The static site of results: every page built and rendered, and the same tables as files.

    page.build(results) -> pages of tables          render(pages) -> files

Pages are found in leaderboard/pages/. The same results give the same bytes. Two runs of the same thing differ in their
timings, so in what costs. Sample data are shown only where there are no other.
"""

from __future__ import annotations

import functools
import gc
import gzip
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import resources
from typing import TypeAlias

from harness.results.rows import Results
from leaderboard import pages as modules
from leaderboard.blocks.tables import Cell, Entry, Facts, Group, Heading, Page, Section, Table
from leaderboard.model.causes import DIRTY
from leaderboard.model.index import part, plural, real_alone, slug
from leaderboard.model.numbers import numbers, worst
from leaderboard.pages import changes
from leaderboard.render import html, markdown, rows

Build: TypeAlias = Callable[[Results], tuple[Page, ...]]
MARKDOWN = "LEADERBOARD.md"
CHANGES = "changes.csv"
NUMBERS, WORST = "numbers.js", "worst.js"
STYLE = "style.css"
DOWNLOADS = "methods.html"
ENTRY = "index.html"
GENERAL = (ENTRY, "submit.html")
BUNDLE = "every score by item, without texts; harness verify checks it, harness run --reuse starts from it"
LARGE = 1_000_000
"""From so many bytes on a file is compressed."""

SCRIPTS = ("tables.js",)
"""The scripts of every page, beside theme.js, which comes before anything is drawn."""

BOARD_SCRIPTS = (NUMBERS, "ranking.js", "compare.js", "tables.js", "board.js")
"""The scripts of the page whose board is ranked anew, in this order."""

LISTED = "Studies"
"""The group of pages that has a list of its own; datasets are listed on the page of methods, metrics on the board."""
DATASETS = Entry("methods.html#datasets", "Datasets", "Datasets")


def site(results: Results, before: Results | None = None, bundle: str = "") -> dict[str, bytes]:
    """Draw the whole site, the content of each file by its path; with earlier results also what changed since.

    With a link to a bundle of the results, that stands in place of the large tables.
    """
    collects = gc.isenabled()
    gc.disable()  # pages are made of very many small rows, none of them in a cycle
    try:
        return _files(real_alone(results), before and real_alone(before), bundle)
    finally:
        if collects:
            gc.enable()


def builders() -> tuple[Build, ...]:
    """Return the `build` of every page in leaderboard/pages/, by name."""
    names = sorted(entry.name for entry in pkgutil.iter_modules(modules.__path__))
    loaded = (importlib.import_module(f"{modules.__name__}.{name}") for name in names)
    return tuple(module.build for module in loaded if hasattr(module, "build"))


def menu(pages: Sequence[Page]) -> tuple[Entry, ...]:
    """List the board, the datasets, the other pages without a group, and the list of studies."""
    entries = [Entry(page.path, page.label) for page in pages if not page.group]
    entries[1:1] = [DATASETS] if any(page.group == DATASETS.group for page in pages) else []
    if any(page.group == LISTED for page in pages):
        entries.append(Entry(f"{slug(LISTED)}.html", LISTED, LISTED))
    return tuple(entries)


def lists(pages: Sequence[Page]) -> tuple[Page, ...]:
    """Make the page that lists the studies, where there are some."""
    rows = tuple((Cell(page.label, link=page.path), Cell(page.detail)) for page in pages if page.group == LISTED)
    table = Table("list", plural(len(rows), "study", "studies"), (Heading("Study", "stub"), Heading("What it is")),
                  (Group(rows),))
    return (Page(path=f"{slug(LISTED)}.html", title=LISTED, label=LISTED, lead="", sections=(
        Section("pages", LISTED, (table,)),), group=LISTED, markdown=False),) if rows else ()


def packed(path: str, content: bytes) -> tuple[str, bytes]:
    """Compress a file of more than a megabyte; the same content gives the same bytes."""
    return (f"{path}.gz", gzip.compress(content, 6, mtime=0)) if len(content) > LARGE else (path, content)


def downloads(files: Iterable[str], bundle: str) -> Section:
    """List the same tables as files."""
    listed = {MARKDOWN: "the boards as Markdown", **{
        path: rows.ABOUT.get(path.removesuffix(".gz"), "") for path in files}, **({bundle: BUNDLE} if bundle else {})}
    return Section("files", "The same as files", (Facts(tuple(
        (path, Cell(about or path, link=path)) for path, about in listed.items())),))


def foot(results: Results) -> tuple[tuple[str, str], ...]:
    """Say at the foot of every page when and by what the scores were made, on which data, and how to cite that."""
    days = sorted({row.day for row in results.timings} - {""})
    scored = f"scored {days[0]}{f' to {days[-1]}' if len(days) > 1 else ''}" if days else "the run"
    items = sum(entry.items for entry in results.datasets)
    commit, dash, dirty = (results.run.commit or "not known").partition(DIRTY)
    return ((scored, "methods.html#run"),
            (f"dialogue-harness {results.run.version}, commit {commit[:12]}{dash}{dirty}", "methods.html#repeat"),
            (f"{plural(len(results.datasets), 'dataset')}, {items:,} items", "methods.html#datasets"),
            ("how to cite", "methods.html#cite"), ("LEADERBOARD.md, CSV and JSON", "methods.html#files"))


def _files(results: Results, before: Results | None, bundle: str) -> dict[str, bytes]:
    tables: dict[str, Callable[[Results], bytes]] = {
        path: table for path, table in rows.FILES.items() if not bundle or path in rows.SMALL}
    if before is not None:
        tables[CHANGES] = functools.partial(rows.changes, before)
    challenge = "challenge" in results.run.options  # its official page goes before the pages of metrics in general
    with ThreadPoolExecutor() as pool:  # tables first, since they take the most memory; compressed beside the pages
        packing = [pool.submit(packed, path, table(results)) for path, table in tables.items()]
        built = [page for build in builders() for page in build(results) if not challenge or page.path not in GENERAL]
    files = dict(file.result() for file in packing)
    if before is not None:
        built.append(changes.compare(before, results))
    listed = downloads(files, bundle)
    pages = sorted((replace(page, sections=(*page.sections, listed)) if page.path == DOWNLOADS else page
                    for page in built), key=lambda page: page.order)
    entries, sample = menu(pages), any(entry.kind == "sample" for entry in results.datasets)
    note = " ".join(filter(None, (html.BANNER if sample else "", part(results))))
    drawn = {
        page.path: html.html(page, entries, BOARD_SCRIPTS if page.ranked else SCRIPTS, note,
                             foot(results))
        for page in (*pages, *lists(pages))}
    if challenge:
        drawn[ENTRY] = drawn["challenge.html"]
    return {
        **drawn,
        MARKDOWN: markdown.document([page for page in pages if page.markdown], note),
        **files, NUMBERS: numbers(results), STYLE: b"\n".join(_static(".css").values()), **_static(".js"),
        **({WORST: worst(results)} if any(row.metric for row in results.examples) else {}),
    }


def _static(ending: str) -> dict[str, bytes]:
    """Read the static files with an ending by name, the style sheet of the whole page first."""
    folder = resources.files("leaderboard") / "static"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(ending)),
                     key=lambda entry: (entry.name != STYLE, entry.name))
    return {entry.name: entry.read_bytes() for entry in entries}
