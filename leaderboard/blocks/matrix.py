"""The matrix of pairwise tests as SVG: a row per column of the board, blue where it is better, orange where worse.

A filled square is significant by Holm, a bar by Benjamini and Hochberg alone, so that neither needs its colour. A page
has some twenty matrices of eighty columns each, so squares are strokes, one for what lies side by side in a row, in
units of a square: what CSS calls w2 is as wide as the row is high.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt

SIDE, HEAD, LONGEST = 12, 16, 30
LETTER = 6
"""Width of a letter of the labels, on the safe side."""
CLASSES = {2: "w2", 1: "w1", -1: "l1", -2: "l2"}
Square = npt.NDArray[np.int8]


def matrix(labels: Sequence[str], titles: Sequence[str], levels: Square, text: str) -> str:
    """Draw the picture; `titles` say what each row shows, `text` what the whole does."""
    left = 30 + LETTER * max(min(len(label), LONGEST) for label in labels)
    side = SIDE * len(labels)
    parts = [_row(place, label, title, levels[place], left)
             for place, (label, title) in enumerate(zip(labels, titles, strict=True))]
    heads = "".join(f'<text x="{left + SIDE * place + SIDE // 2}" y="12">{place + 1}</text>'
                    for place in range(len(labels)))
    diagonal = "".join(f"M{SIDE * place} {SIDE * place}h{SIDE}v{SIDE}h-{SIDE}z" for place in range(len(labels)))
    return (f'<svg class="matrix" viewBox="0 0 {left + side + 2} {HEAD + side + 2}" width="{left + side + 2}" '
            f'height="{HEAD + side + 2}" role="img" tabindex="0" aria-label="{escape(text)}">'
            f'<g class="heads">{heads}</g>{"".join(parts)}'
            f'<g transform="translate({left} {HEAD})"><path class="self" d="{diagonal}"/>'
            f'{_lines(len(labels))}</g></svg>')


def legend() -> str:
    """Draw what the squares mean."""
    words = (("w2", "blue square", "row better, p &lt; 0.05 by Holm"),
             ("w1", "blue bar", "row better, by Benjamini-Hochberg alone"),
             ("l2", "orange square", "row worse, by Holm"),
             ("l1", "orange bar", "row worse, by Benjamini-Hochberg alone"),
             ("none", "empty", "undecided"))
    parts = [f'<g transform="translate(1 {18 * place + 3}) scale({SIDE})"><path class="{name}" d="M0 .5h1"/></g>'
             f'<text x="20" y="{18 * place + 13}">{text}</text>' for place, (name, _, text) in enumerate(words)]
    meaning = "; ".join(f"{shape}: {text}" for _, shape, text in words)
    return (f'<svg class="matrix key" viewBox="0 0 310 92" width="310" height="92" role="img" '
            f'aria-label="{meaning}">{"".join(parts)}</svg>')


def _row(place: int, label: str, title: str, levels: Square, left: int) -> str:
    top = HEAD + SIDE * place
    short = label if len(label) <= LONGEST else label[:LONGEST - 1] + "…"
    strokes = _strokes(levels.tolist())
    paths = "".join(f'<path class="{name}" d="{strokes[level]}"/>' for level, name in CLASSES.items()
                    if level in strokes)
    return (f'<g><title>{escape(title)}</title><text x="{left - 5}" y="{top + 10}">{escape(short)} {place + 1}</text>'
            f'<g transform="translate({left} {top}) scale({SIDE})">{paths}</g></g>')


def _strokes(levels: Sequence[int]) -> dict[int, str]:
    """Return the stretches of each level in a row as one stroke, in units of a square."""
    strokes: dict[int, str] = {}
    ends: dict[int, int] = {}
    start = 0
    for level, alike in itertools.groupby(levels):
        wide = len(tuple(alike))
        if level:
            move = f"m{start - ends[level]} 0" if level in ends else f"M{start} .5"
            strokes[level] = f"{strokes.get(level, '')}{move}h{wide}"
            ends[level] = start + wide
        start += wide
    return strokes


def _lines(count: int) -> str:
    """The lines between the squares, those around every ten of them darker."""
    side = SIDE * count

    def drawn(places: Sequence[int]) -> str:
        return "".join(f"M{SIDE * place} 0v{side}M0 {SIDE * place}h{side}" for place in places)

    tens = [place for place in range(count + 1) if place % 10 == 0 or place == count]
    others = [place for place in range(count) if place % 10]
    return f'<path class="thin" d="{drawn(others)}"/><path class="thick" d="{drawn(tens)}"/>'
