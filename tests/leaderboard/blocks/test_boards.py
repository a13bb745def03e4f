"""The rules of the boards, seen on the tables themselves, before any markup."""

from __future__ import annotations

from dataclasses import replace

from harness.results.rows import Results
from leaderboard.blocks.boards import UNRANKED
from leaderboard.blocks.tables import Page, Table
from leaderboard.pages import dataset, quality
from leaderboard.pages import front as front_page
from tests.leaderboard.conftest import SCRIPT, find_page, row, table, tables

SAMPLE = {"Sample Chat", "sample chat"}
REAL = {"fed-turn", "topical-usr", "fed-dial", "a|b"}


def boards(results: Results) -> list[Table]:
    return [found for page in (*front_page.build(results), *quality.build(results)) for found in tables(page)]


def front(results: Results, anchor: str) -> Table:
    return table(find_page(front_page.build(results), "Overall"), anchor)


def of_dataset(results: Results, name: str) -> Table:
    return table(find_page(dataset.build(results), name), "correlation-spearman")


def names(found: Table, group: int) -> list[str]:
    return [cells[1].text for cells in found.groups[group].rows]


def test_no_table_mixes_sample_and_real_data(results: Results) -> None:
    for found in boards(results):
        datasets = {heading.text for heading in found.headings} & (SAMPLE | REAL)
        assert datasets <= (SAMPLE if found.sample else REAL)
        assert ("bundled sample" in found.data) == found.sample


def test_the_overall_board_shows_the_averages_of_both_rules(results: Results) -> None:
    """dev: ((0.1 + 0.3) / 2 + (0.2 + 0.4) / 2 + 0.5) / 3 = 1 / 3; test: 1.5 / 5."""
    cells = row(front(results, "dev-real-spearman"), "bleu1")
    assert (cells["Rank"].text, cells["Mean of datasets"].text) == ("1", "0.333")
    assert (cells["Mean of qualities"].text, cells["Mean of qualities"].small) == ("0.300", "rank 1")
    assert [cells[name].text for name in ("fed-dial", "fed-turn", "topical-usr")] == ["0.500", "0.200", "0.300"]
    by_test = front(results, "test-real-spearman")
    assert [heading.text for heading in by_test.headings][2] == "Mean of qualities"
    assert names(by_test, 0) == ["length", f"{SCRIPT} / x|y", "bleu1", "bleu2"]


def test_an_incomplete_column_has_no_average_and_no_rank_and_stands_below(results: Results) -> None:
    found = front(results, "dev-real-spearman")
    assert (found.groups[1].title, names(found, 1)) == (UNRANKED, ["bleu2", "grade"])
    cells = row(found, "bleu2")
    assert (cells["Rank"].text, cells["Mean of datasets"].text) == ("", "–")
    assert cells["Mean of datasets"].small == "4 of 5 targets"
    assert (cells["fed-turn"].text, cells["fed-turn"].why) == ("–", "all scores are equal")
    assert cells["topical-usr"].text == "0.400"


def test_a_missing_value_is_never_a_zero_and_says_why_as_the_run_did(results: Results) -> None:
    pages: tuple[Page, ...] = (*front_page.build(results), *dataset.build(results), *quality.build(results))
    missing = [cell for page in pages for found in tables(page) for cells in found.rows for cell in cells
               if cell.text == "–"]
    assert missing
    assert all(cell.title and cell.value is None for cell in missing)
    for name, metric, column, why in (
            ("fed-turn", "bleu2", "Overall", "all scores are equal"),
            ("fed-turn", "grade", "Overall", "skipped: weights are not on this machine"),
            ("fed-dial", "grade", "Overall", "skipped: scores turns | not dialogues"),
            ("sample chat", "bleu1", "Unrated", "nobody rated this quality"),
            ("Sample Chat", "bleu2", "Overall", ""),
            ("sample chat", f"{SCRIPT} / x|y", "Overall", "not scored in this run")):
        assert row(of_dataset(results, name), metric)[column].why == why


def test_a_quality_that_nobody_rated_does_not_count(results: Results) -> None:
    found = of_dataset(results, "sample chat")
    assert names(found, 0) == ["bleu1", "bleu2"]
    assert row(found, "bleu1")["Mean"].text == "0.800"
    assert row(found, "length")["Metric"].small == "0 of 1 target"


def test_equal_means_share_a_rank(results: Results) -> None:
    equal = tuple(replace(entry, value=0.25) if entry.metric != "grade" else entry for entry in results.correlations)
    found = of_dataset(replace(results, correlations=equal), "fed-turn")
    assert [cells[0].text for cells in found.groups[0].rows] == ["1", "1", "1", "1"]


def test_an_aggregation_stands_on_its_dataset_and_is_named_where_it_is_left_out(results: Results) -> None:
    assert row(of_dataset(results, "fed-dial"), "bleu1:max")["Overall"].text == "0.600"
    assert not [found for found in boards(results) if "bleu1:max" in {cells[1].text for cells in found.rows}]
    assert "bleu1:max" in str(find_page(quality.build(results), "overall").sections[0].blocks[-1])
