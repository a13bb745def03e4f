"""The loss curve of a training as an SVG picture: training loss, held-out loss, and the step of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.results.rows import Look
from leaderboard.render.escaping import visible

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 320, 70, 50, 40
TRAINING, HELD_OUT = "#8a6d00", "#00539c"
"""Both have a contrast of more than 4.5 on white."""


def described(curve: Sequence[Look], kept: int) -> str:
    """Say in words what the picture shows."""
    least = next((point.held_out for point in curve if point.step == kept), min(point.held_out for point in curve))
    return (f"{len(curve)} evaluations over {max(point.step for point in curve)} steps; the least held-out loss is "
            f"{least:.4f} at step {kept}.")


def svg(name: str, curve: Sequence[Look], kept: int) -> bytes:
    """Draw a curve of one evaluation or more."""
    losses = [value for point in curve for value in (point.loss, point.held_out)]
    low, high, last = min(losses), max(losses), max(point.step for point in curve)
    span = (high - low) or 1.0

    def place(step: int, value: float) -> tuple[float, float]:
        return (LEFT + (WIDTH - LEFT - 20) * step / last,
                TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / span)

    least = next((point for point in curve if point.step == kept), min(curve, key=lambda point: point.held_out))
    x, y = place(least.step, least.held_out)
    title = f"Loss of {visible(name)}"
    description = described(curve, kept)
    lines = [_line([place(point.step, point.loss) for point in curve], TRAINING, "4 3"),
             _line([place(point.step, point.held_out) for point in curve], HELD_OUT, ""),
             f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{HELD_OUT}"/>',
             _text(LEFT, 22, title, "start", 15), _text(LEFT, 40, "training (dashed)", "start", 12, TRAINING),
             _text(LEFT + 130, 40, f"held out, least {least.held_out:.4f} at step {kept}", "start", 12, HELD_OUT),
             _text(LEFT - 8, TOP + 4, f"{high:.3f}", "end"), _text(LEFT - 8, HEIGHT - BOTTOM + 4, f"{low:.3f}", "end"),
             _text(LEFT, HEIGHT - 16, "0", "middle"), _text(WIDTH - 20, HEIGHT - 16, f"{last} steps", "end"),
             f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - 20}" fill="none" stroke="#666666"/>']
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(title)}: {escape(description)}" font-family="system-ui, sans-serif">\n'
            f'<title>{escape(title)}</title>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{chr(10).join(lines)}\n</svg>\n').encode()


def _line(points: Sequence[tuple[float, float]], colour: str, dashes: str) -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'


def _text(x: float, y: float, text: str, anchor: str, size: int = 11, colour: str = "#333333") -> str:
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(text)}</text>')
