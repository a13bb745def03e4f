"""The rules of the boards, seen on the tables themselves, before any markup."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.results.rows import Results
from leaderboard.blocks.boards import UNRANKED
from leaderboard.blocks.tables import Cell, Page, Table
from leaderboard.pages import dataset, overall, quality

SAMPLE = {"Sample Chat", "sample chat"}
REAL = {"fed-turn", "topical-usr", "fed-dial", "a|b"}


def tables(pages: tuple[Page, ...]) -> Iterator[Table]:
    return (block for page in pages for section in page.sections for block in section.blocks
            if isinstance(block, Table))


def table(pages: tuple[Page, ...], page: str, anchor: str) -> Table:
    chosen = tuple(entry for entry in pages if entry.label == page)
    return next(entry for entry in tables(chosen) if entry.anchor == anchor)


def row(found: Table, name: str) -> dict[str, Cell]:
    line = next(cells for cells in found.rows if cells[1].text == name)
    return {heading.text: cell for heading, cell in zip(found.headings, line, strict=True)}


def names(found: Table, group: int) -> list[str]:
    return [cells[1].text for cells in found.groups[group].rows]


def test_no_table_mixes_sample_and_real_data(results: Results) -> None:
    for found in tables((*overall.build(results), *quality.build(results))):
        datasets = {heading.text for heading in found.headings} & (SAMPLE | REAL)
        assert datasets <= (SAMPLE if found.sample else REAL)
        assert ("bundled sample" in found.data) == found.sample


def test_the_overall_board_shows_the_averages_of_both_rules(results: Results) -> None:
    """dev: ((0.1 + 0.3) / 2 + (0.2 + 0.4) / 2 + 0.5) / 3 = 1 / 3; test: 1.5 / 5."""
    cells = row(table(overall.build(results), "Overall", "dev-real-spearman"), "bleu1")
    assert (cells["Rank"].text, cells["Mean of datasets"].text) == ("1", "0.333")
    assert (cells["Mean of qualities"].text, cells["Mean of qualities"].small) == ("0.300", "rank 1")
    assert [cells[name].text for name in ("fed-dial", "fed-turn", "topical-usr")] == ["0.500", "0.200", "0.300"]


def test_the_test_board_is_ranked_by_the_rule_of_the_test_datasets(results: Results) -> None:
    found = table(overall.build(results), "Overall", "test-real-spearman")
    assert [heading.text for heading in found.headings][2] == "Mean of qualities"
    assert names(found, 0) == ["length", "<script>alert('x')</script> / x|y", "bleu1", "bleu2"]


def test_an_incomplete_column_has_no_average_and_no_rank_and_stands_below(results: Results) -> None:
    found = table(overall.build(results), "Overall", "dev-real-spearman")
    assert found.groups[1].title == UNRANKED
    assert names(found, 1) == ["bleu2", "grade"]
    cells = row(found, "bleu2")
    assert (cells["Rank"].text, cells["Mean of datasets"].text) == ("", "–")
    assert cells["Mean of datasets"].small == "4 of 5 targets"
    assert (cells["fed-turn"].text, cells["fed-turn"].why) == ("–", "all scores are equal")
    assert cells["topical-usr"].text == "0.400"


def test_a_missing_value_is_never_a_zero_and_says_why(results: Results) -> None:
    pages = (*overall.build(results), *dataset.build(results), *quality.build(results))
    for found in tables(pages):
        for cells in found.rows:
            assert all(cell.title for cell in cells if cell.text == "–")
            assert all(cell.value is None for cell in cells if cell.text == "–")


@pytest.mark.parametrize(("page", "name", "column", "why"), [
    ("fed-turn", "bleu2", "Overall", "all scores are equal"),
    ("fed-turn", "grade", "Overall", "skipped: weights are not on this machine"),
    ("fed-dial", "grade", "Overall", "skipped: scores turns | not dialogues"),
    ("sample chat", "bleu1", "Unrated", "nobody rated this quality"),
    ("Sample Chat", "bleu2", "Overall", ""),
    ("sample chat", "<script>alert('x')</script> / x|y", "Overall", "not scored in this run")])
def test_the_reason_is_the_one_the_run_gave(results: Results, page: str, name: str, column: str, why: str) -> None:
    pages = dataset.build(results)
    assert row(table(pages, page, "correlation-spearman"), name)[column].why == why


def test_a_quality_that_nobody_rated_does_not_count(results: Results) -> None:
    found = table(dataset.build(results), "sample chat", "correlation-spearman")
    assert names(found, 0) == ["bleu1", "bleu2"]
    assert row(found, "bleu1")["Mean"].text == "0.800"
    assert row(found, "length")["Metric"].small == "0 of 1 target"


def test_equal_means_share_a_rank(results: Results) -> None:
    equal = tuple(replace(entry, value=0.25) if entry.metric != "grade" else entry for entry in results.correlations)
    found = table(dataset.build(replace(results, correlations=equal)), "fed-turn", "correlation-spearman")
    assert [cells[0].text for cells in found.groups[0].rows] == ["1", "1", "1", "1"]


def test_an_aggregation_stands_on_its_dataset_and_is_named_where_it_is_left_out(results: Results) -> None:
    board = table(dataset.build(results), "fed-dial", "correlation-spearman")
    assert row(board, "bleu1:max")["Overall"].text == "0.600"
    for found in tables((*overall.build(results), *quality.build(results))):
        assert "bleu1:max" not in {cells[1].text for cells in found.rows}
    page = next(page for page in quality.build(results) if page.label == "overall")
    assert "bleu1:max" in str(page.sections[0].blocks[-1])
