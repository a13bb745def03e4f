"""The front page: answers, boards, the numbers for its scripts, costs, and the menu."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from importlib import resources
from itertools import combinations
from typing import Any

import pytest

from harness.results.rows import Comparison, Results, Timing
from leaderboard.blocks.boards import cost_cell
from leaderboard.model import pairs
from leaderboard.model.cost import Cost, costs
from leaderboard.pages import front
from leaderboard.site import builders, lists, menu
from tests.leaderboard.conftest import row, table


def numbers(page: bytes) -> Any:
    """Read what a page gives its scripts."""
    found = re.search(r'<script type="application/json" id="numbers">(.*)</script>', page.decode())
    assert found is not None
    return json.loads(found[1])


def ranked(given: Any, name: str, rule: str) -> dict[tuple[str, str], int]:
    """Rank the rows of a board from what the scripts are given, as ranking.js does."""
    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    board, found = given["boards"][name], {}
    for place, column in enumerate(given["columns"]):
        values = [given["values"]["spearman"][place][cell] for cell in board["targets"]]
        if None not in values:
            datasets: dict[int, list[float]] = {}
            for cell, value in zip(board["targets"], values, strict=True):
                datasets.setdefault(given["targets"][cell][0], []).append(value)
            found[column["metric"], column["column"]] = mean(
                values if rule == "test" else [mean(own) for own in datasets.values()])
    return {key: 1 + sum(other > value + 1e-6 for other in found.values()) for key, value in found.items()}


def test_the_scripts_can_rank_what_the_report_ranked(results: Results, site: dict[str, bytes]) -> None:
    given = numbers(site["index.html"])
    assert set(given["boards"]) == {"dev-real", "dev-sample", "test-real", "test-sample"}
    for name, board in given["boards"].items():
        split, _, origin = name.rpartition("-")
        assert board["rule"] == split
        for rule in ("dev", "test"):
            assert ranked(given, name, rule) == {
                (row.metric, row.column): row.rank for row in results.ranking
                if (row.board, row.origin, row.rule, row.statistic) == (split, origin, rule, "spearman") and row.rank}


def test_a_board_whose_targets_are_not_those_of_its_ranks_is_left_as_it_is(results: Results) -> None:
    more = tuple(replace(row, targets=row.targets + 1, covered=row.covered + 1) if row.board == "dev" else row
                 for row in results.ranking)
    (page,) = front.build(replace(results, ranking=more))
    assert set(json.loads(page.data)["boards"]) == {"test-real", "test-sample"}
    assert table(page, "dev-real-spearman").board == ""


def test_rank_intervals_and_letters_go_with_their_rule(results: Results) -> None:
    known = tuple(replace(row, low=1.0, high=2.0, letters="ab") if (row.rule, row.statistic) == ("dev", "spearman")
                  and row.rank and row.board == "dev" and row.origin == "real" else row for row in results.ranking)
    (page,) = front.build(replace(results, ranking=known))
    given = json.loads(page.data)
    assert set(given["boards"]["dev-real"]["ranks"]) == {"dev"}
    assert [1, 2, "ab"] in given["boards"]["dev-real"]["ranks"]["dev"]
    found = table(page, "dev-real-spearman")
    place = [heading.text for heading in found.headings].index("Group")
    assert {row[place].text for row in found.groups[0].rows} == {"ab"}


def test_scripts_write_no_markup_and_ask_for_nothing() -> None:
    folder = resources.files("leaderboard") / "static"
    scripts = [entry.read_text() for entry in folder.iterdir() if entry.name.endswith(".js")]
    assert len(scripts) == 7
    for script in scripts:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|fetch\(|"
                             r"XMLHttp|import |https?://|\.style\b", script)


def test_the_short_answer_names_the_best_the_next_and_people(results: Results) -> None:
    (page,) = front.build(results)
    found = row(table(page, "answers"), "overall")
    assert (found["Best metric"].text, found["Mean ρ"].text) == ("bleu1", "0.362")
    assert found["Next"].text == "<script>alert('x')</script> / x|y"
    assert (found["People"].text, found["People"].small) == ("0.512", "1 of 4 qualities")
    assert found["Needs"].text == "references"
    assert row(table(page, "answers"), "Development datasets")["Best metric"].text == "bleu1"
    assert table(page, "answers-single").folded.endswith(": 3")


def test_an_answer_says_on_how_many_targets_the_difference_is_significant(results: Results) -> None:
    pairs = [("bleu1", "x|y", 0.01), ("bleu1", "x|y", 0.2), ("x|y", "bleu1", 0.001)]
    comparisons = tuple(Comparison(
                             name, "Overall" if name != "topical-usr" else "Overall quality", "spearman", "williams",
                             better, worse, 90, 0.1, 2.0, holm, holm, holm)
                     for name, (better, worse, holm) in zip(("fed-turn", "topical-usr", "a|b"), pairs, strict=True))
    (page,) = front.build(replace(results, comparisons=comparisons))
    found = row(table(page, "answers"), "overall")["Really better?"]
    assert (found.text, found.small) == ("no", "significant on 1 of 3, the other way on 1")


def test_the_letters_of_a_board_say_whether_the_best_is_apart(results: Results) -> None:
    for best, others, word in (("a", "b", "yes"), ("ab", "b", "no")):
        known = tuple(replace(row, letters=best if row.metric == "bleu" else others) for row in results.ranking)
        (page,) = front.build(replace(results, ranking=known))
        assert row(table(page, "answers"), "Development datasets")["Really better?"].text == word


def test_cost_is_all_seconds_over_all_items(results: Results) -> None:
    timings = (Timing("a", "bleu", 100, 1.0), Timing("b", "bleu", 300, 1.0), Timing("c", "bleu", 0, 9.0))
    found = costs(replace(results, timings=timings))
    assert found["bleu", "bleu1"].seconds == pytest.approx(5.0)  # 2 seconds for 400 items
    assert cost_cell(found["bleu", "bleu1"]).text == "5.0"
    assert cost_cell(found["length", "length"]).text == "–"
    seconds = {0.0: "< 0.01", 0.014: "0.01", 0.62: "0.62", 0.996: "1.0", 9.94: "9.9", 9.96: "10", 60.1: "60"}
    assert {value: cost_cell(Cost("", (), "", value)).text for value in seconds} == seconds


def test_a_column_needs_what_it_has_scores_with_and_none_without(results: Results) -> None:
    datasets = tuple(replace(entry, has=("context", "facts") if entry.name == "topical-usr" else ("context",))
                     for entry in results.datasets)
    correlations = tuple(row for row in results.correlations
                       if (row.metric, row.column) != ("bleu", "bleu2") or row.dataset == "topical-usr")
    found = costs(replace(results, datasets=datasets, correlations=correlations))
    assert found["bleu", "bleu2"].needs == ("references", "facts")
    assert found["bleu", "bleu1"].needs == ("references",)


def test_a_page_holds_the_comparisons_on_its_own_targets(site: dict[str, bytes]) -> None:
    """On fed-turn, Overall, length (the fourth column) is above x|y (the first)."""
    given = numbers(site["index.html"])
    names = [column["column"] for column in given["columns"]]
    cell = next(place for place, one in enumerate(given["targets"])
                if given["datasets"][one[0]]["name"] == "fed-turn" and one[1] == "Overall")
    both = list(combinations(range(len(names)), 2))
    place = cell * len(both) + both.index((names.index("x|y"), names.index("length")))
    packed = base64.b64decode(given["comparisons"]["spearman"])
    assert packed[place // 4] >> 2 * (place % 4) & 3 == pairs.WORSE


def test_every_page_is_in_the_menu_or_in_a_list_that_is(results: Results, site: dict[str, bytes]) -> None:
    pages = sorted((page for build in builders() for page in build(results)), key=lambda page: page.order)
    shown = {entry.path for entry in menu(pages)}
    assert {page.path for page in pages if not page.group} <= shown
    for listed in lists(pages):
        assert listed.path in shown
    assert 'href="quality/overall.html"' in site["qualities.html"].decode()
    assert "By quality</a>" in site["dataset/fed-turn.html"].decode()
    assert site["dataset/fed-turn.html"].decode().count('aria-current="true">By dataset') == 1
