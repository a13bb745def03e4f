"""MME-Avg (Zhang et al. 2022): the sub-metrics of MME-CRS with equal weights.

As in MME-CRS each is brought to mean 0 and spread 1 first, which the paper does not; `scale=none` leaves it out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from metrics.composite.mme_crs import DRAWN, Without, as_published, sub_metrics
from metrics.composition import Composite, Input
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class MmeAvg(Composite):
    """The mean of the sub-metrics."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-avg", title="MME-Avg", columns=("mme-avg",), family="composite",
        needs=("context",), models=("encoder",), paper="https://arxiv.org/abs/2206.09403",
        notes="MME-CRS with equal weights.",
        system="another method",
        departures=(
            "Its inputs are small heads on a frozen encoder.",
            "Each input is brought to mean 0 and spread 1 first; scale=none leaves that out.",
        ),
    )
    drawn: ClassVar[int] = DRAWN
    level_apart: ClassVar[bool] = False
    encoder: str = ""
    without: Without = "none"
    scale: Literal["standard", "none"] = "standard"
    in_sample: bool = False
    recipe: Literal["small", "paper"] = "small"

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> Any:
        """The class, its card that of the sub-metrics it has."""
        return as_published(cls) if values.get("recipe") == "paper" else cls

    def made_of(self) -> tuple[Input, ...]:
        """The columns of the groups of MME-CRS."""
        return sub_metrics(self.without, self.encoder, self.recipe)
