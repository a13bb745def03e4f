r"""Boards as LaTeX tables with booktabs: best bold, second underlined, insignificant values in italics.

A wide board is split into `table` environments of at most twelve columns that repeat rank and metric, and a
long board after fifty rows. Many headings are rotated. A table needs `\usepackage{amssymb,booktabs,graphicx}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from harness.results.item_scores import slug
from harness.results.rows import Results
from leaderboard.blocks.boards import dataset_board, overall_board
from leaderboard.blocks.tables import Heading, Table
from leaderboard.escaping import visible
from leaderboard.model.boards import overall_boards
from leaderboard.model.index import make_index
from leaderboard.render.templates import templates

MAX_COLUMNS, MAX_ROWS = 12, 50
"""Columns and rows that fit on a page."""
MAX_CHARACTERS = 240
LATIN_END = "\u0180"  # the first character after Latin Extended-A
CHARACTERS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$",
    "▽": r"$\triangledown$", "≥": r"$\geq$", "≤": r"$\leq$", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "\"": r"\textquotedbl{}", "→": r"$\rightarrow$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "⟨": r"$\langle$", "⟩": r"$\rangle$", **{char: f"\\{char}" for char in "&%$#_{}"}}
NATIVE = "–—…†“”‘’"
"""Characters beyond Latin that LaTeX accepts in UTF-8."""


def boards(results: Results) -> dict[str, Table]:
    """Return every board by name: dev-spearman, dataset-fed-turn-correlation-pearson."""
    index = make_index(results)
    overall = [overall_board(index, board) for group in overall_boards(results).values() for board in group]
    return {table.anchor: table for table in overall} | {
        f"dataset-{slug(entry.name)}-{table.anchor}": table for entry in index.datasets
        for table in (dataset_board(index, entry, statistic) for statistic in index.statistics)}


def write(table: Table, name: str) -> str:
    """Write a board with the label `tab:NAME`."""
    rows = [(title, row) for title, group in table.groups.items() for row in group]
    pages = [rows[start:start + MAX_ROWS] for start in range(0, len(rows), MAX_ROWS)] or [[]]
    table_parts = [(columns, [(title, [row for _, row in group]) for title, group in groupby(page, key=itemgetter(0))])
                   for page in pages for columns in _columns(table.headings)]
    environment = templates().overlay("<%", "%>", "<<", ">>", "<#", "#>", autoescape=False)
    environment.filters["tex"] = text
    return environment.get_template("board.tex").render(
        name=" ".join(name.split()), table=table, parts=table_parts,
        models=sorted({cell.model for row in table.rows for cell in row if cell.model}),
        weak=any("weak" in cell.marks for row in table.rows for cell in row))


def text(value: str) -> str:
    """Escape text for LaTeX with UTF-8 input and T1 fonts; any other character becomes its code point."""
    one_line = " ".join(visible(value).split())
    truncated = one_line if len(one_line) <= MAX_CHARACTERS else one_line[:MAX_CHARACTERS] + "…"
    return "".join(CHARACTERS.get(char) or (char if char < LATIN_END or char in NATIVE else f"[U+{ord(char):04X}]")
                   for char in truncated)


def _columns(headings: Sequence[Heading]) -> list[tuple[int, ...]]:
    """Distribute the columns evenly over parts, each beginning with rank and metric."""
    lead = tuple(column for column, heading in enumerate(headings) if heading.kind in ("rank", "stub"))
    others = [column for column, _ in enumerate(headings) if column not in lead]
    count = max(1, -(-len(others) // (MAX_COLUMNS - len(lead))))
    edges = [round(part * len(others) / count) for part in range(count + 1)]
    return [(*lead, *others[start:end]) for start, end in pairwise(edges)]
