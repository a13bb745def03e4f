"""Heat maps of correlations as one SVG picture: orange for -1, white for 0, blue for 1, and the number.

The picture has a title and a description for those who do not see it; every square says itself what it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from harness.results.exhibits import number
from harness.statistics.panel import Array

AGAINST, NOTHING, FOR = (240, 176, 122), (255, 255, 255), (151, 195, 230)
"""Black text has a contrast of more than 7 on each of them."""

SQUARE, LABEL, TITLE = 36, 230, 50


@dataclass(frozen=True, slots=True)
class Map:
    """A square of correlations, NaN where there is none, with a label for each row and column; `told` describes it."""

    title: str
    labels: tuple[str, ...]
    values: Array
    told: str


def heat_maps(title: str, maps: Sequence[Map]) -> tuple[str, str]:
    """The maps below one another, and what they show in words."""
    heights = [TITLE + LABEL + SQUARE * len(one.labels) for one in maps]
    width = LABEL + SQUARE * max(len(one.labels) for one in maps) + 20
    parts = [f'<g transform="translate(0 {sum(heights[:number])})">\n{_map(one)}</g>\n'
             for number, one in enumerate(maps)]
    described = " ".join(one.told for one in maps)
    picture = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {sum(heights) + 20}" role="img" '
               f'aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="12">\n'
               f'<title id="title">{escape(title)}</title>\n<desc id="description">{escape(described)}</desc>\n'
               f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}</svg>\n')
    return picture, f"{title}. {described}"


def _map(one: Map) -> str:
    top = TITLE + LABEL
    lines = [f'<text x="10" y="30" font-size="15" font-weight="600">{escape(one.title)}</text>']
    for i, label in enumerate(one.labels):
        middle = i * SQUARE + SQUARE / 2
        lines.append(f'<text x="{LABEL - 8}" y="{top + middle + 4}" text-anchor="end">{escape(label)}</text>')
        lines.append(f'<text transform="translate({LABEL + middle + 4} {top - 8}) rotate(-90)">{escape(label)}</text>')
        lines += [_square(one, i, j) for j in range(len(one.labels))]
    return "\n".join(lines) + "\n"


def _square(one: Map, i: int, j: int) -> str:
    value = float(one.values[i, j])
    x, y = LABEL + j * SQUARE, TITLE + LABEL + i * SQUARE
    shown = number(value)
    return (f'<g><title>{escape(f"{one.labels[i]} and {one.labels[j]}: {shown}")}</title>'
            f'<rect x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE}" fill="{colour(value)}" stroke="#ffffff"/>'
            f'<text x="{x + SQUARE / 2}" y="{y + SQUARE / 2 + 4}" text-anchor="middle">{shown}</text></g>')


def colour(value: float) -> str:
    """The colour of a value from -1 to 1; grey where there is none."""
    if not math.isfinite(value):
        return "#eeeeee"
    end, share = FOR if value > 0 else AGAINST, min(1.0, abs(value))
    return "#" + "".join(f"{round(zero + share * (one - zero)):02x}" for zero, one in zip(NOTHING, end, strict=True))
