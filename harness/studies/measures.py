"""How much the choice of a measure matters: the same metrics and ratings under every grouping and coefficient.

For each measure: on how many cells it exists, whether it tells metrics apart, whether two halves of the data agree
under it, and how far the ranking of the metrics moves from that of the default, Spearman's ρ over items. `_comparison`
says what each of these is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from harness.errors import BadConfig
from harness.studies import Findings, StudyRequest, TargetGroup
from harness.studies._comparison import board, measured
from harness.studies._measures_page import findings
from harness.studies._resamples import Amount

TITLE = "How much the choice of a measure matters for the ranking of metrics"
FLAGS = ("metric", "dataset", "quality", "split")
HALVINGS = 50
LEAST = 40
"""With fewer draws no difference can have p < 0.05."""


def study(request: StudyRequest) -> Findings:
    """Measure every target once under every measure, and compare the measures on each kind of data."""
    if request.draws < LEAST:
        raise BadConfig(f"--draws should be {LEAST} or more: with fewer, no difference reaches 5 %")
    groups, failures = request.targets("harness study measures")
    return dataclasses.replace(compare(groups, request.seed, request.draws), failures=failures)


def compare(groups: Sequence[TargetGroup], seed: int, draws: int) -> Findings:
    """Compare the measures on each kind of data; `draws` is the number of resamples."""
    if not groups:
        raise BadConfig("nothing to study: no requested dataset has ratings that differ")
    amount = Amount(HALVINGS, draws)
    targets = {id(target): target for group in groups for target in group.targets}
    under = {key: measured(target, seed, amount) for key, target in targets.items()}
    boards = [board(group, [under[id(target)] for target in group.targets], amount) for group in groups]
    return findings(TITLE, boards, seed, amount)
