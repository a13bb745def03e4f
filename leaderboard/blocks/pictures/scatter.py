"""A scatter plot of scores against human ratings.

Points are a few paths of zero-length strokes with round ends: a path per class of how many items share a place, so
that a page with fifty plots stays small.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from leaderboard.blocks.pictures.axes import Places, Range, Vector, axis, frame, picture

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 256, 190, 48, 6, 4, 32
ROOM = 7
"""Between an axis and the outermost points."""

CLASSES = (2, 4, 8)  # a dot stands for 1, for 2 to 3, for 4 to 7, for 8 items or more


def svg(ratings: Vector, scores: Vector, names: tuple[str, str], scale: Range, extent: Range, description: str) -> str:
    """Draw finite ratings (across, over their scale) and scores (up, over their extent); one point or more."""
    across = axis(*scale, LEFT + ROOM, WIDTH - RIGHT - ROOM)
    up = axis(*extent, HEIGHT - BOTTOM - ROOM, TOP + ROOM)
    drawn = dots(across.places(ratings), up.places(scores))
    return picture("scatter", WIDTH, HEIGHT, description, (frame(across, up, names, ROOM), drawn))


def dots(x: Places, y: Places) -> str:
    """Draw points at whole places; a dot is larger the more items share its place."""
    codes, counts = np.unique(x * 1000 + y, return_counts=True)  # sorted: from left to right
    classes = np.searchsorted(CLASSES, counts, side="right")
    return "".join(f'<path class="d{number}" d="{_path(codes[classes == number])}"/>'
                   for number in range(len(CLASSES) + 1) if (classes == number).any())


def _path(codes: Places) -> str:
    """Go from point to point by short relative steps: m3-5h0."""
    x, y = codes // 1000, codes % 1000
    across, down = x.copy(), y.copy()
    across[1:] -= x[:-1]
    down[1:] -= y[:-1]
    right, up_down = _steps()
    return "".join((right[across] + up_down[down]).tolist())


@functools.cache
def _steps() -> tuple[npt.NDArray[np.object_], npt.NDArray[np.object_]]:
    """Every step as text, by its number: negative ones are found from the end."""
    across = [f"m{step}" for step in range(WIDTH + 1)]
    down = [f" {step}h0" for step in range(HEIGHT + 1)] + [f"{step}h0" for step in range(-HEIGHT, 0)]
    return np.array(across, dtype=object), np.array(down, dtype=object)
