"""The watch itself: a page that asks elsewhere, runs what it may not or fails is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Complaints, Open, serving
from tests.browser.test_pages import overflowing

pytestmark = pytest.mark.browser

POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:"
HEAD = '<!DOCTYPE html><meta charset="utf-8"><title>A page</title><link rel="icon" href="data:,">'


@pytest.mark.parametrize(("body", "expected"), [
    ('<img src="https://example.org/x.png" alt="">', "asked for https://example.org/x.png"),
    (f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><p style="color: red">Red</p>', "CSP: style-src"),
    (f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><script>document.title = "run"</script>',
     "CSP: script-src"),
    ("<script>throw new Error('broken')</script>", "script: broken"),
    ("<script>console.error('said so')</script>", "error: said so"),
    ('<script src="missing.js"></script>', "404")])
def test_a_complaint_is_noticed(body: str, expected: str, tmp_path: Path, visit: Open, complaints: Complaints) -> None:
    (tmp_path / "index.html").write_text(HEAD + body)
    with serving(tmp_path) as served:
        page = visit(f"{served}/index.html")
        page.wait_for_timeout(100)
    assert any(expected in said for said in complaints.said), complaints.said
    complaints.said.clear()


def test_a_page_without_fault_has_no_complaint(tmp_path: Path, visit: Open, complaints: Complaints) -> None:
    (tmp_path / "index.html").write_text(f"{HEAD}<p>Quiet</p>")
    assert overflowing(visit((tmp_path / "index.html").as_uri())) == []
    assert complaints.said == []


def test_what_is_wider_than_its_page_is_found(tmp_path: Path, visit: Open) -> None:
    (tmp_path / "index.html").write_text(f"{HEAD}<pre>{'x' * 1000}</pre>")
    assert overflowing(visit((tmp_path / "index.html").as_uri()))[1].startswith("<pre>")
