"""The boards do what their controls say: ranks as worked out from the report, at once, kept in the address."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

import pytest
from playwright import sync_api

from harness.results.rows import Results
from harness.run import rank
from tests.browser.conftest import Open, Site, rows

pytestmark = pytest.mark.browser

DEV = "dev-real"
Key = tuple[str, str]


def ranks(page: sync_api.Page) -> dict[Key, int | None]:
    """The rank that the board shows for each column, None where it shows none."""
    return {(row["metric"], row["column"]): int(row["rank"]) if row["rank"] else None for row in rows(page, DEV)}


def visible(page: sync_api.Page) -> set[str]:
    """The metrics that the board shows."""
    return {row["metric"] for row in rows(page, DEV) if not row["hidden"]}


def expected(results: Results, rule: str = "dev", statistic: str = "spearman", level: str = "",
             datasets: Mapping[str, int] | None = None, qualities: Mapping[str, int] | None = None
             ) -> dict[Key, int | None]:
    """The ranks of the board under a choice, in exact fractions of the correlations that the page has (six decimals).

    A weight is so many copies of a cell. A column that lacks one of the cells has no rank.
    """
    copies = {(f"{entry.name}#{one}", f"{quality.name}#{other}"): (entry.name, quality.name)
              for entry in results.datasets if entry.split == "dev" and level in ("", entry.level)
              for quality in entry.qualities for one in range((datasets or {}).get(entry.name, 1))
              for other in range((qualities or {}).get(quality.dimension, 1))}
    values: dict[Key, dict[Key, Fraction]] = defaultdict(dict)
    for row in results.correlations:
        if row.statistic == statistic and math.isfinite(row.value):
            values[row.metric, row.column][row.dataset, row.quality] = Fraction(round(row.value * 1_000_000), 1_000_000)
    mean = rank.dataset_mean if rule == "dev" else rank.cell_mean
    found = {key: mean({copy: own[cell] for copy, cell in copies.items()}) for key, own in values.items()
             if own.keys() >= set(copies.values())}
    return {(row.metric, row.column): 1 + sum(other > found[key] for other in found.values())
            if (key := (row.metric, row.column)) in found else None for row in results.ranking if row.board == "dev"}


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
    assert ranks(front) == expected(site.results)
    for statistic in ("pearson", "kendall"):
        field(front, "Statistic").select_option(statistic)
        assert ranks(front) == expected(site.results, statistic=statistic)
        assert statistic.capitalize() in front.locator(f"table[data-board={DEV}] caption").inner_text()
    field(front, "Level").select_option("turn")
    assert ranks(front) == expected(site.results, statistic="kendall", level="turn")


def test_weights_of_datasets_and_qualities_rank_anew(site: Site, front: sync_api.Page) -> None:
    first, second = site.results.datasets[1].name, site.results.datasets[2].name
    for label, name, weight in (("Datasets", first, "3"), ("Qualities", "fluent", "0.5")):
        box = menu(front, label).get_by_label(f"Weight of {name}", exact=True)
        box.fill(weight)
        box.press("Tab")
    menu(front, "Datasets").get_by_label(second, exact=True).uncheck()
    twice = {quality.dimension: 2 for entry in site.results.datasets for quality in entry.qualities}
    wanted = expected(site.results, datasets={first: 3, second: 0}, qualities={**twice, "fluent": 1})
    assert ranks(front) == wanted
    assert wanted != expected(site.results)


def test_a_family_or_a_text_shows_its_rows_alone_and_changes_no_rank(site: Site, front: sync_api.Page) -> None:
    before = ranks(front)
    trained = {entry.name for entry in site.results.metrics if entry.family == "trained"}
    menu(front, "Family").get_by_label("trained", exact=True).check()
    assert visible(front) == trained
    assert ranks(front) == before
    front.get_by_role("button", name="Reset").click()
    field(front, "Find").press_sequentially("TRAINED-")
    assert visible(front) == trained
    assert front.evaluate("document.activeElement.type") == "search"


def test_a_click_on_a_heading_sorts_and_a_second_turns_it_round(site: Site, front: sync_api.Page) -> None:
    column = site.results.datasets[0].name
    heading = front.locator(f"table[data-board={DEV}] thead th").filter(has=front.locator(f"a:text-is('{column}')"))
    place = heading.evaluate("one => one.cellIndex")
    for direction in ("descending", "ascending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        texts = front.locator(f"table[data-board={DEV}] tbody:first-of-type tr").evaluate_all(
            "(rows, place) => rows.map(row => row.cells[place].firstChild.textContent)", place)
        shown = [float(text.replace("−", "-")) for text in texts]
        assert shown == sorted(shown, reverse=direction == "descending")
        assert len(set(shown)) > 1


def test_the_address_brings_a_choice_back(site: Site, front: sync_api.Page) -> None:
    first = site.results.datasets[1].name
    field(front, "Statistic").select_option("pearson")
    field(front, "Ranked by").select_option("test")
    menu(front, "Datasets").get_by_label(first, exact=True).uncheck()
    menu(front, "Family").get_by_label("embedding", exact=True).check()
    before = rows(front, DEV)
    assert ranks(front) == expected(site.results, "test", "pearson", datasets={first: 0})
    front.reload()
    assert rows(front, DEV) == before
    front.get_by_role("button", name="Reset").click()
    assert ranks(front) == expected(site.results)
    front.go_back()
    front.wait_for_function("location.hash.includes('pearson')")
    assert rows(front, DEV) == before


def test_no_address_breaks_a_page(site: Site, front: sync_api.Page) -> None:
    for choice in ("stat=__proto__", "stat=nonsense&rule=constructor", "sort=dev-real:99:descending", "family=none",
                   "d.__proto__=2&q.toString=0", "one=%00&other=x", "level=none", "d.x=1e999&find=%3Cscript%3E",
                   "a=%E0%A4%A", "#=#="):
        front.goto(f"{site.at('about.html')}")
        front.goto(f"{site.at('index.html')}#{choice}")
        assert len(rows(front, DEV)) == len(expected(site.results)), choice


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
