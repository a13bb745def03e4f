"""Results as LaTeX, CSV, JSON and terminal text, also with hostile names."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from harness.results.rows import Comparisons, Failure, Results, Skip
from leaderboard.blocks.tables import Cell, Heading, Table, numeric
from leaderboard.render import latex
from leaderboard.render import rows as exports
from leaderboard.render.text import summary, text
from leaderboard.site import site as draw
from tests.leaderboard.conftest import altered, read_csv


def test_json_and_csv_have_every_row_in_full_precision(results: Results, site: dict[str, bytes]) -> None:
    whole = json.loads(site["leaderboard.json"])
    boards = whole["boards"]
    assert whole["schema"] == exports.VERSION
    assert len(whole["correlations"]) == len(results.correlations)
    assert sum(len(board["ranking"]) for board in boards) == len(results.ranking)
    assert [boards[0][name] for name in exports.BOARD] == ["dev", "real", "dev", "spearman"]
    assert [(row["column"], row["rank"]) for row in boards[0]["ranking"]] == [
        ("bleu1", 1), ("x|y", 2), ("length", 3), ("bleu2", None)]
    assert all((row["rank"] is None) == (row["value"] is None) == (row["covered"] < row["targets"])
               for board in boards for row in board["ranking"])
    rows = read_csv(site["correlations.csv"])
    assert len(rows) == len(results.correlations)
    assert sorted(float(row["value"]) for row in rows if row["value"]) == sorted(
        row.value for row in results.correlations if math.isfinite(row.value))
    assert {row["origin"] for row in rows} == {"real"}
    assert {row["note"] for row in rows if not row["value"]} == {"all scores are equal"}


def test_comparisons_with_odd_names_read_back(results: Results) -> None:
    names = ('a,b', 'say "x"', "two\nlines", "plain", "nan", "1;2")
    numbers = {name: np.full(len(names), 0.03) for name in Comparisons.NUMBERS}
    numbers["delta"] = np.array([math.nan if name == "nan" else 1 / 3 for name in names])
    rows = replace(results.comparisons[0], names=(*names, *(name[::-1] for name in names)), better=np.arange(6),
                   worse=np.arange(6, 12), **numbers)
    written = exports.comparisons(replace(results, comparisons=(rows,)))
    assert {(row["better"], row["worse"], row["delta"], row["holm"]) for row in read_csv(written)} == {
        (name, name[::-1], "" if name == "nan" else "0.333", "0.03") for name in names}


def test_wide_characters_and_columns_keep_to_the_terminal() -> None:
    def lines(width: int, *rows: tuple[str, str]) -> list[str]:
        cells = tuple((Cell(name), Cell(value)) for name, value in rows)
        return text(Table.of("", "T", (Heading("team", "stub"), Heading("value", "number")), cells),
                    width).splitlines()[4:]

    assert lines(110, ("茶の会", "0.1"), ("beta", "0.25")) == ["茶の会    0.1", "beta     0.25"]
    assert lines(31, ("茶" * 13, "0.1")) == [f"{'茶' * 11}…     0.1"]
    wide = Table.of("", "T", (Heading("team", "stub"), *numeric("first", "second")),
                    [(Cell("t" * 28), Cell("1"), Cell("2"))])
    assert text(wide, 32).splitlines()[2:] == [
        "team                      first", "    second", "-" * 31, f"{'t' * 12}…{'t' * 11}      1", "         2"]


def rows_of(source: str) -> Iterator[tuple[int, int]]:
    """Yield the declared and the actual number of columns of each row; braces must match."""
    depth = 0
    for sign in re.findall(r"\\.|[{}]", source):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    for columns, body in re.findall(r"\\begin\{tabular\}\{([lr]+)\}(.*?)\\end\{tabular\}", source, re.DOTALL):
        for line in re.findall(r"^(.*) \\\\$", body, re.MULTILINE):
            spans = sum(int(number) - 1 for number in re.findall(r"\\multicolumn\{(\d+)\}", line))
            yield len(columns), len(re.findall(r"(?<!\\)&", line)) + 1 + spans


def test_latex_rows_fit_their_columns(results: Results) -> None:
    boards = latex.boards(results)
    assert {"dev-spearman", "test-kendall", "dataset-fed-turn-correlation-spearman"} <= set(boards)
    for name, board in boards.items():
        source = latex.write(board, name)
        assert source.count(r"\begin{table}") == source.count(r"\end{table}") > 0
        rows = list(rows_of(source))
        assert len(rows) > 1, name
        assert all(promised == count <= latex.MAX_COLUMNS for promised, count in rows), name


def test_latex_is_escaped() -> None:
    for plain, escaped in (("a_b & 50% #1 $x$ {y}", r"a\_b \& 50\% \#1 \$x\$ \{y\}"), ("Ж", "[U+0416]"),
                           ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
                           ("é ň ü −1 –", "é ň ü $-$1 –")):
        assert latex.text(plain) == escaped


def test_wide_board_is_split_and_repeats_rank_and_metric() -> None:
    for columns, rows, parts in ((1, 3, 1), (10, 3, 1), (11, 3, 2), (25, 3, 3), (25, 60, 6)):
        names = [f"c{column}" for column in range(columns)]
        headings = (Heading("Rank", "rank"), Heading("Metric", "stub"), *(Heading(name, "number") for name in names))
        line = (Cell("1"), Cell("m"), *(Cell("0.1") for _ in names))
        board = Table("a", "Caption", headings, {"": (line,) * rows, "Not ranked": (line,)}, data="real")
        source = latex.write(board, "b")
        assert source.count(r"\begin{table}") == parts
        assert all(promised == count <= latex.MAX_COLUMNS for promised, count in rows_of(source))
        for name in names:
            headed = re.findall(rf"(?:^|[ {{]){name}(?:[ }}]|$)", source, re.MULTILINE)
            assert len(headed) == -(-(rows + 1) // latex.MAX_ROWS)
        assert (f"Part {parts} of {parts}" in source) == (parts > 1)
        assert len(set(re.findall(r"\\label\{(.+)\}", source))) == parts


def test_terminal_has_boards_then_skips_then_failures(results: Results) -> None:
    failures = Failure("fed-turn", "grade", "boom"), Failure("fed-dial", "grade", "boom")
    printed = summary(replace(results, failures=failures, ranking=tuple(
        replace(row, letters="ab" if row.rank else "") for row in results.ranking)))
    positions = [printed.index(part) for part in (
        "Development datasets: ", "Test datasets: ",
        "weights are not on this machine (grade on a|b, fed-turn, topical-usr)",
        "scores turns | not dialogues (grade on fed-dial)", "boom (grade on fed-dial, fed-turn)")]
    assert positions == sorted(positions)
    complete = next(line.split() for line in printed.splitlines() if line.split()[1:2] == ["bleu1"])
    incomplete = next(line.split() for line in summary(results).splitlines() if line.split()[0:1] == ["bleu2"])
    assert complete[-2:] == ["ab", "15"], "1.5 seconds for 100 items"
    assert incomplete == ["bleu2", *["–", "4", "of", "5", "targets"] * 2, "–", "–", "15"]


def test_terminal_lines_fit_and_long_models_wrap(mixed: Results) -> None:
    results = replace(mixed, datasets=mixed.datasets[:1], ranking=tuple(
        row for row in mixed.ranking if row.origin == "sample"))
    assert "(bert-base, w2v.txt; another method; fitted on ratings)\n" in summary(results)
    short = altered(results, "grade", system="", fitted_on="")
    assert "grade (bert-base, w2v.txt)  " in summary(short)
    lines = summary(altered(short, "grade", models=("m" * 50,))).splitlines()
    row = next(number for number, line in enumerate(lines) if line.split()[:2] == ["1", "grade"])
    assert lines[row + 1] == " " * (lines[row].index("grade") + 2) + f"({'m' * 50})"
    wide = tuple(replace(row, metric="m" * 90, column="c" * 90) if row.metric == "length" else row
                 for row in results.ranking)
    for entry in (results, replace(results, ranking=wide, skips=(Skip("d\x1b[2J", "m\r\nx", "why\x07\u202e"),))):
        lines = summary(entry).split("\n")
        assert max(map(len, lines)) <= 110
        assert all(map(str.isprintable, lines)), "no text controls the terminal"


def test_warnings_about_ratings_are_printed_and_on_the_page(results: Results) -> None:
    entry = next(entry for entry in results.datasets if entry.name == "topical-usr")
    qualities = tuple(replace(quality, warning="91 % of the votes are 1") for quality in entry.qualities)
    made = altered(results, "topical-usr", qualities=qualities)
    assert "topical-usr, Maintains Context: 91 %" in summary(made)
    page = draw(made)["dataset/topical-usr.html"]
    assert b"<dt>Warning</dt><dd>Overall quality: 91 % of the votes are 1</dd>" in page
