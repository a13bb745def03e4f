"""Pictures of items as SVG: scores against ratings, distributions, and the axes, ticks and texts that they share.

The points of a scatter plot are a few paths of zero-length strokes with round ends: a path per class of how many items
share a place, so that a page with fifty plots stays small.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.results.rows import QualityEntry

Vector: TypeAlias = npt.NDArray[np.floating]
Places: TypeAlias = npt.NDArray[np.int64]
Range: TypeAlias = tuple[float, float]

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TAIL = 0.01  # the share at each end that may lie beyond the axis
FAR = 2.0  # ... where the whole range is so many times the range without them
FEW = 20  # of fewer values none is left out
ROOM = 7  # between an axis and the outermost points
SHARED = (2, 4, 8)  # a dot stands for 1, for 2 to 3, for 4 to 7, for 8 items or more
WIDTH, HEIGHT = 256, 190  # of a scatter plot
N = "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
BARS, BINS = 12, 17  # so many values have a bar each, else so many bins


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
        return self.start + (self.stop - self.start) * (inside - self.low) / (self.high - self.low)

    def places(self, values: Vector) -> Places:
        """Find the places of many values, in whole units."""
        inside = np.clip(values.astype(np.float64), self.low, self.high)
        share = (inside - self.low) / (self.high - self.low)
        return np.rint(self.start + (self.stop - self.start) * share).astype(np.int64)

    def ticks(self, wanted: int = 4) -> list[float]:
        """Choose round values, about as many as wanted."""
        least = (self.high - self.low) / wanted
        magnitude = 10.0 ** math.floor(math.log10(least))
        step = next(size * magnitude for size in STEPS if size * magnitude >= least * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) + 0.0 for number in range(first, last + 1)]


def axis(low: float, high: float, start: int, stop: int) -> Axis:
    """Make an axis over a range, widened where it is a single value."""
    if high > low and math.isfinite(high - low) and (high - low) > 1e-9 * max(abs(low), abs(high)):
        return Axis(low, high, start, stop)
    room = 0.5 * abs(low) or 0.5
    return Axis(low - room, low + room, start, stop)


def bulk(values: Vector) -> Range:
    """Find the range to be shown of finite values: all of them, or without a few that would press the rest flat."""
    low, high = float(values.min()), float(values.max())
    tail = math.ceil(TAIL * values.size) if values.size >= FEW else 0
    ordered = np.partition(values, (tail, values.size - 1 - tail))
    inner_low, inner_high = float(ordered[tail]), float(ordered[values.size - 1 - tail])
    inner = inner_high - inner_low
    if inner <= 0 or high - low <= FAR * inner:
        return low, high
    return max(low, inner_low - 0.05 * inner), min(high, inner_high + 0.05 * inner)


def scale(quality: QualityEntry, ratings: Vector) -> Range:
    """Take the scale of a quality where it is known, else the range of its ratings; no rating lies outside."""
    low, high = float(ratings.min()), float(ratings.max())
    return (low if quality.low is None else min(quality.low, low),
            high if quality.high is None else max(quality.high, high))


def tick(value: float) -> str:
    """Write a value on an axis, thousands from ten of them on as k."""
    shown = f"{value / 1000:g}k" if 1e4 <= abs(value) < 1e8 else f"{value:g}"
    return shown.replace("-", "−")


def short(name: str, longest: int = 34) -> str:
    """Cut a name that has no room."""
    return name if len(name) <= longest else name[:longest - 1] + "…"


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Write words at a place; `kind` names classes of the style sheet."""
    classes = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{classes}>{escape(words)}</text>'


def scatter(ratings: Vector, scores: Vector, names: tuple[str, str], scale: Range, extent: Range,
            description: str) -> str:
    """Draw finite ratings (across, over their scale) and scores (up, over their extent); one point or more."""
    across, up = axis(*scale, 48 + ROOM, WIDTH - 6 - ROOM), axis(*extent, HEIGHT - 32 - ROOM, 4 + ROOM)
    left, bottom, top = across.start - ROOM, up.start + ROOM, up.stop - ROOM
    places = [(round(up.place(value), 1), tick(value)) for value in up.ticks()]
    lines = "".join(f"M{left} {y:g}h-3" for y, _ in places)
    words = "".join(text(left - 5, y + 3.5, value, "e") for y, value in places)
    turned = (f'<text transform="translate(9 {(top + bottom) / 2:g}) rotate(-90)" class="m n">'
              f'{escape(short(names[1], 26))}</text>')
    return picture("scatter", WIDTH, HEIGHT, description, (
        f'<path class="axis" d="M{left} {top}V{bottom}{lines}"/>{words}{turned}', _floor(across, bottom, names[0]),
        dots(across.places(ratings), up.places(scores))))


@functools.lru_cache(maxsize=256)  # the plots of all metrics on a quality stand on the same one
def _floor(across: Axis, bottom: int, name: str) -> str:
    left, right = across.start - ROOM, across.stop + ROOM
    places = [(round(across.place(value), 1), tick(value)) for value in across.ticks()]
    lines = "".join(f"M{x:g} {bottom}v3" for x, _ in places)
    return (f'<path class="axis" d="M{left} {bottom}H{right}{lines}"/>'
            + "".join(text(x, bottom + 13, words, "m") for x, words in places)
            + text((left + right) / 2, bottom + 26, short(name), "m n"))


def dots(x: Places, y: Places) -> str:
    """Draw points at whole places, by short relative steps: m3-5h0; a dot is larger the more items share its place."""
    codes, counts = np.unique(x * 1000 + y, return_counts=True)  # sorted: from left to right
    classes = np.searchsorted(SHARED, counts, side="right")
    right, up_down = _steps()
    paths = []
    for number in np.unique(classes):
        across, down = np.divmod(codes[classes == number], 1000)
        across[1:], down[1:] = across[1:] - across[:-1], down[1:] - down[:-1]
        paths.append(f'<path class="d{number}" d="{"".join((right[across] + up_down[down]).tolist())}"/>')
    return "".join(paths)


@functools.cache
def _steps() -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """Every step as text, by its number: negative ones are found from the end."""
    across = [f"m{step}" for step in range(WIDTH + 1)]
    down = [f" {step}h0" for step in range(HEIGHT + 1)] + [f"{step}h0" for step in range(-HEIGHT, 0)]
    return np.array(across, dtype=object), np.array(down, dtype=object)


def distribution(values: Vector, name: str, scale: Range, kind: str, description: str) -> str:
    """Draw a histogram of finite values, one or more, over their scale, with the mean; `kind` is people or metric."""
    width, left, right, top, floor = 250, 34, 242, 10, 88
    centres, counts, step = bars(values, *scale)
    across, up = axis(*scale, left + 12, right - 12), axis(0.0, float(counts.max()), floor, top)
    half = max(1.0, min(12.0, 0.45 * step * (across.stop - across.start) / (across.high - across.low)))
    shown = "".join(f"M{across.place(centre) - half:.1f} {floor}V{up.place(count):.1f}h{2 * half:.1f}V{floor}z"
                    for centre, count in zip(centres.tolist(), counts.tolist(), strict=True) if count)
    mean = round(across.place(float(values.mean(dtype=np.float64))), 1)
    ticks = across.ticks()
    return picture("distribution", width, 120, description, (
        f'<path class="bar {kind}" d="{shown}"/>', f'<path class="axis" d="M{left} {floor}H{right}',
        *(f"M{across.place(value):.1f} {floor}v3" for value in ticks), '"/>',
        *(text(round(across.place(value), 1), floor + 13, tick(value), "m") for value in ticks),
        f'<path class="mean" d="M{mean:g} {top - 6}V{floor}"/>',
        text(left - 5, top + 4, str(int(counts.max())), "e"), text(left - 5, floor, "0", "e"),
        text((left + right) / 2, floor + 26, short(name), "m n")))


def bars(values: Vector, low: float, high: float) -> tuple[Vector, Vector, float]:
    """Find the centres of the bars, one per value or per bin, how many values each has, and how wide it may be."""
    inside = np.clip(values.astype(np.float64), low, high)
    centres, counts = np.unique(np.round(inside, 6), return_counts=True)
    if centres.size <= BARS:
        gap = float(np.diff(centres).min()) if centres.size > 1 else (high - low) or 1.0
        return centres, counts.astype(np.float64), gap
    step = (high - low) / (BINS - 1)  # a bin around each end, so that a scale's whole numbers are not cut
    sizes, edges = np.histogram(inside, bins=BINS, range=(low - step / 2, high + step / 2))
    return (edges[:-1] + edges[1:]) / 2, sizes.astype(np.float64), step


def picture(kind: str, width: int, height: int, description: str, parts: Iterable[str]) -> str:
    """Put parts into an SVG element that says in words what it shows."""
    return (f'<svg class="plot {kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(description)}">'
            f'{"".join(parts)}</svg>')
