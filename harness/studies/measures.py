"""How much the choice of a measure matters: the same metrics and ratings under every grouping and coefficient.

For each measure: on how many cells it exists, whether it tells metrics apart, whether two halves of the data agree
under it, and how far the ranking of the metrics moves from that of the default, Spearman's ρ over items. `_comparison`
says what each of these is.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import BadConfig
from harness.studies import Findings, Material
from harness.studies._board import board
from harness.studies._comparison import measured
from harness.studies._measures_page import findings
from harness.studies._resamples import Amount

TITLE = "How much the choice of a measure matters for the ranking of metrics"
HALVINGS = 50
LEAST = 40
"""With fewer draws no difference can have p < 0.05."""


def study(materials: Sequence[Material], seed: int, draws: int) -> Findings:
    """Measure every cell once under every measure, and compare the measures on each kind of data."""
    if draws < LEAST:
        raise BadConfig(f"--draws should be {LEAST} or more: with fewer, no difference reaches 5 %")
    if not materials:
        raise BadConfig("nothing to study: no dataset that was asked for has ratings that differ")
    amount = Amount(HALVINGS, draws)
    cells = {id(cell): cell for material in materials for cell in material.cells}
    under = {key: measured(cell, seed, amount) for key, cell in cells.items()}
    boards = [board(material, [under[id(cell)] for cell in material.cells], amount) for material in materials]
    return findings(TITLE, boards, seed, amount)
