"""Pictures of items as SVG: scores against ratings, and how ratings lie."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.results.rows import QualityEntry

Vector: TypeAlias = npt.NDArray[np.floating]
Range: TypeAlias = tuple[float, float]

WIDTH, HEIGHT = 300, 200
LEFT, RIGHT, TOP, BOTTOM = 50, 288, 12, 160
TICKS = 5
BINS = 17
TAIL = 0.01  # the share of scores at each end that may lie beyond the axis


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` at `start` to `high` at `stop`, in units of the picture; what lies beyond is put on its end."""

    low: float
    high: float
    start: int
    stop: int

    def place(self, value: float) -> float:
        """Find the place of a value."""
        inside = min(max(value, self.low), self.high)
        return self.start + (self.stop - self.start) * (inside - self.low) / ((self.high - self.low) or 1.0)

    def ticks(self) -> list[tuple[float, str]]:
        """The places of a few values at equal distances, and the values as text."""
        return [(self.place(value), f"{value:.3g}".replace("-", "−"))
                for value in np.linspace(self.low, self.high, TICKS).tolist()]


def scale(quality: QualityEntry, ratings: Vector) -> Range:
    """Take the scale of a quality where it is known, else the range of its ratings; no rating lies outside."""
    low, high = float(ratings.min()), float(ratings.max())
    return (low if quality.low is None else min(quality.low, low),
            high if quality.high is None else max(quality.high, high))


def scatter(ratings: Vector, scores: Vector, names: tuple[str, str], scale: Range, description: str) -> str:
    """Draw finite ratings (across, over their scale) and scores (up), a dot an item; darker where many lie."""
    low, high = np.quantile(scores, [TAIL, 1 - TAIL]).tolist()
    across, up = Axis(*scale, LEFT + 8, RIGHT - 8), Axis(low, high, BOTTOM - 8, TOP + 8)
    dots = "".join(f'<circle cx="{across.place(rating):.1f}" cy="{up.place(score):.1f}" r="3"/>'
                   for rating, score in zip(ratings.tolist(), scores.tolist(), strict=True))
    ticks = "".join(f'<text x="{LEFT - 4}" y="{y + 3:.1f}" text-anchor="end">{label}</text>' for y, label in up.ticks())
    title = f'<text x="{LEFT}" y="{TOP - 2}">{escape(names[1])}</text>'
    return _picture(across, names[0], description, f'{ticks}{title}<g fill="#3b7dd8" fill-opacity="0.3">{dots}</g>')


def distribution(values: Vector, name: str, scale: Range, description: str) -> str:
    """Draw a histogram of finite values, one or more, over their scale, with the number of values over each bar."""
    half = ((scale[1] - scale[0]) or 1.0) / (BINS - 1) / 2  # a bin around each end: no whole number stands on an edge
    counts, edges = np.histogram(values, bins=BINS, range=(scale[0] - half, scale[1] + half))
    across, up = Axis(float(edges[0]), float(edges[-1]), LEFT, RIGHT), Axis(0.0, float(counts.max()), BOTTOM, TOP + 8)
    bars = "".join(
        f'<path d="M{across.place(left):.1f} {BOTTOM}V{up.place(count):.1f}H{across.place(right):.1f}V{BOTTOM}z"/>'
        f'<text x="{across.place((left + right) / 2):.1f}" y="{up.place(count) - 2:.1f}" text-anchor="middle" '
        f'font-size="7">{count}</text>'
        for left, right, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True) if count)
    return _picture(Axis(*scale, round(across.place(scale[0])), round(across.place(scale[1]))), name, description,
                    f'<g fill="#3b7dd8">{bars}</g>')


def _picture(across: Axis, name: str, description: str, parts: str) -> str:
    """Put parts over an axis with a name, into an SVG element that says in words what it shows."""
    ticks = "".join(f'<text x="{x:.1f}" y="{BOTTOM + 14}" text-anchor="middle">{label}</text>'
                    for x, label in across.ticks())
    return (f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" aria-label="{escape(description)}" '
            f'font-size="10" font-family="sans-serif" fill="#808080">{parts}'
            f'<path stroke="#808080" d="M{LEFT} {BOTTOM}H{RIGHT}"/>{ticks}'
            f'<text x="{(LEFT + RIGHT) / 2:g}" y="{BOTTOM + 30}" text-anchor="middle">{escape(name)}</text></svg>')
