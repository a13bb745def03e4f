"""SVG pictures: correlation against cost with its Pareto front, power, votes, and the positions of an item."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from harness.results.decision_rows import VoteCount
from harness.results.power import Power
from harness.results.rows import Example
from leaderboard.blocks.tables import Block, Cell, Facts, Picture
from leaderboard.model import titles
from leaderboard.model.cost import cost_of
from leaderboard.model.index import ColumnKey, Index
from leaderboard.model.questions import Question

RATERS = {"rater": "one rater against the others", "limit": "limit from rater noise"}
"""Bands of a dot plot and their meanings."""
INTERVALS = "Spearman correlation with 95 % intervals, which treat items as independent."
WIDTH, HEIGHT, LEFT, RIGHT, TOP, AXIS_Y = 720, 300, 44, 620, 14, 262
SMALL_WIDTH, SMALL_MARGIN, SMALL_AXIS_Y = 400, 12, 140
"""Pixels of the picture of costs and of the small pictures: size, margins and height of the horizontal axis."""
MIN_LABEL_DISTANCE = (90, 13)
"""Labels closer than this (horizontally, vertically) would overlap, so only the caption has the first one."""
MIN_COST = 0.01
"""Smaller costs are drawn at this value."""


def cost_picture(index: Index, question: Question, columns: Sequence[ColumnKey]) -> Picture | None:
    """Draw a dot for each column with a known cost, on a log axis; return None if there are fewer than three."""
    points = sorted((max(seconds, MIN_COST), -question.ranked[column].value, column) for column in columns
                    if column in question.ranked and math.isfinite(seconds := cost_of(index, column).seconds))
    if len(points) < 3:
        return None
    front = [point for rank, point in enumerate(points) if all(point[1] < cheaper[1] for cheaper in points[:rank])]
    values = [-value for _, value, _ in points]
    plane = Plane(
        10.0 ** math.floor(math.log10(points[0][0])), 10.0 ** math.ceil(math.log10(points[-1][0]) + 1e-9), RIGHT,
        min(0.0, math.floor(min(values) * 10) / 10), max(math.ceil(max(values) * 10) / 10, 0.1), AXIS_Y)
    steps = "".join(f"{'H' if step else 'M'}{plane.x(seconds)}{'V' if step else ' '}{plane.y(-value)}"
                    for step, (seconds, value, _) in enumerate(front)) + f"H{RIGHT}"
    circles = (f'<circle class="own" cx="{plane.x(seconds)}" cy="{plane.y(-value)}" r="4"/>'
               for seconds, value, _ in points)
    labels = [(plane.x(seconds) + 7, plane.y(-value) - 6, titles.cut(index.labels[column], 24))
              for seconds, value, column in front]
    names = (f'<text x="{x}" y="{y}" class="n">{escape(name)}</text>' for rank, (x, y, name) in enumerate(labels)
             if not any(abs(x - other_x) < MIN_LABEL_DISTANCE[0] and abs(y - other_y) < MIN_LABEL_DISTANCE[1]
                        for other_x, other_y, _ in labels[rank + 1:]))
    text = (f"Of {len(points)} metrics with a known cost, these are the best for theirs: "
            + "; ".join(f"{index.labels[column]}, {-value:.2f} at {cost_of(index, column).time} s"
                        for _, value, column in front))
    decades = range(round(math.log10(plane.left)), round(math.log10(plane.right)) + 1)
    axis_title = f'<text x="{(LEFT + RIGHT) // 2}" y="{HEIGHT - 4}" class="m n">seconds per 1,000 items</text>'
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" tabindex="0"'
    return Picture(_svg("plot costs", size, text, (
        plane.axes(10.0 ** power for power in decades), f'<path class="pareto" d="{steps}"/>', *circles, *names,
        axis_title)), text, f"{text}.")


def power_picture(rows: Sequence[Power]) -> Picture:
    """Draw the difference detectable with 80 % power by number of contexts, for the fewest, actual and most raters."""
    data, rater_counts = rows[0], sorted({row.raters for row in rows if row.detectable < 1})
    lines = {raters: sorted((row for row in rows if row.raters == raters and row.detectable < 1),
                            key=lambda row: row.contexts)
             for raters in rater_counts if raters in (rater_counts[0], data.raters, rater_counts[-1])}
    drawn = [row for line in lines.values() for row in line] or [data]
    contexts = [row.contexts for row in drawn]
    plane = Plane(min(contexts), max(contexts), SMALL_WIDTH - LEFT, 0.0,
                  max(0.1, math.ceil(min(1, max(row.detectable for row in drawn)) * 10) / 10), SMALL_AXIS_Y)

    def point(row: Power) -> str:
        return f"{plane.x(row.contexts)} {plane.y(row.detectable)}"

    paths = (f'<path class="strokes" fill="none" d="M{"L".join(map(point, line))}"/>' for line in lines.values())
    is_drawn = data in drawn and data.detectable < 1
    marker = f'<path class="people-mark" d="M{point(data)}m-4-4h8v8h-8z"/>' if is_drawn else ""
    rater_text = ", ".join(f"{raters:.3g}" for raters in lines)
    size_text = f"the {data.contexts} {data.unit}s of the data"
    detectable_here = (f"{data.detectable:.2f} with {size_text} (square)" if is_drawn else
                       f"none with {size_text}, which are too few")
    text = (f"Difference of correlations detectable with 80 % power, by the number of {data.unit}s: {data.quality}, "
            f"{detectable_here}. Raters per item, from the highest line to the lowest: {rater_text}")
    axes = plane.axes([row.contexts for row in lines.get(data.raters, ())])
    size = f'viewBox="0 0 {SMALL_WIDTH} {SMALL_AXIS_Y + 20}"'
    return Picture(_svg("plot places", size, text, (axes, *paths, marker)), text, f"{text}.")


class Plane(NamedTuple):
    """A logarithmic horizontal axis, ending at pixel `edge`, and a linear vertical axis, starting at pixel `floor`."""

    left: float
    right: float
    edge: int
    bottom: float
    top: float
    floor: int

    def x(self, value: float) -> float:
        share = math.log(value / self.left) / max(math.log(self.right / self.left), 1e-9)
        return round(LEFT + (self.edge - LEFT) * share, 1)

    def y(self, value: float) -> float:
        return round(self.floor - (self.floor - TOP) * (value - self.bottom) / (self.top - self.bottom), 1)

    def axes(self, ticks: Iterable[float]) -> str:
        """Draw both axes, the horizontal one with the given ticks, the vertical one with a tick per tenth."""
        numbers = [f'<text x="{self.x(tick)}" y="{self.floor + 15}" class="m">{tick:g}</text>' for tick in ticks]
        numbers += [f'<text x="{LEFT - 6}" y="{self.y(step / 10) + 3:.1f}" class="e">{step / 10:g}</text>'
                    for step in range(round(self.bottom * 10), round(self.top * 10) + 1)]
        return f'<path class="axis" d="M{LEFT} {TOP}V{self.floor}H{self.edge}"/>' + "".join(numbers).replace("-", "−")


def _svg(kind: str, attributes: str, text: str, parts: Iterable[str]) -> str:
    return f'<svg class="{kind}" {attributes} role="img" aria-label="{escape(text)}">{"".join(parts)}</svg>'


def vote_picture(counts: Sequence[VoteCount], label: str) -> Picture:
    """Draw a bar for each fifth of the scores: the shares of the votes, stacked from the lowest rating upwards."""
    fifths, ratings = (sorted({getattr(row, name) for row in counts}) for name in ("fifth", "rating"))
    bar_width, gap, height, parts, mean_texts = 56, 14, 120, "", []
    for position, fifth in enumerate(fifths):
        rows = sorted((row for row in counts if row.fifth == fifth), key=lambda row: row.rating)
        total, x, top = sum(row.votes for row in rows), SMALL_MARGIN + position * (bar_width + gap), float(TOP + height)
        low, high = f"{rows[0].low:.3g}", f"{rows[0].high:.3g}"
        for row in rows:
            share = row.votes / max(total, 1)
            opacity = (ratings.index(row.rating) + 1) / len(ratings)
            top -= share * height
            parts += (f'<rect class="own" x="{x}" y="{top:.1f}" width="{bar_width}" height="{share * height:.1f}" '
                      f'fill-opacity="{opacity:.2f}"/>')
        for offset, bound in ((14, f"{low}–"), (25, high)):
            y = TOP + height + offset
            parts += f'<text x="{x + bar_width // 2}" y="{y}" class="m">{bound}</text>'.replace("-", "−")
        mean = sum(row.rating * row.votes for row in rows) / max(total, 1)
        mean_texts.append(f"{low}–{high}: mean {mean:.2f}")
    caption = f"votes on {counts[0].quality} by fifths of the scores of {label}"
    text = f"The {caption}: {'; '.join(mean_texts).replace('-', '−')}"
    scale = ", ".join(f"{rating:g}" for rating in ratings).replace("-", "−")
    return Picture(_svg("plot places", f'viewBox="0 0 {SMALL_WIDTH} {TOP + height + 31}"', text, parts), text,
                   f"Shares of the {caption}, from pale to dark: {scale}.")


def example_blocks(row: Example) -> tuple[Block, ...]:
    """Show an item with its position by its metric, else by the median of all metrics and by the best columns."""
    kind = "Context" if row.response else "Utterance"  # the item is a whole dialogue
    best_columns = "".join(f"; {column} {position:.2f}" for column, position in row.columns)
    metrics = f"position {row.metrics:.2f}" if row.metric else f"median position {row.metrics:.2f}{best_columns}"
    text = f"{row.item}: position {row.people:.2f} for people, {row.metrics:.2f} for {row.metric or 'the metrics'}."
    return Picture(_strip(row, text), text), Facts.of(
        *((f"{kind} {number}", words) for number, words in enumerate(row.context, start=1)),
        ("Response", row.response), ("System", row.system),
        ("People", f"{row.quality} {row.rating:.2f}, position {row.people:.2f}"),
        (row.metric or "Metrics", metrics), ("Item", Cell(row.item, code=True)))


def _strip(row: Example, description: str) -> str:
    """Draw positions from 0 to 1: a square for people, a dot for the metrics, a stroke for each named column."""
    def x_of(position: float) -> float:
        return round(SMALL_MARGIN + (SMALL_WIDTH - 2 * SMALL_MARGIN) * min(max(position, 0.0), 1.0), 1)

    strokes = "".join(f"M{x_of(position)} 9v14" for _, position in row.columns)
    return _svg("plot places", f'viewBox="0 0 {SMALL_WIDTH} 32"', description, (
        f'<path class="axis" d="M{SMALL_MARGIN} 16H{SMALL_WIDTH - SMALL_MARGIN}"/><path class="strokes" d="{strokes}"/>'
        f'<circle class="own" cx="{x_of(row.metrics)}" cy="16" r="5.5"/>'
        f'<path class="people-mark" d="M{x_of(row.people)} 16m-5-5h10v10h-10z"/>'))
