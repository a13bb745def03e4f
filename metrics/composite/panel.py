"""The panel: on ten datasets up to 2021, the best composite that was not fitted on ratings (docs/measured.md).

`harness fetch panel` downloads its models; docs/judges.md says how much each input adds and costs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

from metrics.composite.rank_average import RankAverage
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class Panel(RankAverage):
    """The mean of the ranks under DEB, a judge, PMI and cosine."""

    card: ClassVar[MetricCard] = dataclasses.replace(
        RankAverage.card, name="panel", title="Panel: DEB, judge, PMI, cosine", columns=("panel",),
        notes="No input was fitted on ratings; a dataset is skipped if a model is missing.")
    inputs: str = ("deb+judge:relevance[lm=qwen2.5-coder-1.5b]+pmi[lm=smollm2-135m]+"
                   "cosine[encoder=all-mpnet-base-v2+dialogue,turns=3]")
