"""Pages as HTML; text from outside is escaped.

Table rows are written here because a template takes several times as long for 100,000 cells.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import markupsafe

from leaderboard.blocks.tables import Cell, Entry, Page, Table
from leaderboard.escaping import shown, visible

if TYPE_CHECKING:
    import jinja2

BANNER = "Demo data, not a result: a script made the texts and simulated the raters."
POLICY = ("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; "
          "form-action 'none'")
"""Content-Security-Policy: only the style sheet and scripts of the site."""

_BREAKS = re.compile(r"[_\[+:,=]")
"""Characters after which a name may break."""
TAGS = {"best": "strong", "second": "u", "weak": "em"}


def html(page: Page, menu: Sequence[Entry], scripts: Sequence[str], note: str = "",
         foot: Sequence[tuple[str, str]] = ()) -> bytes:
    """Render a page with the menu, its scripts, a note at the top, and texts with links in the footer."""
    template = _templates().get_template("page.html")
    return template.render(page=page, menu=menu, scripts=scripts, policy=POLICY,
                           banner=note, foot=foot).encode()


@functools.cache
def _templates() -> jinja2.Environment:
    import jinja2

    env = jinja2.Environment(loader=jinja2.PackageLoader("leaderboard"), autoescape=True, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
                             finalize=shown)
    env.filters |= {"href": _href, "rows": _rows, "content": _content,
                    "drawing": lambda svg: markupsafe.Markup(visible(svg))}  # noqa: S704 - pages escape its texts
    return env


@functools.lru_cache(50_000)
def _safe(text: str) -> str:
    """Escape text from outside and write out invisible characters."""
    return str(markupsafe.escape(visible(text)))


def _href(link: str, root: str) -> str:
    return link if link.startswith(("https://", "http://")) else root + link


def _content(cell: Cell, reasons: Mapping[str, int], root: str) -> markupsafe.Markup:
    return markupsafe.Markup(_inside(cell, reasons, root))  # noqa: S704 - every part is escaped


def _rows(table: Table, root: str) -> markupsafe.Markup:
    """Write the bodies of a table, one per group."""
    reasons, kinds = table.reasons, [heading.kind for heading in table.headings]
    lines = []
    for group in table.groups:
        lines.append("<tbody>")
        if group.title:
            lines.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(kinds)}"><span>{_safe(group.title)}'
                         "</span></th></tr>")
        for row in group.rows:
            cells = [_cell(cell, kind, reasons, root, table.board) for cell, kind in zip(row, kinds, strict=True)]
            lines.append(f"<tr>{''.join(cells)}</tr>")
        lines.append("</tbody>")
    return markupsafe.Markup("\n".join(lines))  # noqa: S704 - every part is escaped


def _cell(cell: Cell, kind: str, reasons: Mapping[str, int], root: str, board: bool) -> str:
    title = f' title="{_safe(cell.title)}"' if cell.title else ""
    inside = _inside(cell, reasons, root)
    if kind == "stub":
        data = f' data-row="{cell.key}"' if board else ""
        return f'<th scope="row" class="stub"{data}{title}>{inside}</th>'
    shade = f" {cell.shade}" if cell.shade else ""
    return f'<td class="{kind}{shade}"{title}>{inside}</td>'


def _inside(cell: Cell, reasons: Mapping[str, int], root: str) -> str:
    shown, _, small, link, model, why, marks, _, code, (sign, meaning), _ = cell
    text = _safe(shown)
    if link:
        text = _BREAKS.sub(r"\g<0><wbr>", text)
        text = f'<a href="{_safe(_href(link, root))}">{text}</a>'
    elif code:
        text = f"<code>{text}</code>"
    else:
        for mark in marks:
            text = f"<{TAGS[mark]}>{text}</{TAGS[mark]}>"
    if sign:
        words = _safe(meaning)
        text += f'<span class="sign" role="img" aria-label="{words}" title="{words}">{_safe(sign)}</span>'
    if why:
        text += f"<sup>{reasons[why]}</sup>"
    if model:
        text += f"<small>{_safe(model)}</small>"
    return f"{text}<small>{_safe(small)}</small>" if small else text

