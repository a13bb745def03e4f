"""A small histogram with its mean: one bar per value where values are few, else equal bins over the range."""

from __future__ import annotations

import numpy as np

from leaderboard.blocks.pictures.axes import Range, Vector, axis, picture, short, text, tick

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 250, 120, 34, 8, 10, 32
FEW, BINS = 12, 17


def svg(values: Vector, name: str, scale: Range, kind: str, description: str) -> str:
    """Draw the distribution of finite values, one or more, over their scale; `kind` is people or metric."""
    low, high = scale
    centres, counts, width = bars(values, low, high)
    across = axis(low, high, LEFT + 12, WIDTH - RIGHT - 12)
    up = axis(0.0, float(counts.max()), HEIGHT - BOTTOM, TOP)
    half = max(1.0, min(12.0, 0.45 * width * (across.stop - across.start) / (across.high - across.low)))
    floor = HEIGHT - BOTTOM
    shown = "".join(f"M{across.place(centre) - half:.1f} {floor}V{up.place(count):.1f}h{2 * half:.1f}V{floor}z"
                    for centre, count in zip(centres.tolist(), counts.tolist(), strict=True) if count)
    mean = round(across.place(float(values.mean(dtype=np.float64))), 1)
    ticks = across.ticks()
    parts = (f'<path class="bar {kind}" d="{shown}"/>',
             f'<path class="axis" d="M{LEFT} {floor}H{WIDTH - RIGHT}'
             + "".join(f"M{across.place(value):.1f} {floor}v3" for value in ticks) + '"/>',
             *(text(round(across.place(value), 1), floor + 13, tick(value), "m") for value in ticks),
             f'<path class="mean" d="M{mean:g} {TOP - 6}V{floor}"/>',
             text(LEFT - 5, TOP + 4, str(int(counts.max())), "e"), text(LEFT - 5, floor, "0", "e"),
             text((LEFT + WIDTH - RIGHT) / 2, floor + 26, short(name), "m n"))
    return picture("distribution", WIDTH, HEIGHT, description, parts)



def bars(values: Vector, low: float, high: float) -> tuple[Vector, Vector, float]:
    """Find the centres of the bars, how many values each has, and how wide it may be."""
    inside = np.clip(values.astype(np.float64), low, high)
    centres, counts = np.unique(np.round(inside, 6), return_counts=True)
    if centres.size <= FEW:
        gap = float(np.diff(centres).min()) if centres.size > 1 else (high - low) or 1.0
        return centres, counts.astype(np.float64), gap
    step = (high - low) / (BINS - 1)  # a bin around each end, so that a scale's whole numbers are not cut
    sizes, edges = np.histogram(inside, bins=BINS, range=(low - step / 2, high + step / 2))
    return (edges[:-1] + edges[1:]) / 2, sizes.astype(np.float64), step
