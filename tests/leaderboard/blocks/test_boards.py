"""Tables of boards before rendering, and exhibits."""

import math
from dataclasses import replace

import pytest

from harness.results.rows import Correlation, Results
from leaderboard.blocks.boards import UNRANKED, dataset_board, overall_board
from leaderboard.blocks.cells import correlation_cell, leaders, number, shade
from leaderboard.blocks.tables import Prose, Table
from leaderboard.model.boards import overall_boards
from leaderboard.model.index import make_index
from leaderboard.pages import exhibits
from tests.leaderboard.conftest import EMPTY, SCRIPT, quality, row
from tests.leaderboard.large import exhibit


def of_dataset(results: Results, name: str) -> Table:
    index = make_index(results)
    return dataset_board(index, next(entry for entry in index.datasets if entry.name == name), "spearman")


def names(drawn: Table, group: str = "") -> list[str]:
    return [cells[1].text for cells in drawn.groups[group]]


def test_overall_board_has_both_averages_and_unranked_rows(results: Results) -> None:
    """dev: ((0.1 + 0.3) / 2 + (0.2 + 0.4) / 2 + 0.5) / 3 = 1 / 3; test: 1.5 / 5."""
    index = make_index(results)
    drawn = overall_board(index, overall_boards(results)["dev"][0])
    cells = row(drawn, "bleu1")
    assert (cells["Rank"].text, cells["Mean of datasets"].text) == ("1", "0.333")
    assert (cells["Mean of qualities"].text, cells["Mean of qualities"].small) == ("0.300", "rank 1")
    assert [cells[name].text for name in ("fed-dial", "fed-turn", "topical-usr")] == ["0.500", "0.200", "0.300"]
    assert names(drawn, UNRANKED) == ["bleu2"]
    cells = row(drawn, "bleu2")
    assert (cells["Rank"].text, cells["Mean of datasets"].text) == ("", "–")
    assert cells["Mean of datasets"].small == "4 of 5 targets"
    assert (cells["fed-turn"].text, cells["topical-usr"].text) == ("–", "0.400")
    by_test = overall_board(index, overall_boards(results)["test"][0])
    assert [heading.text for heading in by_test.headings][2] == "Mean of qualities"
    assert names(by_test) == ["length", f"{SCRIPT} / x|y", "bleu1", "bleu2"]


def test_equal_means_share_a_rank_and_unrated_qualities_do_not_count(results: Results) -> None:
    unrated = tuple(replace(entry, qualities=(*entry.qualities, quality("Unrated", rated=0)))
                    for entry in results.datasets)
    drawn = of_dataset(replace(results, datasets=unrated), "fed-dial")
    assert names(drawn)[:2] == ["bleu1:max", "bleu1"]
    assert row(drawn, "bleu1")["Mean"].text == "0.500"
    equal = tuple(replace(entry, value=0.25) if entry.metric != "grade" else entry for entry in results.correlations)
    drawn = of_dataset(replace(results, correlations=equal), "fed-turn")
    assert [cells[0].text for cells in drawn.groups[""]] == ["1", "1", "1", "1"]


def test_number_format_shade_and_leaders() -> None:
    for value, text in ((0.1234, "0.123"), (0.9996, "1.000"), (-0.5, "−0.500"), (-0.0001, "0.000"), (math.nan, "–"),
                        (math.inf, "–")):
        assert number(value) == text
    for value, name in ((0.049, "z"), (0.05, "p1"), (-0.05, "n1"), (0.2, "p2"), (-0.31, "n3"), (1.0, "p5"),
                        (-1.0, "n5")):
        assert shade(value) == name
    for values, best, second in (((0.3, 0.1, 0.2), 0.3, 0.2), ((0.3, 0.3, 0.2), 0.3, 0.2),
                                 ((0.3001, 0.2999, 0.1), 0.3, 0.1), ((math.nan, 0.1), 0.1, math.nan),
                                 ((), math.nan, math.nan)):
        assert leaders(values) == pytest.approx((best, second), nan_ok=True)


def test_correlation_cell_has_marks_interval_and_tooltip() -> None:
    for p, marks, words in ((0.05, ("best", "weak"), ", p = 0.050"), (0.0499, ("best",), ", p = 0.050"),
                            (0.0001, ("best",), ", p < 0.001"), (math.nan, ("best",), "")):
        cell = correlation_cell(Correlation("d", "q", "m", "c", "spearman", 80, 0.2, p, -0.1, 0.4), (0.2, 0.1))
        assert (cell.text, cell.marks, cell.small) == ("0.200", marks, "−0.10 to 0.40")
        assert cell.title == f"n = 80{words}, 95 % interval −0.100 to 0.400"


def test_exhibit_has_sortable_and_coloured_tables() -> None:
    table, correlations, remarks, repeat = exhibits.sections(exhibit(), make_index(EMPTY))
    (shown,), (coloured,) = table.blocks, correlations.blocks
    assert isinstance(shown, Table)
    assert isinstance(coloured, Table)
    assert [[(cell.text, cell.shade) for cell in row] for row in coloured.rows] == [
        [("a", ""), ("1.00", "p5"), ("–", "")], [("b<", ""), ("−0.50", "n4"), ("1.00", "p5")]]
    assert [heading.kind for heading in shown.headings] == ["stub", "number", "text"]
    assert (remarks.blocks, repeat.blocks) == ((Prose("A remark."),), (Prose("harness study dimensions", code=True),))


def test_studies_and_challenge_have_pages_without_the_sample(mixed: Results) -> None:
    simulated = tuple(entry for entry in mixed.datasets if entry.origin == "sample")
    on_sample = ("the bundled sample (made by a script, simulated raters)",
                 "the bundled sample, datasets with references", "Persona-See, sample, 40 items")
    studies = [exhibit(f"s{number}", data=data) for number, data in enumerate(on_sample)]
    full = replace(mixed, datasets=simulated, exhibits=(
        exhibit("b/../<x>"), exhibit("empty", data=""), *studies, exhibit("dstc10", "challenge")))
    page, first, *others = exhibits.build(full)
    assert first.path.startswith("study/b-x.")
    assert (page.path, page.group, {study.group for study in others}) == ("challenge.html", "", {"Studies"})
    assert [study.path for study in others] == [f"study/{name}.html" for name in ("empty", "s0", "s1", "s2")]
    assert [page.path for page in exhibits.build(replace(full, datasets=mixed.datasets))] == [
        page.path, first.path, "study/empty.html"]
