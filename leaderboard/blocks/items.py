"""An item with its context, where people and metrics place it, as a strip from 0 to 1 and in words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.results.rows import Example
from leaderboard.blocks.tables import Block, Cell, Facts, Picture

WIDTH, EDGE, LINE = 400, 12, 24


def example_blocks(row: Example) -> tuple[Block, ...]:
    """Draw an example; of a metric's own only its place, else the median of all and those that agree best."""
    kind = "Context" if row.response else "Utterance"  # of a whole dialogue
    context = ((f"{kind} {place}", Cell(words)) for place, words in enumerate(row.context, start=1))
    named = "; ".join(f"{column} {place:.2f}" for column, place in row.columns)
    metrics = f"place {row.metrics:.2f}" if row.metric else f"median place {row.metrics:.2f}{'; ' * bool(named)}{named}"
    pairs = (*context, ("Response", Cell(row.response)), ("System", Cell(row.system)),
             ("People", Cell(f"{row.quality} {row.rating:.2f}, place {row.people:.2f}")),
             (row.metric or "Metrics", Cell(metrics)), ("Item", Cell(row.item, code=True)))
    words = f"{row.item}: place {row.people:.2f} for people, {row.metrics:.2f} for {row.metric or 'the metrics'}."
    svg = places(row.people, row.metrics, [place for _, place in row.columns], words)
    return (Picture(svg, words), Facts(tuple(pair for pair in pairs if pair[1].text)))


def places(people: float, metrics: float, columns: Sequence[float], description: str) -> str:
    """Draw places from 0 to 1 on a strip: of people, the median of the metrics, and a stroke for each column."""
    strokes = "".join(f"M{_across(place):.1f} {LINE - 7}v14" for place in columns)
    x, y = round(_across(people), 1), round(_across(metrics), 1)
    return (f'<svg class="plot places" viewBox="0 0 {WIDTH} 46" role="img" aria-label="{escape(description)}">'
            f'<path class="axis" d="M{EDGE} {LINE}H{WIDTH - EDGE}"/><path class="strokes" d="{strokes}"/>'
            f'<circle class="own" cx="{y:g}" cy="{LINE}" r="5.5"/>'
            f'<path class="people-mark" d="M{x:g} {LINE}m-5-5h10v10h-10z"/>'
            f'{_text(x, 11, "people", _side(people))}{_text(y, 43, "metric", _side(metrics))}'
            f'{_text(EDGE, 43, "" if metrics < 0.25 else "lowest")}'
            f'{_text(WIDTH - EDGE, 43, "" if metrics > 0.75 else "highest", "e")}</svg>')


def _across(place: float) -> float:
    return EDGE + (WIDTH - 2 * EDGE) * min(max(place, 0.0), 1.0)


def _side(place: float) -> str:
    """Begin, centre or end a word at its place, so that it stays inside."""
    return "" if place < 0.1 else "e" if place > 0.9 else "m"


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{f""" class="{kind}" """.rstrip() if kind else ""}>{escape(words)}</text>'
