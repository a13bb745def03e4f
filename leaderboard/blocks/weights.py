"""Trained weights that a metric reads: how they were trained, and their loss curve."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from harness.results.rows import Look, Results, TrainingEntry
from leaderboard.blocks.tables import Block, Cell, Facts, Picture, Section
from leaderboard.model.index import slugs
from leaderboard.render.escaping import visible

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 320, 70, 50, 40
TRAINING, HELD_OUT = "#8a6d00", "#00539c"
"""Both have a contrast of more than 4.5 on white."""


def training_sections(results: Results, metric: str) -> tuple[Section, ...]:
    """Tell of each weights that a metric reads how they were trained."""
    own = [entry for entry in results.trainings if metric in entry.metrics]
    anchors = slugs(f"weights-{entry.name}-{entry.digest[:8]}" for entry in own)
    return tuple(Section(anchors[f"weights-{entry.name}-{entry.digest[:8]}"], f"Weights: {entry.name}", _blocks(entry))
                 for entry in own)


def _blocks(entry: TrainingEntry) -> tuple[Block, ...]:
    facts = Facts((
        ("Encoder", Cell(entry.encoder or "none")), ("Corpora", Cell(", ".join(entry.corpora))),
        ("Seed", Cell(str(entry.seed))), ("Steps", Cell(f"{entry.steps}, the weights are of step {entry.kept}")),
        ("Device", Cell(f"{entry.device}, {entry.seconds:.0f} seconds")),
        ("Command", Cell(entry.command, code=True)), ("Commit", Cell(entry.commit or "not known", code=True)),
        ("Digest", Cell(entry.digest, code=True))))
    if not entry.curve:
        return (facts,)
    text = _described(entry.curve, entry.kept)
    return (facts, Picture(curve(entry.name, entry.curve, entry.kept).decode(), text))


def curve(name: str, looks: Sequence[Look], kept: int) -> bytes:
    """Draw a loss curve of one look or more: training loss, held-out loss, and the step of the weights."""
    losses = [value for look in looks for value in (look.loss, look.held_out)]
    low, high, last = min(losses), max(losses), max(look.step for look in looks)

    def place(step: int, value: float) -> tuple[float, float]:
        return (LEFT + (WIDTH - LEFT - 20) * step / last,
                TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / ((high - low) or 1.0))

    def line(points: list[tuple[float, float]], colour: str, dashed: str) -> str:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'

    least = next((look for look in looks if look.step == kept), min(looks, key=lambda look: look.held_out))
    x, y = place(least.step, least.held_out)
    title = f"Loss of {visible(name)}"
    lines = (line([place(look.step, look.loss) for look in looks], TRAINING, ' stroke-dasharray="4 3"'),
             line([place(look.step, look.held_out) for look in looks], HELD_OUT, ""),
             f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{HELD_OUT}"/>',
             _text(LEFT, 22, title, "start", 15), _text(LEFT, 40, "training (dashed)", "start", 12, TRAINING),
             _text(LEFT + 130, 40, f"held out, least {least.held_out:.4f} at step {kept}", "start", 12, HELD_OUT),
             _text(LEFT - 8, TOP + 4, f"{high:.3f}", "end"), _text(LEFT - 8, HEIGHT - BOTTOM + 4, f"{low:.3f}", "end"),
             _text(LEFT, HEIGHT - 16, "0", "middle"), _text(WIDTH - 20, HEIGHT - 16, f"{last} steps", "end"),
             f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - 20}" fill="none" stroke="#666666"/>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape(title)}: {escape(_described(looks, kept))}" font-family="system-ui, sans-serif">\n'
            f'<title>{escape(title)}</title>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{chr(10).join(lines)}\n</svg>\n').encode()


def _described(looks: Sequence[Look], kept: int) -> str:
    """Say in words what the picture shows."""
    least = next((look.held_out for look in looks if look.step == kept), min(look.held_out for look in looks))
    return (f"{len(looks)} evaluations over {max(look.step for look in looks)} steps; the least held-out loss is "
            f"{least:.4f} at step {kept}.")


def _text(x: float, y: float, text: str, anchor: str, size: int = 11, colour: str = "#333333") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
