"""The boards do what their controls say: ranks as worked out from the report, at once, kept in the address."""

from __future__ import annotations

from statistics import median

import pytest
from playwright import sync_api

from tests.browser import boards
from tests.browser.conftest import Open, Site

pytestmark = pytest.mark.browser

DEV = "dev-real"
CHOOSE = """choose => {
  const field = [...document.querySelectorAll('.panel select')][choose.place];
  field.value = choose.value;
  field.dispatchEvent(new Event('change'));
  return document.body.getBoundingClientRect().height;
}"""
AT_ONCE = 0.4
"""Twice the 200 ms that a choice may take: tests run on busy machines, two browsers at a time."""


def field(page: sync_api.Page, label: str) -> sync_api.Locator:
    """The menu of a label in the panel."""
    named = page.locator(".panel label.field").filter(has=page.locator(f"span:text-is('{label}')"))
    return named.locator("select, input")


def menu(page: sync_api.Page, label: str) -> sync_api.Locator:
    """The folded list of a label in the panel, opened."""
    found = page.locator(".panel details.menu").filter(has=page.locator(f"legend:text-is('{label}')"))
    found.evaluate("one => { one.open = true; }")
    return found


@pytest.fixture
def front(site: Site, visit: Open) -> sync_api.Page:
    """The front page, in a window that is wide enough for the controls to be open."""
    return visit(site.at("index.html"))


def test_a_board_shows_the_ranks_of_the_report_for_any_statistic_and_level(site: Site, front: sync_api.Page) -> None:
    assert boards.ranks(front, DEV) == boards.expected(site.results, "dev", "dev")
    for statistic in ("pearson", "kendall"):
        field(front, "Statistic").select_option(statistic)
        assert boards.ranks(front, DEV) == boards.expected(site.results, "dev", "dev", statistic)
        assert statistic.capitalize() in front.locator(f"table[data-board={DEV}] caption").inner_text()
    field(front, "Level").select_option("turn")
    assert boards.ranks(front, DEV) == boards.expected(site.results, "dev", "dev", "kendall", level="turn")


def test_weights_of_datasets_and_qualities_rank_anew(site: Site, front: sync_api.Page) -> None:
    first, second = site.results.datasets[1].name, site.results.datasets[2].name
    weight = menu(front, "Datasets").get_by_label(f"Weight of {first}", exact=True)
    weight.fill("3")
    weight.press("Tab")
    menu(front, "Datasets").get_by_label(second, exact=True).uncheck()
    share = menu(front, "Qualities").get_by_label("Weight of fluent", exact=True)
    share.fill("0.5")
    share.press("Tab")
    wanted = boards.expected(site.results, "dev", "dev", datasets={first: 3, second: 0}, qualities={"fluent": 0.5})
    assert boards.ranks(front, DEV) == wanted
    assert wanted != boards.expected(site.results, "dev", "dev")


def test_a_family_shows_its_rows_alone_and_changes_no_rank(site: Site, front: sync_api.Page) -> None:
    before = boards.ranks(front, DEV)
    menu(front, "Family").get_by_label("trained", exact=True).check()
    trained = {entry.name for entry in site.results.metrics if entry.family == "trained"}
    assert {metric for metric, _ in boards.visible(front, DEV)} == trained
    assert boards.ranks(front, DEV) == before


def test_a_text_finds_rows_as_it_is_typed(front: sync_api.Page) -> None:
    search = field(front, "Find")
    search.press_sequentially("TRAINED-")
    assert boards.visible(front, DEV)
    assert {metric.partition("-")[0] for metric, _ in boards.visible(front, DEV)} == {"trained"}
    assert front.evaluate("document.activeElement.type") == "search"


def test_a_click_on_a_heading_sorts_and_a_second_turns_it_round(site: Site, front: sync_api.Page) -> None:
    column = site.results.datasets[0].name
    heading = front.locator(f"table[data-board={DEV}] thead th").filter(has=front.locator(f"a:text-is('{column}')"))
    shown = []
    for direction in ("descending", "ascending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        shown.append(values(front, heading))
    assert shown[0] == sorted(shown[0], reverse=True)
    assert shown[1] == sorted(shown[0])
    assert len(set(shown[0])) > 1


def values(page: sync_api.Page, heading: sync_api.Locator) -> list[float]:
    """The numbers of a column of the ranked rows, from the top."""
    place = heading.evaluate("one => one.cellIndex")
    texts = page.locator(f"table[data-board={DEV}] tbody:first-of-type tr").evaluate_all(
        "(rows, place) => rows.map(row => row.cells[place].firstChild.textContent)", place)
    return [float(text.replace("−", "-")) for text in texts]


def test_the_address_brings_a_choice_back(site: Site, front: sync_api.Page) -> None:
    first = site.results.datasets[1].name
    field(front, "Statistic").select_option("pearson")
    field(front, "Ranked by").select_option("test")
    menu(front, "Datasets").get_by_label(first, exact=True).uncheck()
    menu(front, "Family").get_by_label("embedding", exact=True).check()
    wanted = boards.expected(site.results, "dev", "test", "pearson", datasets={first: 0})
    before = boards.rows(front, DEV)
    assert boards.ranks(front, DEV) == wanted
    front.reload()
    assert boards.rows(front, DEV) == before
    front.get_by_role("button", name="Reset").click()
    assert boards.ranks(front, DEV) == boards.expected(site.results, "dev", "dev")
    front.go_back()
    front.wait_for_function("location.hash.includes('pearson')")
    assert boards.rows(front, DEV) == before


def test_no_address_breaks_a_page(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    for choice in ("stat=__proto__", "stat=nonsense&rule=constructor", "sort=dev-real:99:descending", "family=none",
                   "d.__proto__=2&q.toString=0", "one=%00&other=x", "level=none", "d.x=1e999&find=%3Cscript%3E",
                   "a=%E0%A4%A", "#=#="):
        page.goto(f"{site.at('about.html')}")
        page.goto(f"{site.at('index.html')}#{choice}")
        assert len(boards.rows(page, DEV)) == len(boards.expected(site.results, "dev", "dev")), choice


def test_two_columns_side_by_side(site: Site, front: sync_api.Page) -> None:
    one, other = sorted({(row.metric, row.column) for row in site.results.correlations if row.metric == row.column})[:2]
    field(front, "Compare").select_option(one[1])
    field(front, "with").select_option(other[1])
    table = front.locator(".compared table")
    found = {(row.dataset, row.quality, row.column): row.value for row in site.results.correlations
             if row.statistic == "spearman" and (row.metric, row.column) in (one, other)}
    for line in table.locator("tbody tr").all():
        dataset, quality, _, first, second, gap, *_ = line.locator("th, td").all_inner_texts()
        numbers = [found.get((dataset, quality, key[1])) for key in (one, other)]
        assert [first, second] == ["–" if value is None else f"{value:.3f}".replace("-", "−") for value in numbers]
        if None not in numbers:
            assert float(gap.replace("−", "-")) == pytest.approx(numbers[0] - numbers[1], abs=0.00051)
    assert table.locator("tbody tr").count() == len({key[:2] for key in found})


def test_a_choice_is_drawn_at_once_at_full_size(large_site: Site, visit: Open) -> None:
    page = visit(large_site.at("index.html"))
    assert len(boards.rows(page, DEV)) > 90
    choices = ((0, "pearson"), (1, "test"), (0, "kendall"), (1, "dev"), (0, ""), (1, "test"))
    rounds = [[work(page, place, value) for place, value in choices] for _ in range(3)]
    assert min(map(median, rounds)) < AT_ONCE, rounds
    assert boards.ranks(page, DEV) == boards.expected(large_site.results, "dev", "test")


def work(page: sync_api.Page, place: int, value: str) -> float:
    """Seconds that the page's own thread works on a choice until it is laid out, whatever else the machine does."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = spent(devtools)
    page.evaluate(CHOOSE, {"place": place, "value": value})
    found = spent(devtools) - before
    devtools.detach()
    return found


def spent(devtools: sync_api.CDPSession) -> float:
    """The processor time of the page's thread so far, in seconds."""
    metrics = {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def test_every_table_of_every_kind_of_page_sorts(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    for path in site.kinds:
        page.goto(site.at(path))
        assert page.locator("table").count() == 0 or page.locator("thead button.sort").count() > 0, path
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for button in page.locator("thead th:first-child button.sort:visible").all()[:4]:
            button.click()
            assert button.evaluate("one => one.closest('th').hasAttribute('aria-sort')"), path
