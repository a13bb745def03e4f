"""A site of hostile names in a real browser: nothing runs, nothing is asked for, nothing breaks the layout."""

from __future__ import annotations

import pytest

from tests.browser import boards
from tests.browser.conftest import Open, Site
from tests.browser.test_pages import overflowing

pytestmark = pytest.mark.browser


def test_no_hostile_page_complains_or_is_too_wide(hostile_site: Site, visit: Open) -> None:
    page = visit(hostile_site.at("index.html"))
    for path in hostile_site.kinds:
        page.goto(hostile_site.at(path))
        assert page.evaluate("document.querySelectorAll('main').length") == 1, path
        assert overflowing(page) == [], path


def test_the_controls_work_on_hostile_names(hostile_site: Site, visit: Open) -> None:
    page = visit(hostile_site.at("index.html"))
    found = boards.rows(page, "dev-real")
    assert len(found) > 5
    page.evaluate("for (const one of document.querySelectorAll('.panel details')) one.open = true")
    page.locator(".panel select").first.select_option(index=1)
    for box in page.locator(".panel input[type=checkbox]").all()[:4]:
        box.click()
    chosen = page.locator(".panel select")
    chosen.nth(chosen.count() - 2).select_option(index=2)
    chosen.nth(chosen.count() - 1).select_option(index=3)
    assert page.locator(".compared table").count() > 0
    address = page.url
    page.reload()
    assert page.url == address
    assert page.locator(".compared table").count() > 0
    assert page.evaluate("({}).polluted") is None
