"""Many points as hexagons, darker where more items lie, with a scale of counts below.

A point belongs to the nearest centre of a lattice of two interleaved grids (Carr et al. 1987).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leaderboard.blocks.pictures.axes import Places, text

Centres: TypeAlias = npt.NDArray[np.float64]

RADIUS = 5.0
ACROSS, DOWN = RADIUS * 3**0.5, RADIUS * 1.5
SHADES = 5
SCALE = 16
"""How much higher the picture is for the scale of counts."""
OUTLINE = "l4.3 2.5v5l-4.3 2.5l-4.3-2.5v-5z"
"""From the top once around, for a radius of 5."""


def cells(x: Places, y: Places) -> str:
    """Draw the hexagons of points, and the scale of counts below."""
    centres, counts = binned(x, y)
    edges = limits(int(counts.max()))
    shades = np.searchsorted(edges, counts, side="right")
    drawn = [f'<path class="h{shade}" d="' + "".join(
        f"M{left:.1f} {top:.1f}{OUTLINE}" for left, top in centres[shades == shade] - (0.0, RADIUS)) + '"/>'
        for shade in range(1, len(edges) + 1) if (shades == shade).any()]
    return "".join(drawn) + _scale(edges, int(counts.max()))


def binned(x: Places, y: Places) -> tuple[Centres, Places]:
    """Find the centres (cells, 2) of the hexagons that hold a point, and how many each holds."""
    near = [_lattice(x, y, shift) for shift in (0.0, 0.5)]
    x_y = np.stack([x, y], axis=1)
    distances = [((centre - x_y) ** 2).sum(axis=1) for centre in near]
    chosen: Centres = np.where((distances[0] <= distances[1])[:, None], near[0], near[1])
    centres, counts = np.unique(np.round(chosen, 6), axis=0, return_counts=True)
    return centres, counts


def limits(most: int) -> list[int]:
    """Split the counts from 1 to the most into up to five shades, in equal ratios; the least count of each."""
    return sorted({round(most ** (shade / SHADES)) for shade in range(SHADES)})


def _lattice(x: Places, y: Places, shift: float) -> Centres:
    """Find the nearest centre in one of the two rectangular grids."""
    columns = (np.round(x / ACROSS - shift) + shift) * ACROSS
    rows = (np.round(y / (2 * DOWN) - shift) + shift) * 2 * DOWN
    return np.stack([columns, rows], axis=1)


def _scale(edges: list[int], most: int) -> str:
    ends = [*(edge - 1 for edge in edges[1:]), most]
    parts = [text(48, 200, "items:")]
    for shade, (low, high) in enumerate(zip(edges, ends, strict=True), start=1):
        left = 46 + 38 * shade
        parts += [f'<path class="h{shade}" d="M{left} 191.5{OUTLINE}"/>',
                  text(left + 7, 200, str(low) if low == high else f"{low}–{high}")]
    return "".join(parts)
