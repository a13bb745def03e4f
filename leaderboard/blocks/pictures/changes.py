"""Correlations of two results as points: the earlier value across, the present one up; unchanged on the line."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.blocks.tables import Picture
from leaderboard.model.changes import Change

SIZE, LEFT, TOP, BELOW = 320, 44, 10, 40
TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)
MOST = 3000
"""Of more points than this those that changed least are left out."""


def picture(changed: Sequence[Change], common: int, data: str) -> Picture:
    """Draw the changed correlations; circles within the earlier interval, diamonds beyond it."""
    drawn = list(changed[:MOST])
    low, high = _ends(drawn)
    beyond, up = sum(change.beyond is True for change in drawn), sum(change.difference > 0 for change in drawn)
    words = (f"{len(changed)} of {common} correlations changed. {up} rose, {len(drawn) - up} fell; the largest "
             f"difference is {abs(drawn[0].difference):.3f}. {beyond} of them lie beyond the earlier 95 % interval.")
    marks = "".join(_mark(change, low, high) for change in sorted(drawn, key=lambda change: bool(change.beyond)))
    width, height = LEFT + SIZE + 16, TOP + SIZE + BELOW
    svg = (f'<svg class="changes" role="img" aria-label="{words}" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}">{_axes(low, high)}<g>{marks}</g></svg>')
    thinned = f" The {MOST} that changed most are drawn." if len(changed) > MOST else ""
    return Picture(svg, words, "Each changed correlation, earlier across and now up; an unchanged one would lie on the "
                               f"line. Diamonds: beyond the earlier 95 % interval. On {data}.{thinned}")


def _ends(changed: Sequence[Change]) -> tuple[float, float]:
    """Return the smallest range of half steps that holds every value."""
    values = [value for change in changed for value in (change.old.value, change.new.value)]
    low = max((tick for tick in TICKS if tick <= min(values)), default=-1.0)
    high = min((tick for tick in TICKS if tick >= max(values)), default=1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _place(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) * SIZE


def _axes(low: float, high: float) -> str:
    parts = [f'<path class="same" d="M{LEFT} {TOP + SIZE}L{LEFT + SIZE} {TOP}"/>']
    for tick in (tick for tick in TICKS if low <= tick <= high):
        across = LEFT + _place(tick, low, high)
        down = TOP + SIZE - _place(tick, low, high)
        label = f"{tick:g}".replace("-", "−")
        parts.append(f'<path class="grid" d="M{across:.1f} {TOP}V{TOP + SIZE}M{LEFT} {down:.1f}H{LEFT + SIZE}"/>'
                     f'<text class="m" x="{across:.1f}" y="{TOP + SIZE + 14}">{label}</text>'
                     f'<text class="e" x="{LEFT - 6}" y="{down + 3.5:.1f}">{label}</text>')
    middle = TOP + SIZE / 2
    parts.append(f'<text class="m" x="{LEFT + SIZE / 2}" y="{TOP + SIZE + 31}">earlier</text>'
                 f'<text class="m" transform="translate(11 {middle}) rotate(-90)">now</text>')
    return "".join(parts)


def _mark(change: Change, low: float, high: float) -> str:
    across = LEFT + _place(change.old.value, low, high)
    down = TOP + SIZE - _place(change.new.value, low, high)
    if change.beyond:
        return f'<path class="beyond" d="M{across:.1f} {down - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>'
    return f'<circle class="within" cx="{across:.1f}" cy="{down:.1f}" r="2.5"/>'
