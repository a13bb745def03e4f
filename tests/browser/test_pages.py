"""Pages work from a server or a file, wide or narrow, light or dark, with or without scripts, and in print.

axe-core reports nothing on any kind of page. Hostile names run no code, make no requests and break no layout.
"""

from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api

from tests.browser.conftest import DESK, PHONE, Open, Site, choose, published, rows
from tests.leaderboard.large import enlarged
from tests.suite_run import SuiteRun

pytestmark = pytest.mark.browser

WIDER = """() => {
  const width = document.documentElement.clientWidth, whole = document.documentElement.scrollWidth;
  if (whole <= width) return [];
  const wide = e => e.getBoundingClientRect().right > width + 1 || e.scrollWidth > e.clientWidth + 1;
  return [`${whole} of ${width} px`, ...[...document.querySelectorAll('body *')].filter(wide).slice(0, 5)
    .map(e => e.outerHTML.slice(0, 120))];
}"""
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RUN = """rules => axe.run(document, rules ? {runOnly: {type: 'rule', values: rules}}
  : {rules: {'target-size': {enabled: true}}}).then(found =>
  found.violations.map(one => `${one.id} (${one.impact}, ${one.nodes.length}): ` +
    one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' ' + node.target).join(' | ')))"""
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"


def overflowing(page: sync_api.Page) -> list[str]:
    """Return the elements that make a page wider than its window."""
    wide: list[str] = page.evaluate(WIDER)
    return wide


def light(page: sync_api.Page) -> bool:
    ground: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return int(ground.removeprefix("rgb(").partition(",")[0]) > 127


@pytest.mark.parametrize(("options", "rules"), [
    ({"viewport": DESK}, None), ({"viewport": PHONE}, None),
    ({"color_scheme": "dark"}, ["color-contrast", "link-in-text-block"])], ids=["desk", "phone", "dark"])
def test_axe_reports_no_violation(site: Site, visit: Open, options: dict[str, Any], rules: list[str] | None) -> None:
    page = visit(site.at("index.html"), **options)
    found = {}
    for path in site.kinds:
        page.goto(site.at(path))
        page.evaluate(UNFOLD)
        page.evaluate(AXE)
        found[path] = page.evaluate(RUN, rules)
    assert {path: said for path, said in found.items() if said} == {}


@pytest.mark.parametrize("view", [DESK, PHONE], ids=["desk", "phone"])
def test_choice_of_systems_leads_to_their_answer(suite_run: SuiteRun, tmp_path: Path, visit: Open, view: Any) -> None:
    with published(enlarged(suite_run.results, 2, 2, splits=("recent",)), tmp_path) as made:
        page = visit(made.at("index.html"), viewport=view)
        assert "2021" in page.locator(".asked").inner_text()
        page.get_by_role("link", name="Today’s models").click()
        assert page.url.endswith("index-recent.html")
        choose(page, ratings="1")
        assert "2022 on" in page.locator(".asked").inner_text()
        box = page.locator(".best").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < view["height"]
        for path in ("index.html", "index-recent.html", "holds-up.html"):
            page.goto(made.at(path))
            assert overflowing(page) == [], path
            page.evaluate(AXE)
            assert page.evaluate(RUN, None) == [], path
        without = visit(made.at("index.html"), java_script_enabled=False)
        assert without.locator(".choices a:visible").count() == 2


def test_every_page_fits_its_window_prints_and_sorts(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    phone = visit(site.at("index.html"), viewport=PHONE, is_mobile=True, has_touch=True)
    for path in site.pages:
        for opened in (page, phone):
            opened.goto(site.at(path))
            assert opened.locator("h1").count() == 1, path
            assert overflowing(opened) == [], path
        if path in site.kinds:
            assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF-"), path
            assert page.locator("table").count() == 0 or page.locator("thead button.sort").count() > 0, path
            page.evaluate(UNFOLD)
            for button in page.locator("thead th:first-child button.sort:visible").all()[:4]:
                button.click()
                assert button.evaluate("one => one.closest('th').hasAttribute('aria-sort')"), path


def test_every_kind_of_page_opens_as_a_file(site: Site, visit: Open) -> None:
    page = visit((site.folder / "index.html").as_uri())
    for path in site.kinds:
        page.goto((site.folder / path).as_uri())
        assert page.evaluate("getComputedStyle(document.body).maxWidth") != "none", f"{path} has no style"


def test_theme_follows_the_system_until_changed(site: Site, visit: Open) -> None:
    assert not light(visit(site.at("index.html"), color_scheme="dark"))
    page = visit(site.at("index.html"), color_scheme="light")
    assert light(page)
    page.get_by_role("button", name="Dark", exact=True).click()
    assert not light(page)
    page.goto(site.at("methods.html"))
    assert not light(page)
    page.get_by_role("button", name="Light", exact=True).click()
    assert light(page)


def test_keys_of_pictures_remain_in_forced_colours(site: Site, visit: Open) -> None:
    path = next(path for path in site.pages if path.startswith("metric/") and b'class="key ' in site.files[path])
    colours = [visit(site.at(path), forced_colors=forced).locator(".key").evaluate_all(
        "keys => keys.map(key => getComputedStyle(key, '::before').backgroundColor)") for forced in ("none", "active")]
    assert colours[0] == colours[1]
    assert {*colours[0]} - {"rgba(0, 0, 0, 0)"}


def test_without_scripts_tables_remain_and_controls_are_hidden(site: Site, visit: Open) -> None:
    with_scripts = visit(site.at("index.html"))
    without = visit(site.at("index.html"), java_script_enabled=False)
    for path in site.kinds:
        with_scripts.goto(site.at(path))
        without.goto(site.at(path))
        assert without.locator("main table").count() == with_scripts.locator("main table").count(), path
        assert without.locator("button:visible, select:visible, input:visible, table [hidden]").count() == 0, path


def test_hostile_names_break_no_page_or_control(hostile_pages: Site, visit: Open) -> None:
    page = visit(hostile_pages.at("index.html"))
    for path in hostile_pages.kinds:
        page.goto(hostile_pages.at(path))
        assert page.evaluate("document.querySelectorAll('main').length") == 1, path
        assert overflowing(page) == [], path
    page.goto(hostile_pages.at("index.html"))
    assert len(rows(page)) > 5
    page.evaluate(UNFOLD)
    choose(page, q=1, ratings=1, models=1)
    for box in page.locator(".panel input[type=checkbox]").all()[:4]:
        box.click()
    choose(page, one=2, other=3)
    assert page.locator(".compared table").count() > 0
    address = page.url
    page.reload()
    assert page.url == address
    assert page.locator(".compared table").count() > 0
    assert page.evaluate("({}).polluted") is None


@pytest.mark.parametrize("view", [DESK, PHONE], ids=["desk", "phone"])
def test_long_tables_have_a_fixed_heading_and_a_filter(site: Site, visit: Open, view: Any) -> None:
    for kind in ("dataset", "metric"):
        page = visit(site.at(next(path for path in site.pages if path.startswith(kind))), viewport=view)
        assert page.locator("main section").first.locator("figure.dots svg").count() == 1
        long = page.locator("xpath=//div[contains(@class, 'scroll')][.//table]").filter(
            has=page.locator("tbody tr:not(.group):nth-child(13)")).first
        box = long.bounding_box()
        assert box is not None
        assert box["height"] < view["height"]
        long.evaluate("one => { one.scrollTop = 200; }")
        heading, after = long.locator("thead th").first.bounding_box(), long.bounding_box()
        assert heading is not None
        assert after is not None
        assert 0 <= heading["y"] - after["y"] < 1
        field = long.locator("xpath=preceding-sibling::div[@class='find'][1]//input")
        rows = long.locator("tbody tr:not(.group)")
        text, before = rows.first.locator("th").inner_text().splitlines()[0], rows.count()
        field.fill(text)
        shown = long.locator("tbody tr:not(.group):visible").all_inner_texts()
        assert all(text.lower() in row.lower() for row in shown)
        assert 0 < len(shown) < before
        field.fill("")
        assert long.locator("tbody tr:not(.group):visible").count() == before
