"""Tables and pages as HTML and as plain text. What comes from outside is escaped."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Sequence
from dataclasses import replace

import jinja2
import markupsafe

from leaderboard.blocks.menu import Entry
from leaderboard.blocks.tables import Cell, Facts, Gallery, Heading, Page, Picture, Row, Table
from leaderboard.render.escaping import drawing, shown
from leaderboard.render.rows import content, href, rows

BANNER = ("Computed on the bundled sample: made by a script with simulated raters, not by people. "
          "These numbers say nothing about how good a metric is.")
MIXED = "This goes for the tables that say “bundled sample”; the others are on real data."
POLICY = ("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; "
          "form-action 'none'")
"""What a page may load: its own sheet and scripts, and nothing from elsewhere."""

WIDTH = 110


@functools.cache
def _templates() -> jinja2.Environment:
    env = jinja2.Environment(loader=jinja2.PackageLoader("leaderboard"), autoescape=True, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
                             finalize=shown)
    env.tests["table"] = lambda block: isinstance(block, Table)
    env.tests["picture"] = lambda block: isinstance(block, Picture)
    env.tests["gallery"] = lambda block: isinstance(block, Gallery)
    env.tests["facts"] = lambda block: isinstance(block, Facts)
    env.filters |= {"href": href, "rows": rows, "content": content, "drawing": drawing, "json": _json}
    return env


def html(page: Page, menu: Sequence[Entry], siblings: Sequence[Page], downloads: Sequence[str],
         scripts: Sequence[str]) -> bytes:
    """Render a page with the menu of the site, the other pages of its group, and the scripts it runs."""
    template = _templates().get_template("page.html")
    return template.render(page=page, menu=menu, siblings=siblings, downloads=downloads, scripts=scripts,
                           policy=POLICY, banner=BANNER, mixed=MIXED).encode()


def text(table: Table, width: int = WIDTH) -> str:
    """Render a table for the terminal, the names cut where it would not fit."""
    rows = [tuple(Cell(heading.text) for heading in table.headings), *table.rows]
    sizes = [max(len(_words(row[column])) for row in rows) for column in range(len(table.headings))]
    stub = next((place for place, heading in enumerate(table.headings) if heading.kind == "stub"), 0)
    sizes[stub] = max(8, min(sizes[stub], width - sum(sizes) + sizes[stub] - 2 * (len(sizes) - 1)))
    head, *lines = [line[:width] for row in rows for line in _lines(row, sizes, table.headings, stub)]
    title = textwrap.fill(plain(f"{table.caption}. Data: {table.data}."), width)
    return "\n".join([title, "", head, "-" * max(map(len, (head, *lines))), *lines, ""])


def plain(value: str) -> str:
    """Keep what a terminal can print: no control character, no line break; an ASCII minus."""
    printable = "".join(sign if sign.isprintable() else " " for sign in value)
    return " ".join(printable.replace("−", "-").split())


def _words(cell: Cell) -> str:
    """Write a cell on one line: what it shows, the models in brackets, what is small."""
    model = f"({cell.model})" if cell.model else ""
    return plain(" ".join(filter(None, (cell.text, model, cell.small))))


def _lines(row: Row, sizes: Sequence[int], headings: Sequence[Heading], stub: int) -> list[str]:
    """Write a row on a line; models for which it has no room stand on a second one."""
    name, below = row[stub], ""
    if name.model and len(_words(name)) > sizes[stub]:
        below = " " * (sum(sizes[:stub]) + 2 * stub + 2) + plain(f"({name.model})")
        row = (*row[:stub], replace(name, model=""), *row[stub + 1:])
    line = "  ".join(_fit(_words(cell), size, heading)
                     for cell, size, heading in zip(row, sizes, headings, strict=True)).rstrip()
    return [line, below] if below else [line]


def _fit(value: str, size: int, heading: Heading) -> str:
    short = value if len(value) <= size else value[:size - 1] + "…"
    return short.rjust(size) if heading.kind in ("number", "rank") else short.ljust(size)


def _json(data: str) -> markupsafe.Markup:
    """Put JSON into a page: nothing in it can end the script it stands in."""
    return markupsafe.Markup(data.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"}))  # noqa: S704
