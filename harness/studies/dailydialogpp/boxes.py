"""Box plots of scores as one SVG picture: for each row of scores a strip with one box per kind of reply.

A box reaches from the first quartile to the third, with a line at the median; whiskers reach to the 5th and the 95th
percentile. Each strip has a scale of its own, and the threshold as a dashed line. What the picture shows stands in its
description and in titles as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from harness.statistics.panel import Vector

COLOURS = {"positive": "#97c3e6", "random": "#f0b07a", "adversarial": "#d9d9d9"}
LEFT, PLOT, RIGHT, LINE, TOP, SPACE = 150, 480, 60, 22, 34, 40
PERCENTILES = (5, 25, 50, 75, 95)


@dataclass(frozen=True, slots=True)
class Strip:
    """The scores of some rows by kind of reply, and where they are cut."""

    title: str
    scores: Mapping[str, Vector]
    threshold: float


def boxes(title: str, strips: Sequence[Strip]) -> bytes:
    """The strips below one another."""
    parts, y = [], 10
    for strip in strips:
        parts.append(_strip(strip, y))
        y += TOP + LINE * len(strip.scores) + SPACE
    described = " ".join(map(_described, strips))
    width = LEFT + PLOT + RIGHT
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" role="img" '
            f'aria-labelledby="title description" font-family="system-ui, sans-serif" font-size="12">\n'
            f'<title id="title">{escape(title)}</title>\n<desc id="description">{escape(described)}</desc>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}</svg>\n').encode()


def five(scores: Vector) -> tuple[float, ...]:
    """The 5th, 25th, 50th, 75th and 95th percentile of the finite scores; none without any."""
    finite = scores[np.isfinite(scores)]
    return tuple(float(value) for value in np.percentile(finite, PERCENTILES)) if len(finite) else ()


def _described(strip: Strip) -> str:
    return f"{strip.title}: " + "; ".join(_in_words(kind, five(scores)) for kind, scores in strip.scores.items()) + "."


def _in_words(kind: str, values: Sequence[float]) -> str:
    if not values:
        return f"{kind}: no scores"
    low, first, middle, third, high = map(_short, values)
    return f"{kind}: median {middle}, half between {first} and {third}, 90 % between {low} and {high}"


def _strip(strip: Strip, top: int) -> str:
    known = {kind: values for kind, scores in strip.scores.items() if (values := five(scores))}
    lines = [f'<text x="10" y="{top + 16}" font-size="13" font-weight="600">{escape(strip.title)}</text>']
    if not known:
        return "\n".join(lines) + "\n"
    low = min(values[0] for values in known.values())
    wide = (max(values[-1] for values in known.values()) - low) or 1.0
    place = {kind: tuple(LEFT + PLOT * (value - low) / wide for value in values) for kind, values in known.items()}
    bottom = top + TOP + LINE * len(strip.scores)
    for number, kind in enumerate(strip.scores):
        middle = top + TOP + LINE * number + LINE // 2
        lines.append(f'<text x="{LEFT - 10}" y="{middle + 4}" text-anchor="end">{escape(kind)}</text>')
        if kind in place:
            lines.append(_box(kind, place[kind], middle, _in_words(kind, known[kind])))
    if low <= strip.threshold <= low + wide:
        x = LEFT + PLOT * (strip.threshold - low) / wide
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + TOP - 4}" y2="{bottom}" stroke="#000000" '
                     f'stroke-dasharray="3 3"><title>threshold {_short(strip.threshold)}</title></line>')
    lines.append(f'<text x="{LEFT}" y="{bottom + 14}" text-anchor="middle">{_short(low)}</text>')
    lines.append(f'<text x="{LEFT + PLOT}" y="{bottom + 14}" text-anchor="middle">{_short(low + wide)}</text>')
    return "\n".join(lines) + "\n"


def _box(kind: str, at: Sequence[float], middle: int, words: str) -> str:
    low, first, median, third, high = at
    return (f'<g stroke="#333333"><title>{escape(words)}</title>'
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>'
            f'<rect x="{first:.1f}" y="{middle - 7}" width="{max(third - first, 0.5):.1f}" height="14" '
            f'fill="{COLOURS[kind]}"/>'
            f'<line x1="{median:.1f}" x2="{median:.1f}" y1="{middle - 7}" y2="{middle + 7}" stroke-width="2"/></g>')


def _short(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
