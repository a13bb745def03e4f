"""The sheet: every shade is readable, light and dark, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from importlib import resources

import pytest

CSS = (resources.files("leaderboard") / "static" / "style.css").read_text()
SHADES = [f"{sign}{step}" for sign in "np" for step in range(1, 6)]


def scheme(dark: bool) -> dict[str, str]:
    found = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", CSS)
    return {name: (night if dark else day) for name, day, night in found}


def luminance(colour: str) -> float:
    """WCAG 2: relative luminance."""
    channels = (int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("ground", ["page", "panel", "warn", *SHADES])
def test_text_has_the_contrast_of_wcag_aa(ground: str, dark: bool) -> None:
    colours = scheme(dark)
    assert contrast(colours["text"], colours[ground]) >= 4.5
    assert contrast(colours["muted"], colours[ground]) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_links_have_the_contrast_of_wcag_aa(dark: bool) -> None:
    colours = scheme(dark)
    for ground in ("page", "panel"):
        assert contrast(colours["link"], colours[ground]) >= 4.5
        assert contrast(colours["sign"], colours[ground]) >= 4.5
        assert contrast(colours["edge"], colours[ground]) >= 3  # the border of a control


@pytest.mark.parametrize("dark", [False, True])
def test_a_stronger_shade_is_further_from_the_page(dark: bool) -> None:
    colours = scheme(dark)
    for sign in "np":
        distances = [contrast(colours["page"], colours[f"{sign}{step}"]) for step in range(1, 6)]
        assert distances == sorted(distances)


def test_the_sheet_asks_for_nothing_else() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS
