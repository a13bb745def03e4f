"""Every page opens: from a server and from a file, wide and narrow, light and dark, with scripts and without, on paper.

Hostile names run nothing, ask for nothing and break no layout. The last tests see that the watch itself notices.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright import sync_api

from tests.browser import boards
from tests.browser.conftest import PHONE, Complaints, Open, Site, serving

pytestmark = pytest.mark.browser

WIDER = """() => {
  const width = document.documentElement.clientWidth, whole = document.documentElement.scrollWidth;
  if (whole <= width) return [];
  const wide = e => e.getBoundingClientRect().right > width + 1 || e.scrollWidth > e.clientWidth + 1;
  return [`${whole} of ${width} px`, ...[...document.querySelectorAll('body *')].filter(wide).slice(0, 5)
    .map(e => e.outerHTML.slice(0, 120))];
}"""
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:"
HEAD = '<!DOCTYPE html><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">'


def overflowing(page: sync_api.Page) -> list[str]:
    """What makes a page wider than its window."""
    wide: list[str] = page.evaluate(WIDER)
    return wide


def light(page: sync_api.Page) -> bool:
    """Tell whether the page has a light ground."""
    ground: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return int(ground.removeprefix("rgb(").partition(",")[0]) > 127


def test_every_page_opens_from_a_server_and_every_kind_prints(site: Site, visit: Open) -> None:
    page = visit(site.at("index.html"))
    for path in site.pages:
        page.goto(site.at(path))
        assert page.locator("h1").count() == 1, path
        assert overflowing(page) == [], path
        assert path not in site.kinds or page.pdf(prefer_css_page_size=True).startswith(b"%PDF-"), path


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


def test_the_ground_follows_the_system_until_a_button_changes_it_on_every_page(site: Site, visit: Open) -> None:
    assert not light(visit(site.at("index.html"), color_scheme="dark"))
    page = visit(site.at("index.html"), color_scheme="light")
    assert light(page)
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


def test_no_hostile_page_complains_or_is_too_wide(hostile_pages: Site, visit: Open) -> None:
    page = visit(hostile_pages.at("index.html"))
    for path in hostile_pages.kinds:
        page.goto(hostile_pages.at(path))
        assert page.evaluate("document.querySelectorAll('main').length") == 1, path
        assert overflowing(page) == [], path


def test_the_controls_work_on_hostile_names(hostile_pages: Site, visit: Open) -> None:
    page = visit(hostile_pages.at("index.html"))
    assert len(boards.rows(page, "dev-real")) > 5
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


def test_a_complaint_is_noticed(tmp_path: Path, visit: Open, complaints: Complaints) -> None:
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    wrong = {'<img src="https://example.org/x.png" alt="">': "asked for https://example.org/x.png",
             f'{policy}<p style="color: red">Red</p>': "CSP: style-src",
             f'{policy}<script>document.title = "run"</script>': "CSP: script-src",
             "<script>throw new Error('broken')</script>": "script: broken",
             "<script>console.error('said so')</script>": "error: said so",
             '<script src="missing.js"></script>': "404"}
    with serving(tmp_path) as served:
        for body, expected in wrong.items():
            (tmp_path / "index.html").write_text(HEAD + body)
            page = visit(f"{served}/index.html")
            page.wait_for_timeout(100)
            assert any(expected in message for message in complaints.said), (expected, complaints.said)
            complaints.said.clear()
    (tmp_path / "index.html").write_text(f"{HEAD}<p>Quiet</p>")
    assert overflowing(visit((tmp_path / "index.html").as_uri())) == []
    (tmp_path / "index.html").write_text(f"{HEAD}<pre>{'x' * 1000}</pre>")
    assert overflowing(visit((tmp_path / "index.html").as_uri()))[1].startswith("<pre>")
    assert complaints.said == []
