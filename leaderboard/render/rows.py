"""The rows of a table as HTML. In Python and not in a template, which takes several times as long for 100 000 cells."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import markupsafe

from leaderboard.blocks.tables import Cell, Row, Table
from leaderboard.render.escaping import visible

TAGS = {"best": "strong", "second": "u", "weak": "em"}


@functools.lru_cache(50_000)
def safe(text: str) -> str:
    """Escape a text from outside, and write out what cannot be seen in it."""
    return str(markupsafe.escape(visible(text)))


def href(link: str, root: str) -> str:
    """Lead from a page to a place in the site, or out of it."""
    return link if link.startswith(("https://", "http://")) else root + link


def content(cell: Cell, reasons: Mapping[str, int], root: str) -> markupsafe.Markup:
    """Write what a cell shows."""
    return markupsafe.Markup(_content(cell, reasons, root))  # noqa: S704 - every part of it is escaped


def rows(table: Table, root: str) -> markupsafe.Markup:
    """Write the bodies of a table, one per group."""
    reasons, kinds = table.reasons, [heading.kind for heading in table.headings]
    lines = []
    for group in table.groups:
        lines.append("<tbody>")
        if group.title:
            lines.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(kinds)}"><span>{safe(group.title)}'
                         "</span></th></tr>")
        lines += [_row(row, kinds, reasons, root, known=bool(table.board)) for row in group.rows]
        lines.append("</tbody>")
    return markupsafe.Markup("\n".join(lines))  # noqa: S704 - every part of it is escaped


def _row(row: Row, kinds: Sequence[str], reasons: Mapping[str, int], root: str, *, known: bool) -> str:
    return f"<tr>{''.join([_cell(*pair, reasons, root, known=known) for pair in zip(row, kinds, strict=True)])}</tr>"


def _cell(cell: Cell, kind: str, reasons: Mapping[str, int], root: str, *, known: bool) -> str:
    title = f' title="{safe(cell.title)}"' if cell.title else ""
    inside = _content(cell, reasons, root)
    if kind == "stub":
        metric, column = cell.key
        data = f' data-metric="{safe(metric)}" data-column="{safe(column)}"' if known and metric else ""
        return f'<th scope="row" class="stub"{data}{title}>{inside}</th>'
    shade = f" {cell.shade}" if cell.shade else ""
    return f'<td class="{kind}{shade}"{title}>{inside}</td>'


def _content(cell: Cell, reasons: Mapping[str, int], root: str) -> str:
    text = safe(cell.text)
    if cell.link:
        text = f'<a href="{safe(href(cell.link, root))}">{text.replace("_", "_<wbr>")}</a>'
    elif cell.code:
        text = f"<code>{text}</code>"
    else:
        for mark in cell.marks:
            text = f"<{TAGS[mark]}>{text}</{TAGS[mark]}>"
    if cell.sign[0]:
        means = safe(cell.sign[1])
        text += f'<span class="sign" role="img" aria-label="{means}" title="{means}">{safe(cell.sign[0])}</span>'
    if cell.why:
        text += f"<sup>{reasons[cell.why]}</sup>"
    below = [part for part in (cell.model, cell.small) if part]
    return text + "".join([f"<small>{safe(part)}</small>" for part in below]) if below else text
