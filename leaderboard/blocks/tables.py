"""Pages made of sections of tables, facts and prose, without markup: pages/ builds them, render/ writes them.

A page states the meaning of a value (best of its column, missing and why); a renderer decides how that looks. Links are
relative to the root of the site.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Mark: TypeAlias = Literal["best", "second", "weak"]
"""Weak: not significantly different from no correlation (p >= 0.05)."""

Kind: TypeAlias = Literal["rank", "stub", "number", "text", "words", "code"]
"""The content of a column; `stub` is the heading of a row, `words` are short texts in a table of numbers."""


class Cell(NamedTuple):
    """A cell: the text shown, its style, and the reason why a value is missing.

    In the cell that names a row, `model` names the models behind the scores, `sign` is a warning sign with its meaning,
    and `key` is the row in the data of the scripts. A named tuple, because a site has 100,000 cells and frozen
    dataclasses take three times as long.
    """

    text: str
    title: str = ""
    small: str = ""
    link: str = ""
    model: str = ""
    why: str = ""
    marks: tuple[Mark, ...] = ()
    shade: str = ""
    code: bool = False
    sign: tuple[str, str] = ("", "")
    key: int = -1


Row: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a column and the kind of its cells; `key` identifies the column for the scripts."""

    text: str
    kind: Kind = "text"
    small: str = ""
    title: str = ""
    key: str = ""


def numeric(*texts: str) -> tuple[Heading, ...]:
    """Return headings of columns of numbers."""
    return tuple(Heading(text, "number") for text in texts)


@dataclass(frozen=True, slots=True)
class Table:
    """Groups of rows by title, based on `data`; hidden behind the text `folded`, if any; scripts re-rank a `board`."""

    anchor: str
    caption: str
    headings: tuple[Heading, ...]
    groups: Mapping[str, tuple[Row, ...]]
    data: str = ""
    folded: str = ""
    board: bool = False

    @classmethod
    def of(cls, anchor: str, caption: str, headings: Iterable[Heading], rows: Iterable[Row], data: str = "",
           folded: str = "") -> Table:
        """Make a table with a single group of rows."""
        return cls(anchor, caption, tuple(headings), {"": tuple(rows)}, data, folded)

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for rows in self.groups.values() for row in rows)

    @property
    def reasons(self) -> dict[str, int]:
        """Number the reasons for missing values in reading order, as footnotes."""
        reasons = dict.fromkeys(cell.why for row in self.rows for cell in row if cell.why)
        return {reason: number for number, reason in enumerate(reasons, start=1)}


@dataclass(frozen=True, slots=True)
class Facts:
    """A list of terms with a cell each."""

    pairs: tuple[tuple[str, Cell], ...]

    @classmethod
    def of(cls, *pairs: tuple[str, Cell | str]) -> Facts:
        """Make a list of facts, without the empty ones."""
        cells = ((term, Cell(value) if isinstance(value, str) else value) for term, value in pairs)
        return cls(tuple((term, cell) for term, cell in cells if cell.text))


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph, which may be code or a link as a whole."""

    text: str
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG picture with a description and an optional caption.

    Colours and lines come from classes in static/*.css, never from a style attribute; names are escaped.
    """

    svg: str
    text: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Dots(Picture):
    """A picture of dots on one axis: `svg` is drawn between the names and the values of its lines.

    `keys` are the classes of its marks with their meanings.
    """

    names: tuple[Cell, ...] = ()
    values: tuple[str, ...] = ()
    ticks: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """The question of the front page and its answer; scripts add the choices and a picture of the best."""

    question: str
    best: Cell
    about: str
    evidence: str
    people: str


Block: TypeAlias = Table | Facts | Prose | Picture | Ask


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page; `level` is the level of its heading, `boxed` draws a frame around it."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    level: int = 2
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A menu entry; `group` names the group of pages that it leads to, if any."""

    path: str
    label: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page; `group` names the list that links to it, otherwise it is in the menu.

    `choices` are links to the front pages of all eras. `numbers` is the script with the data of a board that is
    re-ranked, if the page has one.
    """

    path: str
    title: str
    label: str
    sections: tuple[Section, ...]
    lead: str = ""
    detail: str = ""
    group: str = ""
    order: int = 0
    markdown: bool = True
    choices: tuple[Cell, ...] = ()
    numbers: str = ""

    @property
    def anchor(self) -> str:
        """Return the page's fragment: dataset-fed-turn for dataset/fed-turn.html."""
        return self.path.removesuffix(".html").replace("/", "-")

    @property
    def root(self) -> str:
        """Return the relative path from this page to the root of the site."""
        return "../" * self.path.count("/")
