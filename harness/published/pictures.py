"""Two pictures of a board as SVG: ranks under several rules, joined by lines, and values as bars.

Blue is what a line or a bar is drawn for (the winner, or what was measured here), orange and grey are the others; each
is told apart by its label as well. Text has a contrast of more than 4.5 on white.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

INK, GREY, FOR, AGAINST = "#333333", "#8a8f95", "#00539c", "#a34700"
PALE = {FOR: "#97c3e6", AGAINST: "#f0b07a", GREY: "#d9dde1"}
STEP, LINE, TOP, LEFT, LABEL = 105, 26, 64, 120, 115


def ranks(title: str, description: str, places: Mapping[str, Mapping[str, int]]) -> str:
    """How ranks change with the rule: `places` has the rank of every competitor under each rule."""
    rules = list(places)
    names = sorted(places[rules[0]], key=lambda name: (places[rules[0]][name], name))
    first = {name for rule in rules for name in names if places[rule][name] == 1}
    right = LEFT + STEP * (len(rules) - 1)
    shown = _apart(places, names)
    parts = [_text(10, 24, title, size=15, weight=600)]
    parts += [_text(LEFT + STEP * place, TOP - 14, rule, "middle", colour=INK) for place, rule in enumerate(rules)]
    for name in sorted(names, key=lambda name: name in first):
        points = [(LEFT + STEP * place, TOP + LINE * shown[rule][name]) for place, rule in enumerate(rules)]
        colour = FOR if name in first else GREY
        joined = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" '
                     f'stroke-width="{3 if name in first else 1.5}"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>' for x, y in points]
        weight = 600 if name in first else 400
        parts.append(_text(LEFT - 12, points[0][1] + 4, f"{name}  {places[rules[0]][name]}", "end", weight=weight))
        parts.append(_text(right + 12, points[-1][1] + 4, f"{places[rules[-1]][name]}  {name}", weight=weight))
    return _svg(right + LABEL, TOP + LINE * len(names), title, description, parts)


def bars(title: str, description: str, rows: Sequence[tuple[str, float, bool]]) -> str:
    """Values above 0 as bars, in the order given; those measured here are blue and the others orange."""
    most = max([value for _, value, _ in rows] + [0.01])
    zero, wide = 230, 270
    parts = [_text(10, 24, title, size=15, weight=600)]
    for place, (name, value, ours) in enumerate(rows):
        y, length = 44 + 24 * place, max(0.0, wide * value / most)
        colour = FOR if ours else AGAINST
        parts.append(_text(zero - 8, y + 14, _cut(name), "end", weight=600 if ours else 400))
        parts.append(f'<rect x="{zero}" y="{y}" width="{length:.1f}" height="18" fill="{PALE[colour]}" '
                     f'stroke="{colour}"/>')
        parts.append(_text(zero + length + 6, y + 14, f"{value:.3f}".replace("-", "−")))
    return _svg(zero + wide + 70, 60 + 24 * len(rows), title, description, parts)


def _apart(places: Mapping[str, Mapping[str, int]], names: Sequence[str]) -> dict[str, dict[str, int]]:
    """A line of its own for each name under each rule, so that equal ranks do not hide one another."""
    return {rule: {name: line for line, name in enumerate(sorted(names, key=lambda name: (ranks_[name], name)))}
            for rule, ranks_ in places.items()}


def _cut(name: str) -> str:
    return name if len(name) <= 34 else name[:33] + "…"


def _text(x: float, y: float, text: str, anchor: str = "start", *, size: int = 12, weight: int = 400,
          colour: str = INK) -> str:
    return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
            f'fill="{colour}">{escape(text)}</text>')


def _svg(width: float, height: float, title: str, description: str, parts: Sequence[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="{escape(description)}" font-family="system-ui, sans-serif">\n<title>{escape(title)}</title>\n'
            f'<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")
