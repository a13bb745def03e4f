"""axe-core finds nothing on any kind of page, light or dark, wide or narrow; the keyboard works."""

from __future__ import annotations

from importlib import resources
from typing import Any

import pytest
from playwright import sync_api

from tests.browser.conftest import DESK, PHONE, Open, Site

pytestmark = pytest.mark.browser

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
RUN = """rules => axe.run(document, rules ? {runOnly: {type: 'rule', values: rules}} : {}).then(found =>
  found.violations.map(one => `${one.id} (${one.impact}, ${one.nodes.length}): ` +
    one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + ' ' + node.target).join(' | ')))"""
COLOURS = ["color-contrast", "link-in-text-block"]


def violations(page: sync_api.Page, rules: list[str] | None = None) -> list[str]:
    """What axe-core has to say about a page, with everything folded open."""
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN, rules)
    return found


@pytest.mark.parametrize(("options", "rules"), [
    ({"viewport": DESK}, None), ({"viewport": PHONE}, None), ({"color_scheme": "dark"}, COLOURS)],
    ids=["desk", "phone", "dark"])
def test_axe_finds_nothing(site: Site, visit: Open, options: dict[str, Any], rules: list[str] | None) -> None:
    page = visit(site.at("index.html"), **options)
    found = {}
    for path in site.kinds:
        page.goto(site.at(path))
        found[path] = violations(page, rules)
    assert {path: said for path, said in found.items() if said} == {}


def test_the_first_tab_skips_to_the_content(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")
