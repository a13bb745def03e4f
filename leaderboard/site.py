"""Build the static site of results: all pages, and the same tables as files.

    page.build(results) -> pages of tables          render(pages) -> files

The modules in leaderboard/pages/ are found automatically. The same results give the same bytes; two runs of the same
command differ only in their timings. The sample is shown only if there is no real data.
"""

from __future__ import annotations

import functools
import gzip
import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import resources

from harness.results.differences import DIRTY
from harness.results.rows import Results
from leaderboard import pages as modules
from leaderboard.blocks.tables import Cell, Facts, Page, Section, Table
from leaderboard.model.boards import parts
from leaderboard.model.index import drop_sample, plural, scored_part
from leaderboard.model.numbers import numbers, worst
from leaderboard.pages import changes
from leaderboard.render import rows, templates

MARKDOWN, CHANGES, STYLE, ENTRY = "LEADERBOARD.md", "changes.csv", "style.css", "index.html"
GENERAL = (ENTRY, "submit.html")
"""Pages that a challenge replaces with its own."""
LARGE = 1_000_000
"""Size in bytes above which the file of a table is compressed."""
BOARD_SCRIPTS = ("ranking.js", "compare.js", "tables.js", "board.js")
"""Scripts of a page whose board can be re-ranked, in loading order, after the file with the page's numbers."""
STUDIES = "Studies"


def site(results: Results, before: Results | None = None, bundle: str = "") -> dict[str, bytes]:
    """Draw the site and return the content of each file by path.

    With earlier results, the site has a page of changes. If `bundle` is the path of a bundle, the site links to it
    instead of including the large tables.
    """
    results, before = drop_sample(results), before and drop_sample(before)
    files = dict(_table_files(results, before, bundle))
    challenge = "challenge" in results.run.options
    pages = [page for page in _build_pages(results) if not challenge or page.path not in GENERAL]
    if before is not None:
        pages.append(changes.page(before, results))
    downloads = _downloads(files, bundle)
    pages = sorted((replace(page, sections=(*page.sections, downloads)) if page.path == "methods.html" else page
                    for page in pages), key=lambda page: page.order)
    sample = any(entry.kind == "sample" for entry in results.datasets)
    note = " ".join(filter(None, (templates.BANNER if sample else "", scored_part(results))))
    menu = [(page.path, page.label) for page in pages if not page.group]
    menu[1:1] = [("methods.html#datasets", "Datasets")] if results.datasets else []
    list_pages = []
    if studies := [page for page in pages if page.group == STUDIES]:
        menu.append(("studies.html", STUDIES))
        list_pages.append(_list_of(studies))
    for page in (*pages, *list_pages):
        scripts = (page.numbers, *BOARD_SCRIPTS) if page.numbers else ("tables.js",)
        files[page.path] = templates.html(page, menu, scripts, note, _footer(results))
    if challenge:
        files[ENTRY] = files["challenge.html"]
    for subset in parts(results):
        files[f"numbers{subset.suffix}.js"] = numbers(subset.results, worst_file := f"worst{subset.suffix}.js")
        if any(row.metric for row in subset.results.examples):
            files[worst_file] = worst(subset.results)
    return {**files, STYLE: _style(), **_static_files(".js"),
            MARKDOWN: templates.markdown([page for page in pages if page.markdown], note)}


def list_of_phases(title: str, phases: Sequence[str]) -> dict[str, bytes]:
    """Draw the index of a challenge's phases, with the files that it needs."""
    links = Facts.of(*((name, Cell("results", link=f"{name}/challenge.html")) for name in phases))
    page = Page(ENTRY, title, title, (Section("phases", "Phases", (links,)),))
    return {ENTRY: templates.html(page, (), ()), STYLE: _style(), "theme.js": _static_files(".js")["theme.js"]}


def _build_pages(results: Results) -> Iterator[Page]:
    """Build the pages of every module in leaderboard/pages/, in order of the modules' names."""
    for name in sorted(entry.name for entry in pkgutil.iter_modules(modules.__path__, f"{modules.__name__}.")):
        module = importlib.import_module(name)
        if hasattr(module, "build"):
            yield from module.build(results)


def _table_files(results: Results, before: Results | None, bundle: str) -> Iterator[tuple[str, bytes]]:
    """Yield the tables as files, large ones compressed reproducibly."""
    writers = {path: table for path, (table, _) in rows.FILES.items() if not bundle or path in rows.KEPT_WITH_BUNDLE}
    if before is not None:
        writers[CHANGES] = functools.partial(rows.changes, before)
    for path, write in writers.items():
        if content := write(results):
            yield (f"{path}.gz", gzip.compress(content, 6, mtime=0)) if len(content) > LARGE else (path, content)


def _downloads(paths: Iterable[str], bundle: str) -> Section:
    descriptions = {name: description for name, (_, description) in rows.FILES.items()} | {
        CHANGES: "every correlation that changed, with the cause"}
    files = {MARKDOWN: "the boards as Markdown"} | {path: descriptions[path.removesuffix(".gz")] for path in paths}
    if bundle:
        files[bundle] = "every score by item, without texts, for harness verify and harness run --reuse"
    return Section("files", "Downloads", (Facts.of(*(
        (path, Cell(description, link=path)) for path, description in files.items())),))


def _list_of(studies: Sequence[Page]) -> Page:
    table = Table.of("list", plural(len(studies), "study", "studies"), ("Study", "Subject"),
                     ((Cell(page.label, link=page.path), page.detail) for page in studies))
    return Page("studies.html", STUDIES, STUDIES, (Section("pages", STUDIES, (table,)),), group=STUDIES)


def _footer(results: Results) -> tuple[tuple[str, str], ...]:
    days = sorted({row.day for row in results.timings} - {""})
    scored = f"scored {days[0]}{f' to {days[-1]}' if len(days) > 1 else ''}" if days else "about the run"
    items = sum(entry.items for entry in results.datasets)
    commit, dash, dirty = (results.run.commit or "unknown").partition(DIRTY)
    return ((scored, "methods.html#run"),
            (f"dialogue-harness {results.run.version}, commit {commit[:12]}{dash}{dirty}", "methods.html#repeat"),
            (f"{plural(len(results.datasets), 'dataset')}, {items:,} items", "methods.html#datasets"),
            ("how to cite", "methods.html#cite"), ("LEADERBOARD.md, CSV and JSON", "methods.html#files"))


def _style() -> bytes:
    """Join the style sheets, style.css first."""
    sheets = _static_files(".css")
    return b"\n".join((sheets.pop(STYLE), *sheets.values()))


def _static_files(suffix: str) -> dict[str, bytes]:
    entries = sorted((resources.files("leaderboard") / "static").iterdir(), key=lambda entry: entry.name)
    return {entry.name: entry.read_bytes() for entry in entries if entry.name.endswith(suffix)}
