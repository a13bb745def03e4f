"""The pages of the pairwise tests: matrices and counts that can be checked in the head, hostile names, sizes."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from html import unescape
from xml.etree import ElementTree as ET

from harness.results import rows
from harness.results.rows import Comparison, Comparisons, Correlation, Results
from leaderboard.blocks.tables import Page, Picture, Prose
from leaderboard.model.pairs import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE, Matrix, Score, make_pairs
from leaderboard.pages import significance
from leaderboard.render import html
from tests.leaderboard import conftest

HOSTILE = "<script>x</script>"
VALUES = {"a": 0.5, "b": 0.4, HOSTILE: 0.3, "d": 0.1}
HOLM = {("a", HOSTILE): (0.04, 0.03), ("a", "d"): (0.001, 0.001), ("b", "d"): (0.2, 0.04), (HOSTILE, "d"): (0.6, 0.5),
        ("a", "b"): (0.9, 0.8), ("b", HOSTILE): (0.9, 0.8)}
"""By the pair, p as adjusted by Holm and by Benjamini and Hochberg."""
RUN = rows.Run("0", None, 0, "cpu", {}, "3.11", "Linux", {})
CELL = ("fed-turn", "Overall")


def made(*, contexts: int = 100, permutations: int = 0, qualities: int = 1) -> Results:
    """A report of one real dataset on which every column is a metric of its own."""
    rated = tuple(rows.QualityEntry(f"quality {number}", "overall", 1.0, 5.0, 100) for number in range(qualities))
    tests = ("williams", "perm-both") if permutations else ("williams",)
    both = list(itertools.product(rated, ("spearman", "pearson")))
    return Results(
        run=replace(RUN, options={"permutations": permutations}),
        datasets=(rows.DatasetEntry("chat", "Chat", "dev", "turn", "imported", "0" * 64, 100, 300, rated, "", "",
                                    contexts=contexts),),
        metrics=tuple(rows.MetricEntry(name, name, "lexical", (name,), (), ("turn",), "", "item", "", name)
                      for name in VALUES),
        correlations=tuple(Correlation("chat", quality.name, name, name, statistic, 100, value, 0.01, value, value)
                           for quality, statistic in both for name, value in VALUES.items()),
        ranking=tuple(rows.RankingRow("dev", "real", "dev", "spearman", name, name, value, rank, qualities, qualities)
                      for rank, (name, value) in enumerate(VALUES.items(), start=1)),
        comparisons=Comparisons.gathered(
            Comparison("chat", quality.name, statistic, test, one, other, 99, 0.1, 1.0, 0.01, *adjusted)
            for quality, statistic in both for test in tests for (one, other), adjusted in HOLM.items()))


def matrix(results: Results) -> Matrix:
    found = make_pairs(results).matrix(("chat", "quality 0"))
    assert found is not None
    return found


def page_of(results: Results, path: str = "significance/chat.html") -> Page:
    return next(page for page in significance.build(results) if page.path == path)


def table(page: Page, anchor: str) -> list[list[str]]:
    return [[cell.text for cell in row] for row in conftest.table(page, anchor).rows]


def test_a_matrix_has_the_highest_correlation_first_and_both_adjustments() -> None:
    found = matrix(made())
    assert [key[0] for key in found.columns] == ["a", "b", HOSTILE, "d"]
    assert found.levels.tolist() == [[0, 0, 2, 2], [0, 0, 0, 1], [-2, 0, 0, 0], [-2, -1, 0, 0]]
    assert (found.by_holm, found.by_benjamini_hochberg, found.pairs) == (2, 1, 6)
    assert (found.least_items, found.most_items) == (99, 99)
    assert (found.wins(), found.losses()) == ([2, 0, 0, 0], [0, 0, 1, 1])
    assert [found.best_match(row) for row in range(4)] == [0, 0, 1, 1]
    assert found.letters() == ("a", "ab", "b", "b")
    lacking = tuple(replace(row, value=math.nan) if row.metric == "a" else row for row in made().correlations)
    assert [key[0] for key in matrix(replace(made(), correlations=lacking)).columns] == ["b", HOSTILE, "d"]


def compared(*tests: tuple[str, str, float]) -> Results:
    """Results of three columns, one of which two metrics share, on one target."""
    keys = (("a", "x"), ("b", "x"), ("c", "z"))
    correlations = tuple(Correlation(*CELL, *key, "spearman", 9, 0.1, 0.1, 0.0, 0.2) for key in keys)
    comparisons = Comparisons.gathered(
        Comparison(*CELL, "spearman", "williams", better, worse, 9, 0.1, 1.0, holm, holm, holm)
        for better, worse, holm in tests)
    return Results(RUN, (), (), correlations, (), comparisons=comparisons)


def test_wins_and_losses_are_counted_under_the_names_that_comparisons_use() -> None:
    found = make_pairs(compared(("a/x", "b/x", 0.01), ("z", "a/x", 0.2), ("z", "nobody", 0.01)))
    for first, second, score in ((("a", "x"), ("b", "x"), Score(1, 0, 1)), (("b", "x"), ("a", "x"), Score(0, 1, 1)),
                                 (("c", "z"), ("a", "x"), Score(0, 0, 1)), (("c", "z"), ("b", "x"), Score(0, 0, 0))):
        assert found.score([CELL], first, second) == score


def test_packed_comparisons_are_read_back_pair_by_pair() -> None:
    found = make_pairs(compared(("a/x", "b/x", 0.01), ("z", "a/x", 0.2), ("z", "b/x", 0.03)))
    packed = found.packed("spearman", [("other", "target"), CELL], [("a", "x"), ("b", "x"), ("c", "z"), ("d", "new")])
    codes = [packed[place // 4] >> 2 * (place % 4) & 3 for place in range(12)]
    assert codes[:6] == [NOT_TESTED] * 6
    assert dict(zip(itertools.combinations("abcd", 2), codes[6:], strict=True)) == {
        ("a", "b"): BETTER, ("a", "c"): NO_DIFFERENCE, ("a", "d"): NOT_TESTED,
        ("b", "c"): WORSE, ("b", "d"): NOT_TESTED, ("c", "d"): NOT_TESTED}


def test_the_table_counts_who_beats_whom_and_what_the_permutations_find_beside() -> None:
    assert table(page_of(made()), "table-quality-0") == [
        ["1", "a", "0.500", "2", "0", "1", "a", "itself"],
        ["2", "b", "0.400", "0", "0", "3", "ab", "a"],
        ["3", HOSTILE, "0.300", "0", "1", "2", "b", "b"],
        ["4", "d", "0.100", "0", "1", "2", "b", "b"]]
    page = page_of(made(permutations=20000))
    assert table(page, "table-quality-0")[0] == ["1", "a", "0.500", "2", "0", "1", "2", "0", "a", "itself"]
    assert sum(isinstance(block, Picture) for block in page.sections[1].blocks) == 4


def test_too_few_permutations_and_shared_contexts_are_said_where_they_are() -> None:
    for results, words, said in (
            (made(permutations=100), "too few", True), (made(permutations=20000), "too few", False),
            (made(contexts=20), "100 items share 20 contexts", True), (made(contexts=99), "share", False)):
        prose = " ".join(block.text for section in page_of(results).sections for block in section.blocks
                         if isinstance(block, Prose))
        assert (words in prose) == said
    assert table(page_of(made(contexts=20), "significance.html"), "contexts-real") == [["chat", "100", "20", "5.0"]]


def test_the_overview_counts_wins_and_losses_over_the_qualities() -> None:
    page = page_of(made(qualities=3), "significance.html")
    assert table(page, "wins-dev-real") == [
        ["1", "a", "6–0", "·", "0–0", "3–0", "3–0"], ["2", "b", "0–0", "0–0", "·", "0–0", "0–0"],
        ["3", HOSTILE, "0–3", "0–3", "0–0", "·", "0–0"], ["4", "d", "0–3", "0–3", "0–0", "0–0", "·"]]
    assert table(page, "significant-real")[0] == ["chat", "quality 0", "99", "4", "6", "33 %", "a", "0.500", "1"]


def test_a_page_says_in_words_what_its_pictures_show_and_escapes_names() -> None:
    page = page_of(made())
    shown = [block for block in page.sections[1].blocks if isinstance(block, Picture)]
    assert shown[0].text == (
        "Spearman, Williams’ test: of 6 pairs 2 differ significantly by Holm, 1 more by Benjamini-Hochberg; 99 items. "
        "Not beaten by the best, a: b.")
    assert all(ET.fromstring(one.svg).get("aria-label") for one in shown)  # noqa: S314
    text = html.html(page, (), (page,), (), ()).decode()
    assert (HOSTILE in text, HOSTILE in unescape(text)) == (False, True)
    assert significance.build(replace(made(), comparisons=())) == ()
