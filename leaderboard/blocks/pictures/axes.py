"""What every picture has: an axis from a value to a place, its ticks, texts, and the SVG element around it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Vector: TypeAlias = npt.NDArray[np.floating]
Places: TypeAlias = npt.NDArray[np.int64]
Range: TypeAlias = tuple[float, float]

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TAIL = 0.01  # the share at each end that may lie beyond the axis
FAR = 2.0  # ... where the whole range is so many times the range without them
FEW = 20  # of fewer values none is left out
LONGEST = 34


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


def tick(value: float) -> str:
    """Write a value on an axis, thousands from ten of them on as k."""
    shown = f"{value / 1000:g}k" if 1e4 <= abs(value) < 1e8 else f"{value:g}"
    return shown.replace("-", "−")


def short(name: str, longest: int = LONGEST) -> str:
    """Cut a name that has no room."""
    return name if len(name) <= longest else name[:longest - 1] + "…"


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Write words at a place; `kind` names classes of the style sheet."""
    classes = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{classes}>{escape(words)}</text>'


def frame(across: Axis, up: Axis, names: tuple[str, str], room: int) -> str:
    """Draw the two axes of a plot with ticks and names, `room` away from the outermost points."""
    left, bottom, top = across.start - room, up.start + room, up.stop - room
    lines, words = [], []
    for value in up.ticks():
        y = round(up.place(value), 1)
        lines.append(f"M{left} {y:g}h-3")
        words.append(text(left - 5, y + 3.5, tick(value), "e"))
    turned = (f'<text transform="translate(9 {(top + bottom) / 2:g}) rotate(-90)" class="m n">'
              f'{escape(short(names[1], 26))}</text>')
    return (f'<path class="axis" d="M{left} {top}V{bottom}{"".join(lines)}"/>{"".join(words)}{turned}'
            + _floor(across, bottom, names[0], room))


@functools.lru_cache(maxsize=256)  # the plots of all metrics on a quality stand on the same one
def _floor(across: Axis, bottom: int, name: str, room: int) -> str:
    left, right = across.start - room, across.stop + room
    places = [(round(across.place(value), 1), tick(value)) for value in across.ticks()]
    lines = "".join(f"M{x:g} {bottom}v3" for x, _ in places)
    return (f'<path class="axis" d="M{left} {bottom}H{right}{lines}"/>'
            + "".join(text(x, bottom + 13, words, "m") for x, words in places)
            + text((left + right) / 2, bottom + 26, short(name), "m n"))


def picture(kind: str, width: int, height: int, description: str, parts: Iterable[str]) -> str:
    """Put parts into an SVG element that says in words what it shows."""
    return (f'<svg class="plot {kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(description)}">'
            f'{"".join(parts)}</svg>')
