"""The parts of pages, without markup: pages/ builds them, render/ writes them.

A page states the meaning of a value (best of its column, or why it is missing); a renderer decides how that looks.
Links are relative to the root of the site.
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
"""The content of a column; `stub` is the heading of a row, `words` are short strings in a table of numbers."""


class Cell(NamedTuple):
    """A cell: the text shown, its style, and the reason why a value is missing.

    In the cell that names a row, `model` names the models behind the scores, `sign` is a warning sign with its meaning,
    and `key` is the position of the row in the scripts' data. A named tuple, because a site has 100,000 cells and
    a frozen dataclass takes three times as long to create.
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
    """Return a cell for a value: floats have three decimals, and NaN is empty; a cell is returned unchanged."""
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
    return tuple(Heading(text, "number") for text in texts)


@dataclass(frozen=True, slots=True)
class Table:
    """Groups of rows by title.

    `data` describes the data; `folded` is the label of a collapsed table; scripts can re-rank a `board`.
    """

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
        """Make a table with a single group of rows; the kind of a heading given as a string follows from the values."""
        row_tuples = [tuple(row) for row in rows]
        typed_headings = (heading if isinstance(heading, Heading) else Heading(
            str(heading), "stub" if column == 0 else "number" if any(
                isinstance(row[column], int | float) for row in row_tuples) else "text")
            for column, heading in enumerate(headings))
        group = tuple(tuple(map(cell, row)) for row in row_tuples)
        return cls(anchor, caption, tuple(typed_headings), {"": group}, data, folded)

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
    """A list of terms and their values."""

    pairs: tuple[tuple[str, Cell], ...]

    @classmethod
    def of(cls, *pairs: tuple[str, object]) -> Facts:
        """Make a list without empty values."""
        return cls(tuple((term, value_cell) for term, value in pairs if (value_cell := cell(value)).text))


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph, which may be a block of code or a link."""

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
    """A line of a dot plot: a value and optionally a second value, with their intervals; NaN if unknown.

    `kind` is the CSS class of the value: `dot`, or `printed` for a published value, which is not from this run.
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
    """A dot plot of correlations over bands (`marks`, each from low to high); `keys` is the legend by CSS class."""

    lines: Sequence[Dot]
    caption: str
    keys: Mapping[str, str]
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def start(self) -> float:
        """The value at the left end of the axis."""
        ends = (value for line in self.lines for value in (line.value, line.low, line.other, line.other_low))
        lows = (low for low, _ in self.marks.values())
        return -0.5 if any(value < -0.1 for value in (*ends, *lows)) else -0.1

    @property
    def ticks(self) -> list[str]:
        return [number(step / 5, 1 if step % 5 else 0) for step in range(-2 if self.start == -0.5 else 0, 6)]

    def across(self, value: float) -> int:
        """Return the position of a value on the axis, from 0 to 1000."""
        return round(1000 * (min(max(value, self.start), 1.0) - self.start) / (1 - self.start))

    @property
    def text(self) -> str:
        """A description of the plot, with the second values in parentheses."""
        words = "; ".join(f"{line.name.text} {number(line.value)}"
                          + (f" ({number(line.other)})" if math.isfinite(line.other) else "") for line in self.lines)
        return f"{self.caption} {words}" + (f". In parentheses: {self.keys['other']}" if "other" in self.keys else "")


@dataclass(frozen=True, slots=True)
class Ask:
    """The question of the front page and its answer; scripts add the controls and a plot of the best columns."""

    question: str
    best: Cell
    about: str
    evidence: str
    people: str


Block: TypeAlias = Table | Facts | Prose | Picture | Dots | Ask


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page, omitted if it has no blocks; `level` is its heading's level, `boxed` draws a frame."""

    anchor: str
    title: str
    blocks: Sequence[Block]
    level: int = 2
    boxed: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page; if it has no menu entry, `group` is the label of the entry that leads to it.

    `choices` are links to the front pages of all eras. If scripts re-rank a board of the page, `numbers` is
    the file with its data.
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
        """The page's fragment identifier: dataset-fed-turn for dataset/fed-turn.html."""
        return self.path.removesuffix(".html").replace("/", "-")

    @property
    def root(self) -> str:
        """The relative path from this page to the root of the site."""
        return "../" * self.path.count("/")
