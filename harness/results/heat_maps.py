"""Heat maps of correlations as SVG, with a description: orange for -1, white for 0, blue for 1, and the number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from harness.results.exhibits import HeatMap, number

NEGATIVE, ZERO, POSITIVE = (240, 176, 122), (255, 255, 255), (151, 195, 230)
"""Colours of -1, 0 and 1; black text has a contrast of more than 7 on each of them."""

SQUARE, TITLE = 38, 50
LETTER, MAX_LABEL = 7, 230
"""Width of a letter, and maximum space for a label."""


def drawn(title: str, maps: Sequence[HeatMap]) -> str:
    """Draw maps below one another."""
    longest = max((len(label) for heat in maps for label in heat.labels), default=0)
    space = min(MAX_LABEL, LETTER * longest + 20)
    heights = [TITLE + space + SQUARE * len(heat.labels) for heat in maps]
    width = 20 + max(max(space + SQUARE * len(heat.labels), (LETTER + 2) * len(heat.title)) for heat in maps)
    height = sum(heights) + 20
    parts = [f'<g transform="translate(0 {sum(heights[:index])})">\n{_map(heat, space)}</g>\n'
             for index, heat in enumerate(maps)]
    description = escape(" ".join(heat.told for heat in maps))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" tabindex="0" aria-label="{description}" font-family="system-ui, sans-serif" '
            f'font-size="12">\n<title>{escape(title)}</title>\n<desc>{description}</desc>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}</svg>\n')


def _map(heat: HeatMap, space: int) -> str:
    top = TITLE + space
    lines = [f'<text x="10" y="30" font-size="15" font-weight="600">{escape(heat.title)}</text>']
    for i, label in enumerate(heat.labels):
        middle = i * SQUARE + SQUARE / 2
        lines.append(f'<text x="{space - 8}" y="{top + middle + 4}" text-anchor="end">{escape(label)}</text>')
        lines.append(f'<text transform="translate({space + middle + 4} {top - 8}) rotate(-90)">{escape(label)}</text>')
        lines += [_square(heat, i, j, space) for j in range(len(heat.labels))]
    return "\n".join(lines) + "\n"


def _square(heat: HeatMap, i: int, j: int, space: int) -> str:
    value = heat.values[i][j]
    x, y = space + j * SQUARE, TITLE + space + i * SQUARE
    shown = number(math.nan if value is None else value)
    return (f'<g><title>{escape(f"{heat.labels[i]} and {heat.labels[j]}: {shown}")}</title>'
            f'<rect x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE}" fill="{colour(value)}" stroke="#ffffff"/>'
            f'<text x="{x + SQUARE / 2}" y="{y + SQUARE / 2 + 4}" text-anchor="middle">{shown}</text></g>')


def colour(value: float | None) -> str:
    """Return the colour of a value from -1 to 1, or grey."""
    if value is None:
        return "#eeeeee"
    end, share = POSITIVE if value > 0 else NEGATIVE, min(1.0, abs(value))
    return "#" + "".join(f"{round(zero + share * (full - zero)):02x}" for zero, full in zip(ZERO, end, strict=True))
