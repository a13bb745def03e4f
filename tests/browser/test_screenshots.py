"""A picture of each kind of page: light, dark and on a phone, in the folder that HARNESS_SCREENSHOTS names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser.conftest import DESK, PHONE, Open, Site

pytestmark = pytest.mark.browser

LOOKS = {"light": {"color_scheme": "light"}, "dark": {"color_scheme": "dark"},
         "phone": {"viewport": PHONE, "is_mobile": True, "has_touch": True}}
TALLEST = 4000
SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("look", LOOKS)
def test_a_screenshot_of_each_kind_of_page(site: Site, visit: Open, tmp_path: Path, look: str) -> None:
    named = os.environ.get("HARNESS_SCREENSHOTS")
    folder = Path(named) if named else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    page = visit(site.at("index.html"), **LOOKS[look])
    for path in site.kinds:
        page.goto(site.at(path))
        width = PHONE["width"] if look == "phone" else DESK["width"]
        height = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
        target = folder / f"{path.removesuffix('.html').replace('/', '-')}-{look}.png"
        page.set_viewport_size({"width": width, "height": height})  # what is out of sight is not drawn
        page.screenshot(path=target)
        page.set_viewport_size({"width": width, "height": DESK["height"]})
        assert target.read_bytes().startswith(SIGNATURE)
