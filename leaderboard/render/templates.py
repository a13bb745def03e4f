"""Render pages from templates, each as HTML and all as one GitHub Markdown document; untrusted text is escaped.

The document contains the boards, the challenge and the run, and each dataset in a collapsed section; pages with
`markdown=False` are only on the site.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import markupsafe

from harness.results.exhibits import number
from leaderboard.blocks.tables import Page
from leaderboard.escaping import visible

if TYPE_CHECKING:
    import jinja2

BANNER = "Demo data, not a result: a script made the texts and simulated the raters."
POLICY = ("default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; "
          "form-action 'none'")
"""Content-Security-Policy that allows only the site's own style sheets and scripts."""
BREAKS = re.compile(r"[_\[+:,=]")
"""Characters after which a name may break."""
MAX_CHARACTERS = 2000
"""Longer strings are truncated in Markdown."""
SPECIAL = re.compile(r"([\\`*\[\]|~$#])|(?<![^\W_])(_)|(_)(?![^\W_])")


def html(page: Page, menu: Sequence[tuple[str, str]], scripts: Sequence[str], note: str = "",
         foot: Sequence[tuple[str, str]] = ()) -> bytes:
    """Render a page with the menu, its scripts, a note at the top, and labelled links in the footer."""
    template = templates().get_template("page.html")
    return template.render(page=page, menu=menu, scripts=scripts, policy=POLICY, banner=note, foot=foot).encode()


def markdown(pages: Sequence[Page], note: str = "") -> bytes:
    """Render the pages as one document, without their folded tables."""
    contents: dict[str, list[Page]] = {}
    for page in pages:
        contents.setdefault(page.group or page.path, []).append(page)
    return documents().get_template("document.md").render(
        pages=pages, note=note, anchors={page.path: page.anchor for page in pages},
        contents=[(pages_of_group[0].group, pages_of_group) for pages_of_group in contents.values()]).encode()


def _escaped(value: str) -> str:
    one_line = " ".join(visible(value).split())
    truncated = one_line if len(one_line) <= MAX_CHARACTERS else one_line[:MAX_CHARACTERS] + "…"
    escaped = SPECIAL.sub(lambda match: "\\" + match[0], truncated)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@functools.cache
def templates() -> jinja2.Environment:
    import jinja2

    def visible_text(value: object) -> object:
        return visible(value) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value

    def breakable(text: str) -> markupsafe.Markup:
        return markupsafe.Markup(BREAKS.sub(r"\g<0><wbr>", str(markupsafe.escape(visible(text)))))  # noqa: S704 - escaped

    def drawing(svg: str) -> markupsafe.Markup:
        return markupsafe.Markup(visible(svg))  # noqa: S704 - blocks/pictures.py escapes its texts

    def href(link: str, root: str) -> str:
        return link if link.startswith(("https://", "http://")) else root + link

    env = jinja2.Environment(loader=jinja2.PackageLoader("leaderboard"), autoescape=True, trim_blocks=True,
                             lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
                             finalize=visible_text)
    env.filters |= {"href": href, "breakable": breakable, "drawing": drawing, "number": number}
    return env


@functools.cache
def documents() -> jinja2.Environment:
    environment = templates().overlay(autoescape=False)
    environment.filters |= {"md": _escaped, "visible": visible}
    return environment
