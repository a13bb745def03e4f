"""Where people and metrics put one item among all of its dataset: a strip from the lowest to the highest place."""

from __future__ import annotations

from collections.abc import Sequence

from leaderboard.blocks.pictures.axes import axis, picture, text

WIDTH, HEIGHT, EDGE, LINE = 400, 46, 12, 24


def svg(people: float, metrics: float, columns: Sequence[float], description: str) -> str:
    """Draw places from 0 to 1: of people, the median of the metrics, and a stroke for each column."""
    across = axis(0.0, 1.0, EDGE, WIDTH - EDGE)
    strokes = "".join(f"M{across.place(place):.1f} {LINE - 7}v14" for place in columns)
    x, y = round(across.place(people), 1), round(across.place(metrics), 1)
    return picture("places", WIDTH, HEIGHT, description, (
        f'<path class="axis" d="M{EDGE} {LINE}H{WIDTH - EDGE}"/><path class="strokes" d="{strokes}"/>',
        f'<circle class="own" cx="{y:g}" cy="{LINE}" r="5.5"/>',
        f'<path class="people-mark" d="M{x:g} {LINE}m-5-5h10v10h-10z"/>',
        text(x, 11, "people", _side(people)), text(y, 43, "metrics", _side(metrics)),
        text(EDGE, 43, "" if metrics < 0.25 else "lowest"),
        text(WIDTH - EDGE, 43, "" if metrics > 0.75 else "highest", "e")))


def _side(place: float) -> str:
    """Let a word begin, centre or end at its place, so that it stays inside."""
    return "" if place < 0.1 else "e" if place > 0.9 else "m"
