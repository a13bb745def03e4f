"""Pages made of sections of tables, facts and prose, without markup: pages/ builds them, render/ writes them.

A page states the meaning of a value (best of its column, missing and why); a renderer decides how that looks. Links are
relative to the root of the site.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from harness.results.exhibits import number

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


def cell(value: object) -> Cell:
    """Show a cell, text or count as it is, and three decimals of a number; NaN is an empty cell."""
    if isinstance(value, float):
        return Cell(number(value, 3)) if math.isfinite(value) else Cell("", title="unknown")
    return value if isinstance(value, Cell) else Cell(str(value))


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
    def of(cls, anchor: str, caption: str, headings: Iterable[object], rows: Iterable[Iterable[object]], data: str = "",
           folded: str = "") -> Table:
        """Make a table with a single group of rows; values determine the kind of a heading that is only a text."""
        listed = [tuple(row) for row in rows]
        shown = (heading if isinstance(heading, Heading) else Heading(
            str(heading), "stub" if column == 0 else "number" if any(
                isinstance(row[column], int | float) for row in listed) else "text")
            for column, heading in enumerate(headings))
        return cls(anchor, caption, tuple(shown), {"": tuple(tuple(map(cell, row)) for row in listed)}, data, folded)

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
    def of(cls, *pairs: tuple[str, object]) -> Facts:
        """Make a list of facts, without the empty ones."""
        return cls(tuple((term, shown) for term, value in pairs if (shown := cell(value)).text))


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


class Dot(NamedTuple):
    """A line of a picture of dots: a value and another one, with their intervals, NaN if unknown.

    `kind` is the class of the value: a dot, or the square of a printed value, which is not from this run.
    """

    name: Cell
    value: float
    low: float = math.nan
    high: float = math.nan
    other: float = math.nan
    other_low: float = math.nan
    other_high: float = math.nan
    kind: str = "dot"


@dataclass(frozen=True)
class Dots:
    """Correlations as dots on one axis, over marks from a low to a high end; `keys` are the meanings of classes."""

    lines: Sequence[Dot]
    caption: str
    keys: Mapping[str, str]
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def start(self) -> float:
        """Return the value at the left end of the axis."""
        ends = (value for line in self.lines for value in (line.value, line.low, line.other, line.other_low))
        return -0.5 if any(value < -0.1 for value in ends) else -0.1

    @property
    def ticks(self) -> list[str]:
        return [number(step / 5, 1 if step % 5 else 0) for step in range(-2 if self.start == -0.5 else 0, 6)]

    def across(self, value: float) -> int:
        """Return the position of a value on the axis, from 0 to 1000."""
        return round(1000 * (min(max(value, self.start), 1.0) - self.start) / (1 - self.start))

    @property
    def text(self) -> str:
        """Describe the picture: the values, the other ones in parentheses."""
        words = "; ".join(f"{line.name.text} {number(line.value)}"
                          + (f" ({number(line.other)})" if math.isfinite(line.other) else "") for line in self.lines)
        return f"{self.caption} {words}" + (f". In parentheses: {self.keys['other']}" if "other" in self.keys else "")


@dataclass(frozen=True, slots=True)
class Ask:
    """The question of the front page and its answer; scripts add the choices and a picture of the best."""

    question: str
    best: Cell
    about: str
    evidence: str
    people: str


Block: TypeAlias = Table | Facts | Prose | Picture | Dots | Ask


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page, left out if it has no blocks; `level` is that of its heading, `boxed` draws a frame."""

    anchor: str
    title: str
    blocks: Sequence[Block]
    level: int = 2
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page; `group` is the label of the entry of the menu that leads to it, if it has none of its own.

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
