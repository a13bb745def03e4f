"""Correlation against cost: a dot per metric on a log axis, and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from leaderboard.blocks.tables import Picture
from leaderboard.model import sentences
from leaderboard.model.cost import costs
from leaderboard.model.index import Column, Index
from leaderboard.model.questions import Question

WIDTH, HEIGHT, LEFT, RIGHT, TOP, FLOOR = 720, 300, 44, 620, 14, 262
NEAR = (90, 13)
"""Names closer than this, across and up, would overlap and are only in the caption."""
CHEAPEST = 0.01
"""Smaller costs are drawn here."""


def cost_picture(index: Index, question: Question, columns: Sequence[Column]) -> Picture | None:
    """Draw the columns with a known cost; None if there are fewer than three."""
    column_costs = costs(index.results)
    points = sorted((max(cost.seconds, CHEAPEST), -row.value, column) for column in columns
                    if (row := question.row(column)) and (cost := column_costs.get(column))
                    and math.isfinite(cost.seconds))
    if len(points) < 3:
        return None
    front = [point for rank, point in enumerate(points) if all(point[1] < cheaper[1] for cheaper in points[:rank])]
    low, high = (math.floor(math.log10(points[0][0])), math.ceil(math.log10(points[-1][0]) + 1e-9))
    values = [-value for _, value, _ in points]
    bottom, top = min(0.0, math.floor(min(values) * 10) / 10), max(math.ceil(max(values) * 10) / 10, 0.1)

    def across(seconds: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (math.log10(seconds) - low) / max(high - low, 1), 1)

    def up(value: float) -> float:
        return round(FLOOR - (FLOOR - TOP) * (value - bottom) / (top - bottom), 1)

    steps = "".join(f"{'H' if step else 'M'}{across(seconds)}{'V' if step else ' '}{up(-value)}"
                    for step, (seconds, value, _) in enumerate(front)) + f"H{RIGHT}"
    ticks = "".join(f'<text x="{across(10.0 ** power)}" y="{FLOOR + 16}" class="m">{10.0 ** power:g}</text>'
                    for power in range(low, high + 1))
    heights = "".join(f'<text x="{LEFT - 6}" y="{up(step / 10) + 3}" class="e">{step / 10:g}</text>'.replace("-", "−")
                      for step in range(round(bottom * 10), round(top * 10) + 1))
    circles = "".join(f'<circle class="own" cx="{across(seconds)}" cy="{up(-value)}" r="4"/>'
                      for seconds, value, _ in points)
    named = [(across(seconds) + 7, up(-value) - 6, index.labels[column][:24]) for seconds, value, column in front]
    free = [(x, y, name) for rank, (x, y, name) in enumerate(named) if not any(
        abs(x - other_x) < NEAR[0] and abs(y - other_y) < NEAR[1] for other_x, other_y, _ in named[rank + 1:])]
    names = "".join(f'<text x="{x}" y="{y}" class="n">{escape(name)}</text>' for x, y, name in free)
    text = "No metric reaches a higher correlation at a lower cost than " + "; ".join(
        f"{index.labels[column]}, {-value:.2f} at {sentences.seconds(column_costs[column])} s"
        for _, value, column in front)
    return Picture(
        f'<svg class="plot costs" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'tabindex="0" aria-label="{escape(text)}"><path class="axis" d="M{LEFT} {TOP}V{FLOOR}H{RIGHT}"/>'
        f'<path class="pareto" d="{steps}"/>{ticks}{heights}{circles}{names}'
        f'<text x="{(LEFT + RIGHT) // 2}" y="{HEIGHT - 4}" class="m n">seconds per 1,000 items</text></svg>',
        text, f"{text}.")
