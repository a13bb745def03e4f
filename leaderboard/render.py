"""Tables and pages as bytes: HTML, GitHub's Markdown, CSV and plain text. What comes from outside is escaped."""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import jinja2
import markupsafe

from leaderboard.tables import Block, Cell, Facts, Gallery, Heading, Page, Picture, Prose, Row, Section, Table

BANNER = ("Computed on the bundled sample: made by a script with simulated raters, not by people. "
          "These numbers say nothing about how good a metric is.")
MIXED = "This goes for the tables that say “bundled sample”; the others are on real data."
SPECIAL = re.compile(r"([\\`*\[\]|~$#])|(?<![^\W_])(_)|(_)(?![^\W_])")
LEGEND = ("**Best** and <ins>second</ins> of a column. *Italics*: p ≥ 0.05. –: missing; the number says why. "
          "Behind a metric: the models its scores come from. Below a value: its 95 % interval. "
          "Further statistics, n and p: [agreements.csv](agreements.csv), [standings.csv](standings.csv).")
MARKS = {"best": ("**", "**"), "second": ("<ins>", "</ins>"), "weak": ("*", "*")}
WIDTH = 110


@functools.cache
def _templates() -> jinja2.Environment:
    env = jinja2.Environment(loader=jinja2.PackageLoader("leaderboard"), autoescape=True, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    env.tests["table"] = lambda block: isinstance(block, Table)
    env.tests["picture"] = lambda block: isinstance(block, Picture)
    env.tests["gallery"] = lambda block: isinstance(block, Gallery)
    env.tests["facts"] = lambda block: isinstance(block, Facts)
    env.filters |= {"href": _href, "breakable": _breakable}
    return env


def html(page: Page, pages: Sequence[Page], downloads: Sequence[str]) -> bytes:
    """Render a page; the others are there for the navigation, and the front page lists them."""
    template = _templates().get_template("page.html")
    return template.render(page=page, pages=pages, groups=_groups(pages), downloads=downloads,
                           banner=BANNER, mixed=MIXED).encode()


def markdown(pages: Sequence[Page]) -> bytes:
    """Render the pages as one document, without what is folded on them."""
    anchors = {page.path: page.anchor for page in pages}
    contents = [f"- [{_md(page.label)}](#{page.anchor})" for page in pages]
    parts = [f"<a id=\"{page.anchor}\"></a>\n\n## {_md(page.title)}\n\n{_warning(page)}{_md(page.lead)}\n\n"
             + "\n".join(_md_section(section, anchors) for section in page.sections) for page in pages]
    return "\n".join(["# Leaderboard\n", LEGEND, "", *contents, "", *parts]).encode()


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


def _href(link: str, root: str) -> str:
    """Lead from a page to a place in the site, or out of it."""
    return link if link.startswith(("https://", "http://")) else root + link


def _breakable(name: str) -> markupsafe.Markup:
    """Let a long name break behind its underscores."""
    return markupsafe.Markup("_<wbr>").join(name.split("_"))


def _groups(pages: Iterable[Page]) -> dict[str, list[Page]]:
    found: dict[str, list[Page]] = {}
    for page in pages:
        if page.group:
            found.setdefault(page.group, []).append(page)
    return found


def _md(value: str) -> str:
    """Escape for a Markdown cell or paragraph."""
    one_line = " ".join(value.split())
    escaped = SPECIAL.sub(lambda sign: "\\" + sign[0], one_line)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _warning(page: Page) -> str:
    if not page.sample:
        return ""
    return f"> **{BANNER}**{' ' + MIXED if page.mixed else ''}\n\n"


def _md_section(section: Section, anchors: Mapping[str, str]) -> str:
    blocks = [_md_block(block, anchors) for block in section.blocks]
    return f"{'#' * (section.level + 1)} {_md(section.title)}\n\n" + "".join(blocks)


def _md_block(block: Block, anchors: Mapping[str, str]) -> str:
    if isinstance(block, Facts):
        return "".join(f"- {_md(term)}: {_md_cell(cell, {}, anchors)}\n" for term, cell in block.pairs) + "\n"
    if isinstance(block, Picture | Gallery):
        pictures = block.pictures if isinstance(block, Gallery) else (block,)
        return "".join(f"{_md(picture.text)}\n\n" for picture in pictures)
    if isinstance(block, Prose):
        return f"    {block.text}\n\n" if block.code else f"{_md(block.text)}\n\n"
    return "" if block.folded else _md_table(block, anchors)


def _md_table(table: Table, anchors: Mapping[str, str]) -> str:
    reasons = table.reasons
    lines = [[_md_cell(Cell(heading.text, small=heading.small, link=heading.link), {}, anchors)
              for heading in table.headings],
             ["---:" if heading.kind in ("number", "rank") else "---" for heading in table.headings]]
    for group in table.groups:
        if group.title:
            lines.append(["", f"*{_md(group.title)}*", *[""] * (len(table.headings) - 2)])
        lines += [[_md_cell(cell, reasons, anchors) for cell in row] for row in group.rows]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "\n".join(f"{number}. {_md(reason)}" for reason, number in reasons.items())
    return (f"**{_md(table.caption)}.** Data: {_md(table.data)}.\n\n{rows}\n\n"
            + (f"Why values are missing:\n\n{notes}\n\n" if notes else ""))


def _md_cell(cell: Cell, reasons: Mapping[str, int], anchors: Mapping[str, str]) -> str:
    shown = _md(cell.text)
    for mark in cell.marks:
        before, after = MARKS[mark]
        shown = f"{before}{shown}{after}"
    if cell.link in anchors:
        shown = f"[{shown}](#{anchors[cell.link]})"
    model = f" ({_md(cell.model)})" if cell.model else ""
    number = f" <sup>{reasons[cell.why]}</sup>" if cell.why in reasons else ""
    small = f"<br><sub>{_md(cell.small)}</sub>" if cell.small else ""
    return shown + model + number + small
