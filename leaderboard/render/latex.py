r"""Boards as LaTeX tables with booktabs: best bold, second underlined, insignificant values in italics.

A wide board is split into `table` environments of twelve columns that repeat rank and metric, a long one after fifty
rows; many headings are rotated. A table needs `\usepackage{amssymb,booktabs,graphicx}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from harness.results.item_scores import slug
from harness.results.rows import Results
from leaderboard.blocks.boards import dataset_board, overall_board
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.escaping import visible
from leaderboard.model.boards import overall_boards
from leaderboard.model.index import make_index

COLUMNS, ROWS = 12, 50
"""Columns and rows that fit on a page."""
ROTATED = 6
"""The headings of more columns are rotated."""
LONGEST = 60
LATIN_END = "\u0180"
MARKS = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "weak": r"\textit{%s}"}
CHARACTERS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$",
    "▽": r"$\triangledown$", "≥": r"$\geq$", "≤": r"$\leq$", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "\"": r"\textquotedbl{}", "→": r"$\rightarrow$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "⟨": r"$\langle$", "⟩": r"$\rangle$", **{char: f"\\{char}" for char in "&%$#_{}"}}
NATIVE = "–—…†“”‘’"
"""Characters beyond Latin that LaTeX reads in UTF-8."""


def boards(results: Results) -> dict[str, Table]:
    """Return every board by name: dev-spearman, dataset-fed-turn-correlation-pearson."""
    index = make_index(results)
    whole = [overall_board(index, board) for listed in overall_boards(results).values() for board in listed]
    return {table.anchor: table for table in whole} | {
        f"dataset-{slug(entry.name)}-{table.anchor}": table for entry in index.datasets
        for table in (dataset_board(index, entry, statistic) for statistic in index.statistics)}


def write(table: Table, name: str) -> str:
    """Write a board with the label `tab:NAME`."""
    parts = [(columns, rows) for rows in _pages(table.groups) for columns in _columns(table.headings)]
    head = f"% {' '.join(name.split())}: needs \\usepackage{{amssymb,booktabs,graphicx}}\n"
    models = sorted({cell.model for row in table.rows for cell in row if cell.model})
    head += "".join(f"% scores with {text(model)}\n" for model in models)
    return head + "\n".join(_part(table, name, columns, rows, number, len(parts))
                            for number, (columns, rows) in enumerate(parts, start=1))


def text(value: str) -> str:
    """Escape text for LaTeX in UTF-8 and T1; a character without a command is written as its code point."""
    plain = " ".join(visible(value).split())
    short = plain if len(plain) <= LONGEST * 4 else plain[:LONGEST * 4] + "…"
    return "".join(CHARACTERS.get(char) or (char if char < LATIN_END or char in NATIVE else f"[U+{ord(char):04X}]")
                   for char in short)


def _columns(headings: Sequence[Heading]) -> list[tuple[int, ...]]:
    """Distribute the columns evenly over parts that all begin with rank and metric."""
    lead = tuple(column for column, heading in enumerate(headings) if heading.kind in ("rank", "stub"))
    others = [column for column, _ in enumerate(headings) if column not in lead]
    count = max(1, -(-len(others) // (COLUMNS - len(lead))))
    edges = [round(part * len(others) / count) for part in range(count + 1)]
    return [(*lead, *others[start:end]) for start, end in pairwise(edges)]


def _pages(groups: Mapping[str, Sequence[Row]]) -> list[list[tuple[str, Row]]]:
    """Split the rows, each with the title of its group, into pages."""
    rows = [(title, row) for title, group in groups.items() for row in group]
    return [rows[start:start + ROWS] for start in range(0, len(rows), ROWS)] or [[]]


def _part(table: Table, name: str, columns: Sequence[int], rows: Sequence[tuple[str, Row]], number: int, count: int,
          ) -> str:
    headings = [table.headings[column] for column in columns]
    weak = any("weak" in cell.marks for row in table.rows for cell in row)
    legend = "Best bold, second underlined" + (r", $p \geq 0.05$ in italics" if weak else "")
    caption = f"{text(table.caption)}. {text(table.data) + '. ' if table.data else ''}{legend}."
    align = "".join("r" if heading.kind in ("rank", "number") else "l" for heading in headings)
    part = f" Part {number} of {count}." if count > 1 else ""
    return "\n".join((
        r"\begin{table}[htbp]", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}",
        f"\\caption{{{caption}{part}}}",
        f"\\label{{tab:{name}{f'-{number}' if number > 1 else ''}}}",
        f"\\begin{{tabular}}{{{align}}}", r"\toprule",
        " & ".join(_heading(heading, len(columns) > ROTATED) for heading in headings) + r" \\", r"\midrule",
        "\n\\midrule\n".join("\n".join(_group(title, group, columns))
                             for title, group in groupby(rows, key=itemgetter(0))),
        r"\bottomrule", r"\end{tabular}", r"\end{table}", ""))


def _heading(heading: Heading, rotated: bool) -> str:
    name = text("Rank" if heading.kind == "rank" else heading.text[:LONGEST])
    return f"\\rotatebox{{60}}{{{name}}}" if rotated and heading.kind not in ("rank", "stub") else name


def _group(title: str, rows: Iterable[tuple[str, Row]], columns: Sequence[int]) -> Iterator[str]:
    if title:
        yield f"\\multicolumn{{{len(columns)}}}{{l}}{{{text(title)}}} \\\\"
    for _, row in rows:
        yield " & ".join(_cell(row[column]) for column in columns) + r" \\"


def _cell(cell: Cell) -> str:
    """Write the text of a cell without the small text below it."""
    escaped = text(cell.text if len(cell.text) <= LONGEST else cell.text[:LONGEST] + "…")
    for mark in cell.marks:
        escaped = MARKS[mark] % escaped
    return f"{escaped} {text(cell.sign[0])}" if cell.sign[0] else escaped
