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
from leaderboard.escaping import visible

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
    return template.render(page=page, menu=menu, scripts=scripts, policy=POLICY, banner=note, foot=foot).encode()


@functools.cache
def _templates() -> jinja2.Environment:
    import jinja2

    def visible_text(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value

    env = jinja2.Environment(loader=jinja2.PackageLoader("leaderboard"), autoescape=True, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
                             finalize=visible_text)
    safe = markupsafe.Markup  # filters that escape every text from outside; pages escape the texts of pictures
    env.filters |= {"href": _href, "rows": lambda table, root: safe(_rows(table, root)),
                    "content": lambda cell, root: safe(_inside(cell, {}, root)),
                    "drawing": lambda svg: safe(visible(svg))}
    return env


def _safe(text: str) -> str:
    """Escape text from outside and write out invisible characters."""
    return str(markupsafe.escape(visible(text)))


def _href(link: str, root: str) -> str:
    return link if link.startswith(("https://", "http://")) else root + link


def _rows(table: Table, root: str) -> str:
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
    return "\n".join(lines)


def _cell(cell: Cell, kind: str, reasons: Mapping[str, int], root: str, board: bool) -> str:
    title = f' title="{_safe(cell.title)}"' if cell.title else ""
    inside = _inside(cell, reasons, root)
    if kind == "stub":
        data = f' data-row="{cell.key}"' if board else ""
        return f'<th scope="row" class="stub"{data}{title}>{inside}</th>'
    shade = f" {cell.shade}" if cell.shade else ""
    return f'<td class="{kind}{shade}"{title}>{inside}</td>'


def _inside(cell: Cell, reasons: Mapping[str, int], root: str) -> str:
    text = _safe(cell.text)
    if cell.link:
        text = _BREAKS.sub(r"\g<0><wbr>", text)
        text = f'<a href="{_safe(_href(cell.link, root))}">{text}</a>'
    elif cell.code:
        text = f"<code>{text}</code>"
    else:
        for mark in cell.marks:
            text = f"<{TAGS[mark]}>{text}</{TAGS[mark]}>"
    if cell.sign[0]:
        sign, meaning = map(_safe, cell.sign)
        text += f'<span class="sign" role="img" aria-label="{meaning}" title="{meaning}">{sign}</span>'
    if cell.why:
        text += f"<sup>{reasons[cell.why]}</sup>"
    return text + "".join(f"<small>{_safe(small)}</small>" for small in (cell.model, cell.small) if small)
