"""Pages of sections of tables, facts and prose, without any markup: what pages/ builds and render/ writes.

A page says what a value means (best of its column, missing and why); a renderer says how that looks.
Links are written relative to the site's root.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Mark: TypeAlias = Literal["best", "second", "weak"]
"""Best or second best of its column; weak: not significantly different from no correlation (p >= 0.05)."""

Kind: TypeAlias = Literal["rank", "stub", "number", "text", "words", "code"]
"""What a column contains; the stub is the column that names the row, words are a few, beside numbers."""


class Cell(NamedTuple):
    """One cell: `text` is shown, `value` is the number behind it, `why` says why a value is missing.

    Of a cell that names a row, `model` says what the scores are made of, `sign` is a warning with its meaning in words,
    and `key` is the row in the numbers of the scripts. A site has 100,000 cells; a frozen dataclass takes thrice as
    long.
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
    key: int = -1


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of a column of a table, and the kind of its cells.

    `key` names the column for the scripts.
    """

    text: str
    kind: Kind = "text"
    small: str = ""
    title: str = ""
    link: str = ""
    key: str = ""


Row: TypeAlias = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that belong together, under a title of their own where there is one."""

    rows: tuple[Row, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `data` says what of the datasets it is on, `folded` is the text to click on to see it.

    `board` says that the scripts rank it anew.
    """

    anchor: str
    caption: str
    headings: tuple[Heading, ...]
    groups: tuple[Group, ...]
    data: str = ""
    folded: str = ""
    board: bool = False

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, group after group."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def reasons(self) -> dict[str, int]:
        """Every reason for a missing value with its footnote number, in reading order."""
        reasons = dict.fromkeys(cell.why for row in self.rows for cell in row if cell.why)
        return {reason: number for number, reason in enumerate(reasons, start=1)}


@dataclass(frozen=True, slots=True)
class Facts:
    """Terms, each with a cell that explains it."""

    pairs: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph; `code` for lines to be typed, `link` for the target of the whole paragraph."""

    text: str
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, with what it shows in words, and the caption below it.

    Colours and lines come from classes in static/*.css, never from a style attribute; names from outside are escaped.
    """

    svg: str
    text: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """The question of the front page with its choices, each a name and (key, words, chosen), and its answer."""

    choices: tuple[tuple[str, str, tuple[tuple[str, str, bool], ...]], ...]
    asked: str
    best: Cell
    about: str
    evidence: str
    people: str


@dataclass(frozen=True, slots=True)
class Dots:
    """A picture with a row a metric: names, values, the SVG between them, what its bands are, how many rows it has."""

    names: tuple[Cell, ...]
    values: tuple[Cell, ...]
    svg: str
    bands: tuple[tuple[str, str], ...]
    rows: int


Block: TypeAlias = Table | Facts | Prose | Picture | Ask | Dots


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page; `level` is that of its heading, `boxed` sets it off."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    level: int = 2
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the menu; `group` is the group of pages that it leads to, if any."""

    path: str
    label: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `group` names the list it is in; a page without one is in the navigation itself.

    `ranked` says that the scripts rank a board on it.
    """

    path: str
    title: str
    label: str
    lead: str
    sections: tuple[Section, ...]
    detail: str = ""
    group: str = ""
    order: int = 0
    markdown: bool = True
    ranked: bool = False

    @property
    def anchor(self) -> str:
        """The page's name as a fragment: dataset/fed-turn.html is dataset-fed-turn."""
        return self.path.removesuffix(".html").replace("/", "-")

    @property
    def root(self) -> str:
        """The way from this page back to the site's root."""
        return "../" * self.path.count("/")
