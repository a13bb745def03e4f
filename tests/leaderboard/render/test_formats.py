"""Results as LaTeX, CSV, JSON and terminal text, also with hostile names."""

import csv
import io
import json
import math
import re
from dataclasses import replace

from harness.results.rows import Failure, Results, Skip
from leaderboard.blocks.tables import Cell, Group, Heading, Table
from leaderboard.render import latex
from leaderboard.render import rows as exports
from leaderboard.render import text as terminal
from leaderboard.render.text import summary
from tests.comparisons import gathered

HOSTILE = "a_b & 50% #1 $x$ {y} ~z^2 \\begin{table} \"q\" <i> | \u202e\x00é ň Ж −0.1"


def test_json_and_csv_have_every_row_in_full_precision(results: Results, site: dict[str, bytes]) -> None:
    whole = json.loads(site["leaderboard.json"])
    assert whole["schema"] == exports.VERSION
    assert len(whole["correlations"]) == len(results.correlations)
    assert sum(len(board["ranking"]) for board in whole["boards"]) == len(results.ranking)
    first = whole["boards"][0]
    assert (first["board"], first["origin"], first["rule"], first["statistic"]) == ("dev", "real", "dev", "spearman")
    assert [(row["column"], row["rank"]) for row in first["ranking"]] == [
        ("bleu1", 1), ("x|y", 2), ("length", 3), ("bleu2", None)]
    assert all((row["rank"] is None) == (row["value"] is None) == (row["covered"] < row["targets"])
               for board in whole["boards"] for row in board["ranking"])
    rows = list(csv.DictReader(io.StringIO(site["correlations.csv"].decode())))
    assert len(rows) == len(results.correlations)
    assert sorted(float(row["value"]) for row in rows if row["value"]) == sorted(
        row.value for row in results.correlations if math.isfinite(row.value))
    assert {row["origin"] for row in rows} == {"real"}
    assert {row["note"] for row in rows if not row["value"]} == {"all scores are equal"}


def test_comparisons_with_odd_names_read_back(results: Results) -> None:
    names = ('a,b', 'say "x"', "two\nlines", "plain", "nan", "1;2")
    (row,) = results.comparisons[0]
    rows = [replace(row, better=name, worse=name[::-1], delta=math.nan if name == "nan" else 1 / 3) for name in names]
    written = exports.comparisons(replace(results, comparisons=gathered(rows))).decode()
    read = list(csv.DictReader(io.StringIO(written, newline="")))
    assert {(row["better"], row["worse"], row["delta"]) for row in read} == {
        (row.better, row.worse, "" if row.better == "nan" else "0.333") for row in rows}
    assert {row["holm"] for row in read} == {"0.03"}


def test_wide_characters_keep_columns_aligned() -> None:
    rows = (Cell("茶の会"), Cell("0.1")), (Cell("beta"), Cell("0.25"))
    made = Table("", "T", (Heading("team", "stub"), Heading("value", "number")), (Group(rows),))
    assert terminal.text(made).splitlines()[4:] == ["茶の会      0.1", "beta       0.25"]
    assert terminal.text(replace(made, groups=(Group(((Cell("茶" * 9), Cell("0.1")),)),)), 15).splitlines()[4:] == [
        "茶茶茶…     0.1"]


def rows_of(source: str) -> list[tuple[int, int]]:
    """Return the declared and the actual number of columns of each row; braces must match."""
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


def test_latex_rows_fit_their_columns(results: Results) -> None:
    boards = latex.boards(results)
    assert {"dev-spearman", "test-kendall", "dataset-fed-turn-correlation-spearman"
            } <= set(boards)
    for name, board in boards.items():
        source = latex.write(board, name)
        assert source.count(r"\begin{table}") == source.count(r"\end{table}") > 0
        rows = rows_of(source)
        assert len(rows) > 1, name
        assert all(promised == count <= latex.COLUMNS for promised, count in rows), name


def test_latex_is_escaped() -> None:
    for text, escaped in (("a_b & 50% #1 $x$ {y}", r"a\_b \& 50\% \#1 \$x\$ \{y\}"), ("Ж", "[U+0416]"),
                          ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
                          ("é ň ü −1 –", "é ň ü $-$1 –")):
        assert latex.text(text) == escaped


def test_wide_board_is_split_and_repeats_rank_and_metric() -> None:
    for columns, rows, parts in ((1, 3, 1), (10, 3, 1), (11, 3, 2), (25, 3, 3), (25, 60, 6)):
        headings = (Heading("Rank", "rank"), Heading("Metric", "stub"),
                    *(Heading(f"c{column}", "number") for column in range(columns)))
        lines = tuple((Cell(str(row)), Cell("m"), *(Cell(f"0.{column}") for column in range(columns)))
                      for row in range(rows))
        board = Table("a", "Caption", headings, (Group(lines), Group(lines[:1], "Not ranked")), data="real")
        source = latex.write(board, "b")
        assert source.count(r"\begin{table}") == parts
        assert all(promised == count <= latex.COLUMNS for promised, count in rows_of(source))
        for column in range(columns):
            named = re.findall(rf"(?:^|[ {{])c{column}(?:[ }}]|$)", source, re.MULTILINE)
            assert len(named) == -(-(rows + 1) // latex.ROWS)
        assert (f"Part {parts} of {parts}" in source) == (parts > 1)
        assert len(set(re.findall(r"\\label\{(.+)\}", source))) == parts


def test_terminal_has_boards_then_skips_then_failures(results: Results) -> None:
    failures = Failure("fed-turn", "grade", "boom"), Failure("fed-dial", "grade", "boom")
    lettered = replace(results, failures=failures, ranking=tuple(
        replace(row, letters="ab" if row.rank else "") for row in results.ranking))
    text = summary(lettered)
    places = [text.index(part) for part in (
        "Development datasets: Spearman, averages. Data: 3 datasets", "Test datasets: Spearman",
        "Skipped 3 pairs of metric and dataset: weights are not on this machine (grade on a|b, fed-turn, topical-usr)",
        "Skipped 1 pair of metric and dataset: scores turns | not dialogues (grade on fed-dial)",
        "Failed 2 pairs of metric and dataset: boom (grade on fed-dial, fed-turn)")]
    assert places == sorted(places)
    lines = [line.split() for line in text.splitlines()]
    assert next(line for line in lines if line[1:2] == ["bleu1"])[-2:] == ["ab", "15"], "1.5 seconds for 100 items"
    incomplete = next(line for line in summary(results).splitlines() if line.split()[0:1] == ["bleu2"])
    assert incomplete.split() == ["bleu2", *["–", "4", "of", "5", "targets"] * 2, "–", "–", "15"]


def test_terminal_lines_fit_and_long_models_wrap(mixed: Results) -> None:
    results = replace(mixed, datasets=mixed.datasets[:1], ranking=tuple(
        row for row in mixed.ranking if row.origin == "sample"))
    assert "(bert-base, w2v.txt; another method; fitted on ratings)\n" in summary(results)
    short = tuple(replace(entry, system="", fitted_on="") for entry in results.metrics)
    assert "grade (bert-base, w2v.txt)  " in summary(replace(results, metrics=short))
    long = tuple(replace(entry, models=("m" * 50,)) if entry.name == "grade" else entry for entry in short)
    lines = summary(replace(results, metrics=long)).splitlines()
    (row, *_) = (place for place, line in enumerate(lines) if line.split()[:2] == ["1", "grade"])
    assert lines[row + 1].strip() == f"({'m' * 50})"
    assert lines[row + 1].index("(") == lines[row].index("grade") + 2
    wide = tuple(replace(row, metric="m" * 90, column="c" * 90) if row.metric == "length" else row
                 for row in results.ranking)
    hostile = (Skip("d\x1b[2J", "m\r\nx", "why\x07\u202e"),)
    for entry in (results, replace(results, ranking=wide, skips=hostile)):
        text = summary(entry)
        assert max(map(len, text.splitlines())) <= 110
        assert all(sign.isprintable() or sign == "\n" for sign in text), "nothing steers the terminal"
