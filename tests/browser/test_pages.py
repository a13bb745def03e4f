"""Every page opens: from a server and from a file, wide and narrow, with scripts and without, and prints."""

from __future__ import annotations

import pytest

from tests.browser.conftest import PHONE, Open, Site

pytestmark = pytest.mark.browser

WIDER = """() => {
  const width = document.documentElement.clientWidth, whole = document.documentElement.scrollWidth;
  if (whole <= width) return [];
  const wide = e => e.getBoundingClientRect().right > width + 1 || e.scrollWidth > e.clientWidth + 1;
  return [`${whole} of ${width} px`, ...[...document.querySelectorAll('body *')].filter(wide).slice(0, 5)
    .map(e => e.outerHTML.slice(0, 120))];
}"""


def overflowing(page: object) -> list[str]:
    """What makes a page wider than its window."""
    return page.evaluate(WIDER)  # type: ignore[attr-defined,no-any-return]


def test_every_page_opens_from_a_server_without_a_complaint(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    for path in site.pages:
        page.goto(site.at(path))
        assert page.locator("h1").count() == 1, path
        assert overflowing(page) == [], path


def test_every_page_opens_as_a_file_without_a_complaint(site: Site, visit: Open) -> None:
    page = visit((site.folder / "index.html").as_uri())
    for path in site.pages:
        page.goto((site.folder / path).as_uri())
        assert page.evaluate("getComputedStyle(document.body).maxWidth") != "none", f"{path} has no style"


def test_no_page_is_wider_than_a_phone(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"), viewport=PHONE, is_mobile=True, has_touch=True)
    for path in site.pages:
        page.goto(site.at(path))
        assert overflowing(page) == [], path


def test_every_kind_of_page_prints(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    for path in site.kinds:
        page.goto(site.at(path))
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF-"), path
