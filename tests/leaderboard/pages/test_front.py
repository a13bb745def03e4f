"""The front page: answers, boards, the numbers for its scripts, and costs."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from importlib import resources
from itertools import combinations
from statistics import fmean
from typing import Any

import pytest

from harness.results.rows import Comparison, Comparisons, RankingRow, Results, Timing
from leaderboard.blocks.boards import cost_cell
from leaderboard.model import pairs
from leaderboard.model.cost import Cost, costs
from leaderboard.pages import front
from tests.leaderboard.conftest import row, table


@pytest.fixture
def results(mixed: Results) -> Results:
    return mixed


def ranked(given: Any, name: str, rule: str) -> dict[tuple[str, str], int]:
    """Rank the rows of a board from what the scripts are given, as ranking.js does."""
    board, found = given["boards"][name], {}
    for place, column in enumerate(given["columns"]):
        values = [given["values"]["spearman"][place][cell] for cell in board["targets"]]
        if None not in values:
            datasets: dict[int, list[float]] = {}
            for cell, value in zip(board["targets"], values, strict=True):
                datasets.setdefault(given["targets"][cell][0], []).append(value)
            found[column["metric"], column["column"]] = fmean(
                values if rule == "test" else [fmean(own) for own in datasets.values()])
    return {key: 1 + sum(other > value + 1e-6 for other in found.values()) for key, value in found.items()}


def test_the_scripts_can_rank_what_the_report_ranked_and_hold_its_comparisons(results: Results) -> None:
    """On fed-turn, Overall, length (the fourth column) is above x|y (the first)."""
    given = json.loads(front.build(results)[0].data)
    assert set(given["boards"]) == {"dev-real", "dev-sample", "test-real", "test-sample"}
    for name, board in given["boards"].items():
        split, _, origin = name.rpartition("-")
        assert board["rule"] == split
        for rule in ("dev", "test"):
            assert ranked(given, name, rule) == {
                (row.metric, row.column): row.rank for row in results.ranking
                if (row.board, row.origin, row.rule, row.statistic) == (split, origin, rule, "spearman") and row.rank}
    names = [column["column"] for column in given["columns"]]
    cell = next(place for place, one in enumerate(given["targets"])
                if given["datasets"][one[0]]["name"] == "fed-turn" and one[1] == "Overall")
    both = list(combinations(range(len(names)), 2))
    place = cell * len(both) + both.index((names.index("x|y"), names.index("length")))
    packed = base64.b64decode(given["comparisons"]["spearman"])
    assert packed[place // 4] >> 2 * (place % 4) & 3 == pairs.WORSE


def test_a_board_whose_targets_are_not_those_of_its_ranks_is_left_as_it_is(results: Results) -> None:
    more = tuple(replace(row, targets=row.targets + 1, covered=row.covered + 1) if row.board == "dev" else row
                 for row in results.ranking)
    (page,) = front.build(replace(results, ranking=more))
    assert set(json.loads(page.data)["boards"]) == {"test-real", "test-sample"}
    assert table(page, "dev-real-spearman").board == ""


def test_rank_intervals_and_letters_go_with_their_rule(results: Results) -> None:
    def known(row: RankingRow) -> bool:
        return (row.rule, row.statistic, row.board, row.origin) == ("dev", "spearman", "dev", "real") and bool(row.rank)

    (page,) = front.build(replace(results, ranking=tuple(
        replace(row, low=1.0, high=2.0, letters="ab") if known(row) else row for row in results.ranking)))
    ranks = json.loads(page.data)["boards"]["dev-real"]["ranks"]
    assert (set(ranks), [1, 2, "ab"] in ranks["dev"]) == ({"dev"}, True)
    found = table(page, "dev-real-spearman")
    place = [heading.text for heading in found.headings].index("Group")
    assert {row[place].text for row in found.groups[0].rows} == {"ab"}


def test_scripts_write_no_markup_and_ask_for_nothing() -> None:
    scripts = [entry.read_text() for entry in (resources.files("leaderboard") / "static").iterdir()
               if entry.name.endswith(".js")]
    assert len(scripts) == 7
    for script in scripts:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|fetch\(|"
                             r"XMLHttp|import |https?://|\.style\b", script)


def test_the_short_answer_names_the_best_the_next_and_people(results: Results) -> None:
    tests = [("fed-turn", "Overall", "bleu1", "x|y", 0.01), ("topical-usr", "Overall quality", "bleu1", "x|y", 0.2),
             ("a|b", "Overall", "x|y", "bleu1", 0.001)]
    comparisons = Comparisons.gathered(
        Comparison(dataset, quality, "spearman", "williams", better, worse, 90, 0.1, 2.0, p, p, p)
        for dataset, quality, better, worse, p in tests)
    (page,) = front.build(replace(results, comparisons=comparisons))
    found = row(table(page, "answers"), "overall")
    assert (found["Best metric"].text, found["Mean ρ"].text) == ("bleu1", "0.362")
    assert found["Next"].text == "<script>alert('x')</script> / x|y"
    assert (found["People"].text, found["People"].small) == ("0.512", "1 of 4 qualities")
    better = found["Really better?"]
    assert (better.text, better.small) == ("no", "significant on 1 of 3, the other way on 1")
    assert found["Needs"].text == "references"
    assert table(page, "answers-single").folded.endswith(": 3")


def test_the_letters_of_a_board_say_whether_the_best_is_apart(results: Results) -> None:
    for best, others, word in (("a", "b", "yes"), ("ab", "b", "no")):
        known = tuple(replace(row, letters=best if row.metric == "bleu" else others) for row in results.ranking)
        (page,) = front.build(replace(results, ranking=known))
        found = row(table(page, "answers"), "Development datasets")
        assert (found["Best metric"].text, found["Really better?"].text) == ("bleu1", word)


def test_cost_is_all_seconds_over_all_items(results: Results) -> None:
    timings = (Timing("a", "bleu", 100, 1.0), Timing("b", "bleu", 300, 1.0), Timing("c", "bleu", 0, 9.0))
    found = costs(replace(results, timings=timings))
    assert found["bleu", "bleu1"].seconds == pytest.approx(5.0)  # 2 seconds for 400 items
    assert cost_cell(found["length", "length"]).text == "–"
    seconds = {0.0: "< 0.01", 0.014: "0.01", 0.62: "0.62", 0.996: "1.0", 9.94: "9.9", 9.96: "10", 60.1: "60"}
    assert {value: cost_cell(Cost("", (), "", value)).text for value in seconds} == seconds


def test_a_column_needs_what_it_has_scores_with_and_none_without(results: Results) -> None:
    datasets = tuple(replace(entry, has=("context", "facts") if entry.name == "topical-usr" else ("context",))
                     for entry in results.datasets)
    correlations = tuple(row for row in results.correlations
                         if (row.metric, row.column) != ("bleu", "bleu2") or row.dataset == "topical-usr")
    found = costs(replace(results, datasets=datasets, correlations=correlations))
    assert [found["bleu", name].needs for name in ("bleu1", "bleu2")] == [("references",), ("references", "facts")]
