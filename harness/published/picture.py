"""Published against here as one SVG picture: a line a metric, from the printed mean to that of this run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from statistics import fmean

from harness.published.measured import PublishedComparison
from harness.results.exhibits import number
from harness.results.plots import Axis

LEFT, RIGHT, ROW, TOP, WIDTH = 260, 640, 22, 40, 720
ACROSS = Axis(-0.2, 0.6, LEFT, RIGHT)
PRINT, HERE = "#8a4a00", "#0b57a4"
"""Both have a contrast of more than 4.5 on white."""


def published_against_here(beside: PublishedComparison, parameters: Mapping[str, int]) -> tuple[str, str] | None:
    """The picture and what it shows in words; None where nothing is printed of the same datasets and qualities.

    `parameters` has the size of each column's networks. Of several columns of one printed metric the first is drawn.
    """
    rows: dict[str, tuple[str, float, float, int]] = {}
    for row in beside.rows:
        if row.published is not None and row.published.name not in rows:
            both = [(mean.value, row.sets[name]) for name, mean in row.published.sets.items()
                    if mean.same and name in row.sets and math.isfinite(row.sets[name])]
            if both:
                printed, here = (fmean(values) for values in zip(*both, strict=True))
                size = parameters.get(row.column, 0)
                label = f"{row.column}, {size / 1e6:.0f} M here" if size else row.column
                rows[row.published.name] = (label, printed, here, len(both))
    if not rows:
        return None
    ordered = sorted(rows.values(), key=lambda row: -row[1])
    lines = "".join(_line(TOP + ROW * place, *row) for place, row in enumerate(ordered))
    floor = TOP + ROW * len(ordered)
    ticks = "".join(f'<text x="{ACROSS.place(step / 10):.0f}" y="{floor + 8}" text-anchor="middle">'
                    f"{number(step / 10, 1)}</text>" for step in range(-2, 7, 2))
    words = "; ".join(f"{label} printed {printed:.2f}, here {here:.2f} on {count}"
                      for label, printed, here, count in ordered)
    text = f"Mean Spearman as printed and in this run, on the datasets that both have: {words}."
    key = (f'<circle cx="{LEFT}" cy="14" r="5" fill="#ffffff" stroke="{PRINT}" stroke-width="2"/>'
           f'<text x="{LEFT + 10}" y="18">printed</text><circle cx="{LEFT + 90}" cy="14" r="5" fill="{HERE}"/>'
           f'<text x="{LEFT + 100}" y="18">this run; right: number of datasets averaged</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {floor + 20}" font-size="12">'
    return f"{head}{key}{lines}{ticks}</svg>", text


def _line(y: int, label: str, printed: float, here: float, count: int) -> str:
    first, second = ACROSS.place(printed), ACROSS.place(here)
    return (f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(label)}</text>'
            f'<path d="M{first:.1f} {y}H{second:.1f}" stroke="#808080" stroke-width="1.5"/>'
            f'<circle cx="{first:.1f}" cy="{y}" r="5" fill="#ffffff" stroke="{PRINT}" stroke-width="2"/>'
            f'<circle cx="{second:.1f}" cy="{y}" r="5" fill="{HERE}"/>'
            f'<text x="{RIGHT + 16}" y="{y + 4}">{count}</text>')
