"""The boards in other forms: Markdown, LaTeX, CSV and JSON, from the same tables; hostile names in each of them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace

from harness.results.rows import Results
from leaderboard.blocks.tables import Cell, Group, Heading, Table
from leaderboard.render import latex
from leaderboard.render import rows as exports

HOSTILE = "a_b & 50% #1 $x$ {y} ~z^2 \\begin{table} \"q\" <i> | \u202e\x00é ň Ж −0.1"


def test_the_json_has_every_row_and_board(
        results: Results, site: dict[str, bytes]) -> None:
    whole = json.loads(site["leaderboard.json"])
    assert whole["schema"] == exports.VERSION
    assert len(whole["correlations"]) == len(results.correlations)
    assert sum(len(board["ranking"]) for board in whole["boards"]) == len(results.ranking)
    first = whole["boards"][0]
    assert (first["board"], first["origin"], first["rule"], first["statistic"]) == ("dev", "real", "dev", "spearman")
    assert [(row["column"], row["rank"]) for row in first["ranking"]] == [
        ("bleu1", 1), ("x|y", 2), ("length", 3), ("bleu2", None), ("grade", None)]
    assert all((row["rank"] is None) == (row["value"] is None) == (row["covered"] < row["targets"])
               for board in whole["boards"] for row in board["ranking"])


def rows_of(source: str) -> list[tuple[int, int]]:
    """Count the columns that a tabular promises, and those of each of its rows; braces must close."""
    counted = []
    depth = 0
    for sign in re.findall(r"\\.|[{}]", source):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    for columns, body in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", source, re.DOTALL):
        for line in body.splitlines():
            if line.endswith(r" \\"):
                spans = sum(int(number) - 1 for number in re.findall(r"\\multicolumn\{(\d+)\}", line))
                counted.append((len(columns), len(re.findall(r"(?<!\\)&", line)) + 1 + spans))
    return counted


def test_every_board_is_a_file_of_latex_whose_rows_fit_its_columns(site: dict[str, bytes]) -> None:
    names = [name for name in site if name.startswith("latex/") and name != latex.ALL]
    assert {"latex/dev-real-spearman.tex", "latex/test-sample-kendall.tex", "latex/quality-overall-real-pearson.tex",
            "latex/dataset-fed-turn-correlation-spearman.tex"} <= set(names)
    for name in names:
        source = site[name].decode()
        assert source.isascii(), name
        assert source.count(r"\begin{table}") == source.count(r"\end{table}") > 0
        rows = rows_of(source)
        assert len(rows) > 1, name
        assert all(promised == count <= latex.COLUMNS for promised, count in rows), name
    whole = site[latex.ALL].decode()
    assert re.findall(r"\\input\{(.+)\}", whole) == [name.removeprefix("latex/").removesuffix(".tex")
                                                     for name in names]


def test_latex_is_escaped() -> None:
    assert latex.text("a_b & 50% #1 $x$ {y}") == r"a\_b \& 50\% \#1 \$x\$ \{y\}"
    assert latex.text("~^\\") == r"\textasciitilde{}\textasciicircum{}\textbackslash{}"
    assert latex.text("é ň ü −1 –") == "\\'{e} \\v{n} \\\"{u} $-$1 --"
    assert latex.text("Ж") == "[U+0416]"
    assert latex.text(HOSTILE).isascii()


def board(columns: int, rows: int, name: str = "m") -> Table:
    headings = (Heading("Rank", "rank"), Heading("Metric", "stub"),
                *(Heading(f"c{column}", "number") for column in range(columns)))
    lines = tuple((Cell(str(row)), Cell(name), *(Cell(f"0.{column}") for column in range(columns)))
                  for row in range(rows))
    return Table("a", "Caption", headings, (Group(lines), Group(lines[:1], "Not ranked")), data="real")


def test_a_wide_board_is_split_and_repeats_rank_and_metric() -> None:
    for columns, rows, parts in ((1, 3, 1), (10, 3, 1), (11, 3, 2), (25, 3, 3), (25, 60, 6)):
        source = latex.write(board(columns, rows), "b")
        assert source.count(r"\begin{table}") == parts
        assert all(promised == count <= latex.COLUMNS for promised, count in rows_of(source))
        for column in range(columns):
            named = re.findall(rf"(?:^|[ {{])c{column}(?:[ }}]|$)", source, re.MULTILINE)
            assert len(named) == -(-(rows + 1) // latex.ROWS)
        assert (f"Part {parts} of {parts}" in source) == (parts > 1)
        assert len(set(re.findall(r"\\label\{(.+)\}", source))) == parts


def test_comparisons_read_back_as_they_were_whatever_a_name_holds(results: Results) -> None:
    names = ('a,b', 'say "x"', "two\nlines", "plain", "nan", "1\r2")
    rows = tuple(replace(results.comparisons[0], better=name, worse=name[::-1],
                         value=math.nan if name == "nan" else 1 / 3)
                 for name in names)
    written = exports.comparisons(replace(results, comparisons=rows)).decode()
    read = list(csv.DictReader(io.StringIO(written, newline="")))
    assert {(row["better"], row["worse"], row["value"]) for row in read} == {
        (row.better, row.worse, "" if row.better == "nan" else "0.3333333") for row in rows}
    assert {row["holm"] for row in read} == {"0.03"}
