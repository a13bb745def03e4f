"""MME-Avg (Zhang et al. 2022): the sub-metrics of MME-CRS with equal weights.

Each is first standardised, which the paper does not do; `scale=none` turns this off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from metrics.composite.mme_crs import SubMetrics, Without
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class MmeAvg(SubMetrics):
    """The mean of the sub-metrics."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-avg", title="MME-Avg", columns=("mme-avg",), family="composite", needs=("context",),
        models=("encoder",), paper="https://arxiv.org/abs/2206.09403", notes="MME-CRS with equal weights.",
        system="another method",
        departures=(
            "Its inputs are small heads on a frozen encoder.",
            "Each input is standardised first; scale=none turns this off.",
        ),
    )
    encoder: str = ""
    without: Without = "none"
    scale: Literal["standard", "none"] = "standard"
    in_sample: bool = False
    recipe: Literal["small", "paper"] = "small"
