"""An item with its context and its positions for people and metrics, as a strip from 0 to 1 and in words."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.results.rows import Example
from leaderboard.blocks.tables import Block, Cell, Facts, Picture

WIDTH, EDGE = 400, 12


def example_blocks(row: Example) -> tuple[Block, ...]:
    """Show an example with the position of its metric, else the median of all and the closest metrics."""
    kind = "Context" if row.response else "Utterance"  # the item is a whole dialogue
    named = "".join(f"; {column} {position:.2f}" for column, position in row.columns)
    metrics = f"position {row.metrics:.2f}" if row.metric else f"median position {row.metrics:.2f}{named}"
    facts = Facts.of(
        *((f"{kind} {number}", words) for number, words in enumerate(row.context, start=1)),
        ("Response", row.response), ("System", row.system),
        ("People", f"{row.quality} {row.rating:.2f}, position {row.people:.2f}"),
        (row.metric or "Metrics", metrics), ("Item", Cell(row.item, code=True)))
    words = f"{row.item}: position {row.people:.2f} for people, {row.metrics:.2f} for {row.metric or 'the metrics'}."
    svg = _strip(row.people, row.metrics, [position for _, position in row.columns], words)
    return (Picture(svg, words), facts)


def _strip(people: float, metrics: float, columns: Sequence[float], description: str) -> str:
    """Draw positions from 0 to 1: a square for people, a dot for the metrics, a stroke for each column."""
    strokes = "".join(f"M{_across(position)} 9v14" for position in columns)
    return (f'<svg class="plot places" viewBox="0 0 {WIDTH} 32" role="img" aria-label="{escape(description)}">'
            f'<path class="axis" d="M{EDGE} 16H{WIDTH - EDGE}"/><path class="strokes" d="{strokes}"/>'
            f'<circle class="own" cx="{_across(metrics)}" cy="16" r="5.5"/>'
            f'<path class="people-mark" d="M{_across(people)} 16m-5-5h10v10h-10z"/></svg>')


def _across(position: float) -> float:
    return round(EDGE + (WIDTH - 2 * EDGE) * min(max(position, 0.0), 1.0), 1)
