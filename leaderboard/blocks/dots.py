"""The picture of the front page: the best metrics as dots with intervals, beside controls and raters.

Names and values are text beside one SVG that is stretched to the available width; its rows are as high as the lines of
text. A dot is a stroke of zero length, so it stays round.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from leaderboard.blocks.tables import Cell, Dots
from leaderboard.model.index import Column, Index
from leaderboard.model.numbers import half, marks
from leaderboard.model.questions import Question

ROWS = 12
LONGEST = 26
LOW, HIGH = -0.1, 1.0
WIDTH, ROW = 1000, 10
KINDS = ("length", "random", "rater", "limit")
WORDS = {"length": "length of the reply", "random": "random numbers", "rater": "one rater against the others",
         "limit": "limit from rater noise"}


def dots(index: Index, question: Question, columns: Sequence[Column]) -> Dots:
    shown = [(column, ranked) for column in columns[:ROWS] if (ranked := question.row(column)) is not None]
    lines = [f'<path class="{kind}" d="{band(*mark) if mark else ""}"/>'
             for kind, mark in zip(KINDS, marks(question), strict=True)]
    for row in range(ROWS):
        span, dot = line(row, shown[row][1].value, half(shown[row][1])) if row < len(shown) else ("", "")
        lines.append(f'<path class="span" d="{span}"/><path class="dot" d="{dot}"/>')
    text = "; ".join(f"{index.labels[column]} {ranked.value:.2f}" for column, ranked in shown)
    svg = (f'<svg class="dots-plot" viewBox="0 0 {WIDTH} {ROW * ROWS}" preserveAspectRatio="none" role="img" '
           f'aria-label="{escape(f"Spearman with 95 % intervals: {text}")}">{"".join(lines)}</svg>')
    names = tuple(Cell(shortened(label := index.labels[column]), title=label,
                       link=index.metric_paths.get(column[0], "")) for column, _ in shown)
    values = tuple(Cell(f"{ranked.value:.2f}".replace("-", "−")) for _, ranked in shown)
    return Dots(names, values, svg, tuple((kind, WORDS[kind]) for kind, mark in zip(
        KINDS, marks(question), strict=True) if mark))


def shortened(label: str) -> str:
    """Shorten a name: models without `encoder=` or `lm=`, and only the end of long options, where columns differ."""
    label = re.sub(r"(?<=[\[,])(encoder|lm)=", "", label)
    name, bracket, options = label.partition("[")
    left = LONGEST - len(name) - 2
    return f"{name}[…{options[-left:]}" if bracket and len(label) > LONGEST and left > 4 else label


def across(value: float) -> int:
    return round(WIDTH * (min(max(value, LOW), HIGH) - LOW) / (HIGH - LOW))


def band(value: float, half: float) -> str:
    """Return the path of a band over all rows, or of a line if there is no interval."""
    left, right = across(value - half), across(value + half)
    return f"M{left} 0H{right}V{ROW * ROWS}H{left}z"


def line(row: int, value: float, half: float) -> tuple[str, str]:
    """Return the paths of the interval and the dot of a row."""
    y = ROW * row + ROW // 2
    return f"M{across(value - half)} {y}H{across(value + half)}", f"M{across(value)} {y}h0"
