"""The sheet: every shade is readable, light and dark, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from importlib import resources

import pytest

CSS = (resources.files("leaderboard") / "static" / "style.css").read_text()
SHADES = [[f"{sign}{step}" for step in range(1, 6)] for sign in "np"]


def luminance(colour: str) -> float:
    """WCAG 2: relative luminance."""
    channels = (int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [1, 2], ids=["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(scheme: int) -> None:
    declared = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", CSS)
    colours = {found[0]: found[scheme] for found in declared}
    pairs = [(sign, ground, 4.5) for ground in ("page", "panel", "warn", *SHADES[0], *SHADES[1])
             for sign in ("text", "muted")]
    pairs += [(sign, ground, 3 if sign == "edge" else 4.5) for ground in ("page", "panel")
              for sign in ("link", "sign", "edge")]  # the edge is the border of a control
    assert not [pair for pair in pairs if contrast(colours[pair[0]], colours[pair[1]]) < pair[2]]
    for shades in SHADES:
        distances = [contrast(colours["page"], colours[name]) for name in shades]
        assert distances == sorted(distances), "a stronger shade is further from the page"


def test_the_sheet_asks_for_nothing_else() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS
