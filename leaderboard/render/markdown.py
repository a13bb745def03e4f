"""The site as one document in GitHub Markdown, with anchors; text from outside is escaped.

It holds the boards, the challenge and the run. The tables of each dataset are folded; pages with `markdown=False` are
only on the site.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from leaderboard.blocks.tables import Page
from leaderboard.escaping import visible
from leaderboard.render.html import templates

LONGEST = 2000
"""Longer texts are truncated."""
SPECIAL = re.compile(r"([\\`*\[\]|~$#])|(?<![^\W_])(_)|(_)(?![^\W_])")


def document(pages: Sequence[Page], note: str = "") -> bytes:
    """Write the pages as one document, without their folded tables."""
    contents: dict[str, list[Page]] = {}
    for page in pages:
        contents.setdefault(page.group or page.path, []).append(page)
    environment = templates().overlay(autoescape=False)
    environment.filters |= {"md": escaped, "visible": visible}
    return environment.get_template("document.md").render(
        pages=pages, note=note, anchors={page.path: page.anchor for page in pages},
        contents=[(listed[0].group, listed) for listed in contents.values()]).encode()


def escaped(value: str) -> str:
    """Escape text for a Markdown cell or paragraph."""
    one_line = " ".join(visible(value).split())
    short = one_line if len(one_line) <= LONGEST else one_line[:LONGEST] + "…"
    marked = SPECIAL.sub(lambda match: "\\" + match[0], short)
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
