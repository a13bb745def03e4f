"""The site as one document in GitHub Markdown, with anchors; text from outside is escaped.

It holds the boards, the challenge and the run. The tables of each dataset are folded; pages with `markdown=False` are
only on the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from leaderboard.blocks.tables import Ask, Block, Cell, Facts, Page, Picture, Section, Table
from leaderboard.escaping import visible

FOLDED = "Datasets"
TABULAR = frozenset({"correlation", "card"})
"""The sections of a folded page that are kept."""
LONGEST = 200
"""Longer cells are truncated."""
SPECIAL = re.compile(r"([\\`*\[\]|~$#])|(?<![^\W_])(_)|(_)(?![^\W_])")
LEGEND = ("**Best** and <ins>second</ins> of a column. *Italics*: p ≥ 0.05. –: missing; the number says why. "
          "▽: not above the length control. After a metric: its models and its relation to the paper's system. "
          "Intervals, further statistics, n and p are in the CSV files and leaderboard.json.")
MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", "weak": "*{}*"}
Anchors = Mapping[str, str]


def document(pages: Sequence[Page], note: str = "") -> bytes:
    """Write the pages as one document, without their folded tables."""
    anchors = {page.path: page.anchor for page in pages}
    warning = [f"> **{note}**\n"] if note else []
    return "\n".join(["# Leaderboard\n", *warning, LEGEND, "", *_contents(pages), "",
                      *(_page(page, anchors) for page in pages)]).encode()


def _contents(pages: Iterable[Page]) -> Iterator[str]:
    """List the pages, a group on one line."""
    lines: dict[str, list[str]] = {}
    for page in pages:
        title = f"{_text(page.group)}: " if page.group else ""
        lines.setdefault(page.group or page.path, [title]).append(f"[{_text(page.label)}](#{page.anchor})")
    yield from (f"- {title}{', '.join(links)}" for title, *links in lines.values())


def _page(page: Page, anchors: Anchors) -> str:
    folded = page.group == FOLDED
    sections = "\n".join(_section(section, anchors) for section in page.sections
                         if not folded or section.anchor in TABULAR)
    choices = " · ".join((f"**{_text(cell.text)}**" if cell.link == page.path else
                          _linked(_text(cell.text), cell.link, anchors))
                         + (f" ({_text(cell.small)})" if cell.small else "") for cell in page.choices)
    lead = f"For which systems? {choices}" if choices else _text(page.lead)
    content = f"{lead}\n\n{sections}" if lead else sections
    if folded:
        content = (f"<details>\n<summary>{_text(page.label)}: {_text(page.detail)}</summary>\n\n{content}\n"
                   "</details>\n")
    return f"<a id=\"{page.anchor}\"></a>\n\n## {_text(page.title)}\n\n{content}"


def _section(section: Section, anchors: Anchors) -> str:
    title = f"{'#' * (section.level + 1)} {_text(section.title)}\n\n" if section.title else ""
    return title + "".join(_block(block, anchors) for block in section.blocks)


def _block(block: Block, anchors: Anchors) -> str:
    if isinstance(block, Facts):
        return "".join(f"- {_text(term)}: {_cell(cell, anchors)}\n" for term, cell in block.pairs) + "\n"
    if isinstance(block, Picture):
        return f"{_text(block.text)}\n\n"
    if isinstance(block, Ask):
        about = f" ({_text(block.about)})" if block.about else ""
        return (f"{_text(block.question)} **{_cell(block.best, anchors)}**{about}. "
                f"{_text(block.evidence)} {_text(block.people)}\n\n")
    if isinstance(block, Table):
        return "" if block.folded else _table(block, anchors)
    if block.code:
        return "".join(f"    {visible(line)}\n" for line in block.text.splitlines()) + "\n"
    return _linked(_text(block.text), block.link, anchors) + "\n\n"


def _table(table: Table, anchors: Anchors) -> str:
    reasons = table.reasons
    lines = [[_cell(Cell(heading.text, small=heading.small), anchors) for heading in table.headings],
             ["---:" if heading.kind in ("number", "rank") else "---" for heading in table.headings]]
    for title, group in table.groups.items():
        if title:
            lines.append(["", f"*{_text(title)}*", *[""] * (len(table.headings) - 2)])
        lines += [[_cell(cell, anchors, reasons) for cell in row] for row in group]
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    notes = "\n".join(f"{number}. {_text(reason)}" for reason, number in reasons.items())
    data = f" {_text(table.data)}." if table.data else ""
    return (f"**{_text(table.caption)}.**{data}\n\n{rows}\n\n"
            + (f"Why values are missing:\n\n{notes}\n\n" if notes else ""))


def _cell(cell: Cell, anchors: Anchors, reasons: Mapping[str, int] | None = None) -> str:
    text = _text(cell.text if len(cell.text) <= LONGEST else cell.text[:LONGEST] + "…")
    for mark in cell.marks:
        text = MARKS[mark].format(text)
    text = _linked(text, cell.link, anchors)
    sign = f" {cell.sign[0]}" if cell.sign[0] else ""
    model = f" ({_text(cell.model)})" if cell.model else ""
    number = f" <sup>{reasons[cell.why]}</sup>" if reasons and cell.why else ""
    small = f"<br><sub>{_text(cell.small)}</sub>" if cell.small and not cell.shade else ""  # intervals: see LEGEND
    return text + sign + model + number + small


def _linked(text: str, link: str, anchors: Anchors) -> str:
    """Link a text to another page of the document, if there is one."""
    return f"[{text}](#{anchors[link]})" if link in anchors else text


def _text(value: str) -> str:
    """Escape text for a Markdown cell or paragraph."""
    one_line = " ".join(visible(value).split())
    short = one_line if len(one_line) <= LONGEST * 10 else one_line[:LONGEST * 10] + "…"
    escaped = SPECIAL.sub(lambda match: "\\" + match[0], short)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
