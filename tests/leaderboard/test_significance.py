"""The pages of the pairwise tests: matrices and counts that can be checked in the head, hostile names, sizes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.results.rows import (
    Comparison,
    Correlation,
    DatasetEntry,
    MetricEntry,
    QualityEntry,
    RankingRow,
    Results,
    Run,
)
from harness.statistics import significance as statistics
from leaderboard.blocks.matrix import Matrix, letters, matrices, names
from leaderboard.blocks.pictures import matrix as picture
from leaderboard.blocks.tables import Page, Picture, Prose, Table
from leaderboard.model.duels import WILLIAMS
from leaderboard.model.index import make_index
from leaderboard.pages import significance
from leaderboard.render import html as render

HOSTILE = "<script>x</script>"
VALUES = {"a": 0.5, "b": 0.4, HOSTILE: 0.3, "d": 0.1}
HOLM = {("a", HOSTILE): (0.04, 0.03), ("a", "d"): (0.001, 0.001), ("b", "d"): (0.2, 0.04), (HOSTILE, "d"): (0.6, 0.5),
        ("a", "b"): (0.9, 0.8), ("b", HOSTILE): (0.9, 0.8)}
"""By the pair, p as adjusted by Holm and by Benjamini and Hochberg."""


def made(*, contexts: int = 100, permutations: int = 0, qualities: int = 1, values: dict[str, float] = VALUES,
         pairs: dict[tuple[str, str], tuple[float, float]] = HOLM, learned: str = "") -> Results:
    """A report of one real dataset on which every column is a metric of its own."""
    asked = tuple(QualityEntry(f"quality {number}", "overall", 1.0, 5.0, 100) for number in range(qualities))
    tests = ("williams", "perm-both") if permutations else ("williams",)
    metrics = tuple(MetricEntry(name, name, "lexical", (name,), (), ("turn",), "", "item", "", name,
                                learned_on=("chat",) if name == learned else ()) for name in values)
    return Results(
        run=Run("0", None, 0, "cpu", {"permutations": permutations}, "3.11", "Linux", {}),
        datasets=(DatasetEntry("chat", "Chat", "dev", "turn", "imported", "0" * 64, 100, 300, asked, "", "",
                               contexts=contexts),),
        metrics=metrics,
        correlations=tuple(Correlation("chat", quality.name, name, name, statistic, 100, value, 0.01, value, value)
                         for quality in asked for name, value in values.items()
                         for statistic in ("spearman", "pearson")),
        ranking=tuple(RankingRow("dev", "real", "dev", "spearman", name, name, value, rank, qualities, qualities)
                        for rank, (name, value) in enumerate(values.items(), start=1)),
        comparisons=tuple(Comparison("chat", quality.name, statistic, test, one, other, 99, 0.1, 1.0, 0.01, *adjusted)
                       for quality in asked for statistic in ("spearman", "pearson") for test in tests
                       for (one, other), adjusted in pairs.items()))


def matrix(results: Results) -> Matrix:
    return matrices(make_index(results))["chat", "quality 0"][WILLIAMS]


def pages(results: Results) -> dict[str, Page]:
    return {page.path: page for page in significance.build(results)}


def table(page: Page, anchor: str) -> list[list[str]]:
    (found,) = [block for section in page.sections for block in section.blocks
                if isinstance(block, Table) and block.anchor == anchor]
    return [[cell.text for cell in row] for row in found.rows]


def prose(page: Page) -> str:
    return " ".join(block.text for section in page.sections for block in section.blocks if isinstance(block, Prose))


def test_a_matrix_has_the_highest_correlation_first_and_both_adjustments() -> None:
    found = matrix(made())
    assert [key[0] for key in found.keys] == ["a", "b", HOSTILE, "d"]
    assert found.ahead.tolist() == [[0, 0, 2, 2], [0, 0, 0, 1], [-2, 0, 0, 0], [-2, -1, 0, 0]]
    assert (found.sure, found.likely, found.pairs, found.least, found.most) == (2, 1, 6, 99, 99)
    assert (found.beats(), found.beaten()) == ([2, 0, 0, 0], [0, 0, 1, 1])
    assert [found.match(row) for row in range(4)] == [0, 0, 1, 1]
    assert found.letters() == ("a", "ab", "b", "b")


def test_a_column_is_found_under_the_name_that_comparisons_give_it() -> None:
    assert names([("m", "x"), ("n", "x"), ("m", "y")]) == {"m/x": ("m", "x"), "n/x": ("n", "x"), "y": ("m", "y")}


def test_comparisons_of_columns_without_a_value_are_left_out() -> None:
    results = made()
    rows = tuple(replace(row, value=math.nan) if row.metric == "a" else row for row in results.correlations)
    assert [key[0] for key in matrix(replace(results, correlations=rows)).keys] == ["b", HOSTILE, "d"]


@given(st.integers(1, 9).flatmap(lambda count: st.tuples(
    st.just(count), st.sets(st.sampled_from(list(itertools.product(range(count), repeat=2)))))))
def test_letters_are_those_of_the_terminal(drawn: tuple[int, set[tuple[int, int]]]) -> None:
    count, pairs = drawn
    better = np.zeros((count, count), dtype=bool)
    for one, other in pairs:
        if one < other:
            better[one, other] = True
    apart = [[int(other) for other in np.flatnonzero(row)] for row in better | better.T]
    assert letters(apart) == statistics.letters(-np.arange(float(count)), better)


def test_the_table_counts_who_beats_whom() -> None:
    rows = table(pages(made())["significance/chat.html"], "table-quality-0")
    assert rows == [
        ["1", "a", "0.500", "2", "0", "1", "a", "itself"],
        ["2", "b", "0.400", "0", "0", "3", "ab", "a"],
        ["3", HOSTILE, "0.300", "0", "1", "2", "b", "b"],
        ["4", "d", "0.100", "0", "1", "2", "b", "b"]]


def test_what_the_permutations_find_stands_beside() -> None:
    page = pages(made(permutations=20000))["significance/chat.html"]
    assert table(page, "table-quality-0")[0] == ["1", "a", "0.500", "2", "0", "1", "2", "0", "a", "itself"]
    assert sum(isinstance(block, Picture) for block in page.sections[1].blocks) == 4


def test_too_few_permutations_are_said() -> None:
    assert "too few" in prose(pages(made(permutations=100))["significance/chat.html"])
    assert "too few" not in prose(pages(made(permutations=20000))["significance/chat.html"])


def test_shared_contexts_are_said_where_they_are() -> None:
    assert "100 items share 20 contexts" in prose(pages(made(contexts=20))["significance/chat.html"])
    assert "share" not in prose(pages(made(contexts=99))["significance/chat.html"])
    assert table(pages(made(contexts=20))["significance.html"], "contexts-real") == [["chat", "100", "20", "5.0"]]


def test_a_column_with_weights_learned_there_is_marked() -> None:
    page = pages(made(learned="b"))["significance/chat.html"]
    assert table(page, "table-quality-0")[1][1] == "b †"


def test_the_overview_counts_wins_and_losses_over_the_qualities() -> None:
    page = pages(made(qualities=3))["significance.html"]
    assert table(page, "duels-dev-real") == [
        ["1", "a", "6–0", "·", "0–0", "3–0", "3–0"], ["2", "b", "0–0", "0–0", "·", "0–0", "0–0"],
        ["3", HOSTILE, "0–3", "0–3", "0–0", "·", "0–0"], ["4", "d", "0–3", "0–3", "0–0", "0–0", "·"]]
    assert table(page, "told-apart-real")[0] == ["chat", "quality 0", "99", "4", "6", "33 %", "a", "0.500", "1"]


def test_the_picture_draws_each_class_once_a_row_and_says_what_it_shows() -> None:
    found = matrix(made())
    svg = picture.matrix([key[0] for key in found.keys], ["told"] * 4, found.ahead, f"of {HOSTILE}")
    root = ET.fromstring(svg)  # noqa: S314
    assert root.get("aria-label") == f"of {HOSTILE}"
    first, *_, last = [group.findall("g/path") for group in root.findall("g")[1:-1]]
    assert [(path.get("class"), path.get("d")) for path in first] == [("w2", "M2 .5h2")]
    assert [path.get("class") for path in last] == ["l1", "l2"]
    assert "style=" not in svg


def test_a_page_says_in_words_what_its_pictures_show() -> None:
    page = pages(made())["significance/chat.html"]
    shown = [block for block in page.sections[1].blocks if isinstance(block, Picture)]
    assert shown[0].text == (
        "Spearman, Williams’ test: of 6 pairs 2 are told apart by Holm, 1 more by Benjamini-Hochberg; 99 items. "
        "Not beaten by the best, a: b.")
    assert all(ET.fromstring(one.svg).get("aria-label") for one in shown)  # noqa: S314


def test_hostile_names_are_escaped_and_a_run_without_comparisons_has_no_page() -> None:
    page = pages(made())["significance/chat.html"]
    text = render.html(page, (), (page,), (), ()).decode()
    assert HOSTILE not in text
    assert HOSTILE in unescape(text)
    assert significance.build(replace(made(), comparisons=())) == ()


def test_a_page_has_room_for_eighty_columns_on_eight_qualities_whatever_their_order() -> None:
    values = {f"a-rather-long-metric-name-{number}": 0.8 - number / 100 for number in range(80)}
    rng = np.random.default_rng(0)
    pairs = {pair: (float(p), float(p / 2)) for pair, p in zip(
        itertools.combinations(values, 2), rng.uniform(0, 0.12, size=80 * 79 // 2), strict=True)}
    results = made(values=values, pairs=pairs, qualities=2)
    shuffled = replace(results, comparisons=results.comparisons[::-1], correlations=results.correlations[::-1])
    page = pages(shuffled)["significance/chat.html"]
    content = render.html(page, (), (page,), (), ())
    assert 4 * len(content) < 2_000_000
    assert content == render.html(pages(results)["significance/chat.html"], (), (page,), (), ())


def test_what_would_make_a_page_too_large_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "LARGEST", 20)
    page = pages(made())["significance/chat.html"]
    assert sum(isinstance(block, Picture) for block in page.sections[1].blocks) == 1
    assert "too large: Pearson, Williams’ test." in prose(page)
