"""Light, dark and without scripts: what each promises."""

from __future__ import annotations

import pytest
from playwright import sync_api

from tests.browser.conftest import Open, Site

pytestmark = pytest.mark.browser

GROUND = "getComputedStyle(document.body).backgroundColor"


def light(page: sync_api.Page) -> bool:
    """Tell whether the page has a light ground."""
    red = page.evaluate(GROUND).removeprefix("rgb(").partition(",")[0]
    return int(red) > 127


def test_the_ground_follows_the_system(site: Site, visit: Open) -> None:
    assert light(visit(site.at("index.html"), color_scheme="light"))
    assert not light(visit(site.at("index.html"), color_scheme="dark"))


def test_the_button_changes_the_ground_and_other_pages_keep_it(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"), color_scheme="light")
    page.get_by_role("button", name="Dark", exact=True).click()
    assert not light(page)
    page.goto(site.at("about.html"))
    assert not light(page)
    page.get_by_role("button", name="Light", exact=True).click()
    assert light(page)


def test_without_scripts_every_table_is_there_and_no_dead_control(site: Site, visit: Open) -> None:
    with_scripts = visit(site.at("index.html"))
    without = visit(site.at("index.html"), java_script_enabled=False)
    for path in site.kinds:
        with_scripts.goto(site.at(path))
        without.goto(site.at(path))
        assert without.locator("main table").count() == with_scripts.locator("main table").count(), path
        assert without.locator("button, select, input").count() == 0, path
        assert without.locator("table tbody tr[hidden], table [hidden]").count() == 0, path
