"""What a view hands to the renderers: pages of sections of tables, facts and prose, without any markup.

A view says what a value means (best of its column, missing and why); a renderer says how that looks.
Links are written relative to the site's root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Mark: TypeAlias = Literal["best", "second", "weak"]
"""Best or second best of its column; weak: not distinguishable from no correlation (p >= 0.05)."""

Kind: TypeAlias = Literal["rank", "stub", "number", "text", "words", "code"]
"""What a column holds; the stub is the column that names the row, words are a few, beside numbers."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: `text` is shown, `value` is the number behind it, `why` says why a value is missing.

    `model` names the models behind the scores of the row that the cell names. `sign` is a warning about that row,
    with what it means in words. `key` is the metric and the column that the row is of.
    """

    text: str
    value: float | int | None = None
    title: str = ""
    small: str = ""
    link: str = ""
    model: str = ""
    why: str = ""
    marks: tuple[Mark, ...] = ()
    shade: str = ""
    code: bool = False
    sign: tuple[str, str] = ("", "")
    key: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Heading:
    """What a column of a table is called, and what it holds.

    `key` is what the scripts know the column by; `cells` are the qualities of datasets that it is the mean of, by
    their places in the page's data.
    """

    text: str
    kind: Kind = "text"
    small: str = ""
    title: str = ""
    link: str = ""
    key: str = ""
    cells: tuple[int, ...] = ()


Row: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, under a title of their own where there is one."""

    rows: tuple[Row, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that says in words which data it is on; `folded` is what is to be clicked to see it.

    `board` is the name of the board that the scripts rank anew in it.
    """

    anchor: str
    caption: str
    headings: tuple[Heading, ...]
    groups: tuple[Group, ...]
    data: str = ""
    sample: bool = False
    folded: str = ""
    board: str = ""

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, group after group."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def reasons(self) -> dict[str, int]:
        """Every reason for a missing value with its footnote number, in reading order."""
        found = dict.fromkeys(cell.why for row in self.rows for cell in row if cell.why)
        return {reason: number for number, reason in enumerate(found, start=1)}


@dataclass(frozen=True, slots=True)
class Facts:
    """Terms, each with what there is to say."""

    pairs: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; `code` for lines to be typed, `link` for where it leads as a whole."""

    text: str
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of our own as SVG, with what it shows in words, and what stands below it.

    Colours and lines come from classes in static/*.css, never from a style attribute; names from outside are escaped.
    """

    svg: str
    text: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Small pictures side by side, as many as the page is wide for."""

    pictures: tuple[Picture, ...]


Block: TypeAlias = Table | Facts | Prose | Picture | Gallery


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page; `level` is that of its heading, `boxed` sets it off."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    level: int = 2
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `group` names the list it is found in; a page without one stands in the navigation itself.

    `data` are numbers for the scripts, as JSON: nothing that a reader would miss without them.
    """

    path: str
    title: str
    label: str
    lead: str
    sections: tuple[Section, ...]
    detail: str = ""
    group: str = ""
    order: int = 0
    legend: bool = False
    tested: bool = True
    markdown: bool = True
    sample: bool = False
    mixed: bool = False
    data: str = ""

    @property
    def anchor(self) -> str:
        """The page's name as a fragment: dataset/fed-turn.html is dataset-fed-turn."""
        return self.path.removesuffix(".html").replace("/", "-")

    @property
    def root(self) -> str:
        """The way from this page back to the site's root."""
        return "../" * self.path.count("/")
