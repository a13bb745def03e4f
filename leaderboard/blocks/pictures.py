"""Pictures as SVG: correlation against cost with its Pareto front, and the positions of an item from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from harness.results.decision_rows import VoteCount
from harness.results.power import Power
from harness.results.rows import Example
from leaderboard.blocks import cells
from leaderboard.blocks.tables import Block, Cell, Dots, Facts, Picture
from leaderboard.model import sentences, titles
from leaderboard.model.cost import costs
from leaderboard.model.holds_up import Mean
from leaderboard.model.index import Column, Index
from leaderboard.model.questions import Question

RATERS = {"rater": "one rater against the others", "limit": "limit from rater noise"}
"""Marks of a picture of dots, and their meanings."""
INTERVALS = "Spearman correlation with 95 % intervals, which treat items as independent."
WIDTH, HEIGHT, LEFT, RIGHT, TOP, FLOOR = 720, 300, 44, 620, 14, 262
NEAR = (90, 13)
"""Names closer than this, across and up, would overlap and are only in the caption."""
CHEAPEST = 0.01
"""Smaller costs are drawn here."""
STRIP, EDGE, LOW = 400, 12, 140
NAMES, LINE, MEANS = 230, 22, 12
"""Width of the names and height of a line of the picture of means; its best columns of each era."""


class Dot(NamedTuple):
    """A line of a picture of dots: a value with its interval, and another value beside it, NaN if unknown.

    A printed value, which is not from this run, is drawn as a square.
    """

    name: Cell
    value: float
    low: float = math.nan
    high: float = math.nan
    other: float = math.nan
    printed: bool = False


def dots_picture(lines: Sequence[Dot], caption: str, keys: Mapping[str, str],
                 marks: Mapping[str, tuple[float, float]]) -> Dots:
    """Draw correlations as dots on one axis, over the known marks, each from its low to its high end."""
    numbers = [number for line in lines for number in (line.value, line.low, line.other) if math.isfinite(number)]
    low = -0.1 if min(numbers, default=0.0) >= -0.1 else -0.5
    height = 10 * len(lines)

    def across(value: float) -> int:
        return round(1000 * (min(max(value, low), 1.0) - low) / (1 - low))

    known = {"zero": (0.0, 0.0), **{kind: ends for kind, ends in marks.items() if math.isfinite(ends[0])}}
    parts = [f'<path class="{kind}" d="M{across(start)} 0H{across(end)}V{height}H{across(start)}z"/>'
             for kind, (start, end) in known.items()]
    for number, line in enumerate(lines):
        y = 10 * number + 5
        parts += [f'<path class="{kind}" d="M{across(start)} {y}H{across(end)}"/>' for kind, start, end in (
            ("span", line.low, line.high), ("printed" if line.printed else "dot", line.value, line.value),
            ("other", line.other, line.other)) if math.isfinite(start)]
    values = tuple(cells.number(line.value, 2) for line in lines)
    text = f"{caption} {'; '.join(f'{line.name.text} {value}' for line, value in zip(lines, values, strict=True))}"
    ticks = tuple(f"{step / 5:g}".replace("-", "−") for step in range(0 if low == -0.1 else -2, 6))
    return Dots(
        f'<svg class="dots-plot" viewBox="0 0 1000 {height}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(text)}">{"".join(parts)}</svg>', text, caption,
        tuple(line.name for line in lines), values, ticks,
        tuple((kind, words) for kind, words in keys.items() if kind not in marks or kind in known))


def cost_picture(index: Index, question: Question, columns: Sequence[Column]) -> Picture | None:
    """Draw the columns with a known cost, a dot each on a log axis; None if there are fewer than three."""
    column_costs = costs(index.results)
    points = sorted((max(cost.seconds, CHEAPEST), -row.value, column) for column in columns
                    if (row := question.row(column)) and (cost := column_costs.get(column))
                    and math.isfinite(cost.seconds))
    if len(points) < 3:
        return None
    front = [point for rank, point in enumerate(points) if all(point[1] < cheaper[1] for cheaper in points[:rank])]
    low, high = math.floor(math.log10(points[0][0])), math.ceil(math.log10(points[-1][0]) + 1e-9)
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
    labels = [(across(seconds) + 7, up(-value) - 6, titles.cut(index.labels[column], 24))
              for seconds, value, column in front]
    names = "".join(f'<text x="{x}" y="{y}" class="n">{escape(name)}</text>' for rank, (x, y, name) in enumerate(labels)
                    if not any(abs(x - other_x) < NEAR[0] and abs(y - other_y) < NEAR[1]
                               for other_x, other_y, _ in labels[rank + 1:]))
    text = "No metric reaches a higher correlation at a lower cost than " + "; ".join(
        f"{index.labels[column]}, {-value:.2f} at {sentences.seconds(column_costs[column])} s"
        for _, value, column in front)
    return Picture(
        f'<svg class="plot costs" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'tabindex="0" aria-label="{escape(text)}"><path class="axis" d="M{LEFT} {TOP}V{FLOOR}H{RIGHT}"/>'
        f'<path class="pareto" d="{steps}"/>{ticks}{heights}{circles}{names}'
        f'<text x="{(LEFT + RIGHT) // 2}" y="{HEIGHT - 4}" class="m n">seconds per 1,000 items</text></svg>',
        text, f"{text}.")


def means_picture(index: Index, means: Mapping[Column, tuple[Mean, Mean]]) -> Picture:
    """Draw the columns with the highest means in either era, and the controls, with two means each."""
    known = {column: pair for column, pair in means.items() if all(math.isfinite(mean.value) for mean in pair)}
    best = {column for era in (0, 1) for column in sorted(known, key=lambda name: -known[name][era].value)[:MEANS]}
    shown = {column: pair for column, pair in known.items()
             if column in best or sentences.is_control(index, column)}
    bounds = [bound for pair in shown.values() for mean in pair for bound in (mean.value, mean.low, mean.high)
              if math.isfinite(bound)]
    low, high = math.floor(min(bounds, default=0) * 10) / 10, math.ceil(max(bounds, default=1) * 10) / 10
    floor = TOP + LINE * len(shown)

    def across(value: float) -> float:
        return round(NAMES + (RIGHT - NAMES) * (value - low) / (high - low), 1)

    def span(mean: Mean, line: float, kind: str) -> str:
        return (f'<path class="{kind}" d="M{across(mean.low)} {line}H{across(mean.high)}"/>'
                if math.isfinite(mean.low) else "")

    rows = []
    for number, (column, (then, now)) in enumerate(shown.items()):
        line = TOP + LINE * number + LINE / 2
        name = escape(titles.cut(index.labels[column], 34))
        rows.append(f'<text x="{NAMES - 8}" y="{line + 4}" class="n e">{name}</text>'
                    f'{span(then, line - 4, "axis")}{span(now, line + 4, "strokes")}'
                    f'<path class="people-mark" d="M{across(then.value)} {line - 4}m-3.5-3.5h7v7h-7z"/>'
                    f'<circle class="own" cx="{across(now.value)}" cy="{line + 4}" r="4"/>')
    ticks = "".join(f'<text x="{across(step / 10)}" y="{floor + 16}" class="m">{step / 10:g}</text>'.replace("-", "−")
                    for step in range(round(low * 10), round(high * 10) + 1) if step % 2 == 0)
    text = "Means until 2021 and from 2022 on: " + "; ".join(
        f"{index.labels[column]} {then.value:.2f}, {now.value:.2f}" for column, (then, now) in shown.items())
    return Picture(
        f'<svg class="plot costs" viewBox="0 0 {WIDTH} {floor + 24}" width="{WIDTH}" height="{floor + 24}" role="img" '
        f'tabindex="0" aria-label="{escape(text)}"><path class="axis" d="M{across(max(low, 0.0))} {TOP}V{floor}'
        f'M{NAMES} {floor}H{RIGHT}"/>{ticks}{"".join(rows)}</svg>', text,
        "Mean Spearman correlation, with its 95 % interval over sources. Square: chatbots up to 2021. Dot: today’s "
        "models. A mark without an interval is of one source.")


def power_picture(rows: Sequence[Power]) -> Picture:
    """Draw the difference found with 80 % power against contexts, a line for the fewest, the data's and most raters."""
    data, known = rows[0], sorted({row.raters for row in rows if row.detectable < 1})
    lines = {raters: sorted((row for row in rows if row.raters == raters and row.detectable < 1),
                            key=lambda row: row.contexts)
             for raters in known if raters in (known[0], data.raters, known[-1])}
    shown = [row for line in lines.values() for row in line]
    contexts = sorted({row.contexts for row in shown} or {1})
    top = math.ceil(max((row.detectable for row in shown), default=1) * 10) / 10

    def at(row: Power) -> str:
        share = math.log(row.contexts / contexts[0]) / max(math.log(contexts[-1] / contexts[0]), 1e-9)
        return f"{LEFT + (STRIP - 2 * LEFT) * share:.1f} {LOW - (LOW - TOP) * row.detectable / top:.1f}"

    paths = "".join(f'<path class="strokes" fill="none" d="M{"L".join(map(at, line))}"/>' for line in lines.values())
    marker = f'<path class="people-mark" d="M{at(data)}m-4-4h8v8h-8z"/>' if data in shown else ""
    ticks = "".join(f'<text x="{at(row).split()[0]}" y="{LOW + 14}" class="m">{row.contexts}</text>'
                    for row in lines.get(data.raters, ()))
    heights = "".join(f'<text x="{LEFT - 6}" y="{LOW - (LOW - TOP) * step / 10 / top + 3:.1f}" class="e">{step / 10:g}'
                      "</text>" for step in range(round(top * 10) + 1))
    listed = ", ".join(f"{raters:.3g}" for raters in lines)
    text = (f"Difference of correlations that is found with 80 % power, by the number of contexts: {data.quality}, "
            f"{data.detectable:.2f} with the {data.contexts} contexts of the data (square). Raters per item, from the "
            f"highest line to the lowest: {listed}")
    return Picture(f'<svg class="plot places" viewBox="0 0 {STRIP} {LOW + 20}" role="img" aria-label="{escape(text)}">'
                   f'<path class="axis" d="M{LEFT} {TOP}V{LOW}H{STRIP - LEFT}"/>{paths}{marker}{ticks}{heights}</svg>',
                   text, f"{text}.")


def vote_picture(counts: Sequence[VoteCount], label: str) -> Picture:
    """Draw a bar for each fifth of the scores, divided by the shares of the votes, the lowest rating at the bottom."""
    fifths, ratings = (sorted({getattr(row, name) for row in counts}) for name in ("fifth", "rating"))
    wide, gap, tall, parts, words = 56, 14, 120, "", []
    for position, fifth in enumerate(fifths):
        rows = sorted((row for row in counts if row.fifth == fifth), key=lambda row: row.rating)
        total, x, top = sum(row.votes for row in rows), EDGE + position * (wide + gap), float(TOP + tall)
        between = f"{rows[0].low:.3g}–{rows[0].high:.3g}"
        for row in rows:
            share = row.votes / max(total, 1)
            opacity = (ratings.index(row.rating) + 1) / len(ratings)
            top -= share * tall
            parts += (f'<rect class="own" x="{x}" y="{top:.1f}" width="{wide}" height="{share * tall:.1f}" '
                      f'fill-opacity="{opacity:.2f}"/>')
        parts += f'<text x="{x + wide // 2}" y="{TOP + tall + 14}" class="m">{between}</text>'
        mean = sum(row.rating * row.votes for row in rows) / max(total, 1)
        words.append(f"{between}: mean {mean:.2f}")
    caption = f"votes on {counts[0].quality} by fifths of the scores of {label}"
    text = f"The {caption}: {'; '.join(words)}"
    scale = ", ".join(f"{rating:g}" for rating in ratings)
    return Picture(f'<svg class="plot places" viewBox="0 0 {STRIP} {TOP + tall + 20}" role="img" '
                   f'aria-label="{escape(text)}">{parts}</svg>', text,
                   f"Shares of the {caption}, from pale to dark: {scale}.")


def example_blocks(row: Example) -> tuple[Block, ...]:
    """Show an item with the position of its metric, else the median of all and the closest metrics."""
    kind = "Context" if row.response else "Utterance"  # the item is a whole dialogue
    closest = "".join(f"; {column} {position:.2f}" for column, position in row.columns)
    metrics = f"position {row.metrics:.2f}" if row.metric else f"median position {row.metrics:.2f}{closest}"
    facts = Facts.of(
        *((f"{kind} {number}", words) for number, words in enumerate(row.context, start=1)),
        ("Response", row.response), ("System", row.system),
        ("People", f"{row.quality} {row.rating:.2f}, position {row.people:.2f}"),
        (row.metric or "Metrics", metrics), ("Item", Cell(row.item, code=True)))
    words = f"{row.item}: position {row.people:.2f} for people, {row.metrics:.2f} for {row.metric or 'the metrics'}."
    return (Picture(_strip(row, words), words), facts)


def _strip(row: Example, description: str) -> str:
    """Draw positions from 0 to 1: a square for people, a dot for the metrics, a stroke for each column."""
    def across(position: float) -> float:
        return round(EDGE + (STRIP - 2 * EDGE) * min(max(position, 0.0), 1.0), 1)

    strokes = "".join(f"M{across(position)} 9v14" for _, position in row.columns)
    return (f'<svg class="plot places" viewBox="0 0 {STRIP} 32" role="img" aria-label="{escape(description)}">'
            f'<path class="axis" d="M{EDGE} 16H{STRIP - EDGE}"/><path class="strokes" d="{strokes}"/>'
            f'<circle class="own" cx="{across(row.metrics)}" cy="16" r="5.5"/>'
            f'<path class="people-mark" d="M{across(row.people)} 16m-5-5h10v10h-10z"/></svg>')
