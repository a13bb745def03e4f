"""The navigation: a menu on every page, and a page that lists those of a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.blocks.tables import Cell, Group, Heading, Page, Section, Table
from leaderboard.model.index import plural, slug

WORDS = {"Datasets": "By dataset", "Qualities": "By quality", "Metrics": "By metric"}
"""The name of a group of pages in the menu."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the menu; `group` is the group of pages that it leads to, if any."""

    path: str
    label: str
    group: str = ""


def menu(pages: Sequence[Page]) -> tuple[Entry, ...]:
    """List the pages without a group, and every group at the place of its first page."""
    entries = (Entry(_list_path(page.group), WORDS.get(page.group, page.group), page.group) if page.group
               else Entry(page.path, page.label) for page in pages)
    return tuple(dict.fromkeys(entries))


def siblings(page: Page, pages: Sequence[Page]) -> tuple[Page, ...]:
    """List the pages of a page's group, itself among them."""
    return tuple(other for other in pages if page.group and other.group == page.group)


def lists(pages: Sequence[Page]) -> tuple[Page, ...]:
    """Make a page for every group, which lists its pages; a group that has a page of that path needs none."""
    paths = {page.path for page in pages}
    groups = dict.fromkeys(page.group for page in pages if page.group and _list_path(page.group) not in paths)
    return tuple(_listed(group, [page for page in pages if page.group == group]) for group in groups)


def _list_path(group: str) -> str:
    return f"{slug(group)}.html"


def _listed(group: str, pages: Sequence[Page]) -> Page:
    rows = tuple((Cell(page.label, link=page.path), Cell(page.title if page.title != page.label else ""),
                  Cell(page.detail)) for page in pages)
    headings = (Heading("Page", "stub"), Heading("Title"), Heading("What it is"))
    table = Table("list", plural(len(rows), "page"), headings, (Group(rows),), data="as each page says")
    label = WORDS.get(group, group)
    return Page(path=_list_path(group), title=label, label=label, lead=f"{group} of this run, a page each.",
                sections=(Section("pages", group, (table,)),), markdown=False)
