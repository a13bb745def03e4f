"""What learned compositions gain from knowing a quality by name: weights of its own, weights of all, or shrunk ones.

Each development dataset is left out in turn, and the weights learned on the others are judged on it: the correlation of
the weighted sum with the ranks of the ratings, w·r / √(wᵀAw), where A and r are the inputs' correlations with each
other and with those ranks in the calibration. Nothing is scored anew.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from harness.results.exhibits import number
from harness.results.rows import Grid
from harness.studies import Findings, StudyRequest
from metrics import registry
from metrics.composition import Composite, learned
from metrics.evidence import DatasetEvidence, QualityEvidence, Vector

TITLE = "What learned compositions gain from knowing a quality by name"
FLAGS = ("metric",)
COMPOSITIONS = ("mme-crs", "weighted", "regression")
STRENGTHS = (0.0, 0.5, 1.0, 2.0, 4.0, math.inf)
UNKNOWN = "a name that no dataset has"


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """A composition with weights of one strength, on a dataset that they were not learned on."""

    metric: str
    strength: float
    dataset: str
    level: str
    known: float
    """The mean over the dataset's qualities, each under its own name."""
    unknown: float
    """The same under a name that the weights do not know."""


def study(request: StudyRequest) -> Findings:
    """Judge each composition's weights of each strength on every dataset that they were not learned on."""
    names = request.selection.metrics or COMPOSITIONS
    rows = [row for name in names for row in judged(name, request)]
    return Findings(
        tables=(Grid("compositions", "Mean correlation with ranks, each dataset left out in turn",
                     ("composition", "strength", "turn level", UNKNOWN, "dialogue level"), tuple(_lines(rows)),
                     "strength 0: weights of the quality alone where it has some; ∞: those of all qualities"),),
        remarks=(("Where two strengths are as good, the larger one loses less on a quality whose name means something "
                  "else in another dataset."),),
        objects={"dataset": [dataclasses.asdict(row) for row in rows]})


def judged(name: str, request: StudyRequest) -> Iterator[LeftOut]:
    """One composition with each strength, on each dataset of its calibration."""
    chosen = registry.choose(name).metric
    if not isinstance(chosen, Composite) or not hasattr(chosen, "strength"):
        return
    evidence = learned(chosen, request.workspace.models)
    for strength in STRENGTHS:
        metric = dataclasses.replace(chosen, strength=strength)  # type: ignore[type-var]
        for part in evidence.parts:
            others = evidence.without(part.dataset)
            others = others.at(part.level) if metric.level_apart else others
            means = [float(np.mean([agreement(part, quality, metric.weights(others, dimension or quality.dimension))
                                    for quality in part.qualities])) for dimension in ("", UNKNOWN)]
            yield LeftOut(name, strength, part.dataset, part.level, *means)


def agreement(part: DatasetEvidence, quality: QualityEvidence, weights: Vector) -> float:
    """The correlation of the weighted sum of the inputs with the ranks of the ratings; 0 for a constant sum."""
    spread = math.sqrt(max(0.0, float(weights @ np.nan_to_num(part.alike) @ weights)))
    return float(weights @ np.nan_to_num(quality.ranked)) / spread if spread else 0.0


def _lines(rows: list[LeftOut]) -> Iterator[tuple[str, ...]]:
    for name, strength in dict.fromkeys((row.metric, row.strength) for row in rows):
        own = [row for row in rows if (row.metric, row.strength) == (name, strength)]
        turns, dialogues = ([row for row in own if row.level == level] for level in ("turn", "dialogue"))
        yield (name, "∞" if math.isinf(strength) else f"{strength:g}",
               number(float(np.mean([row.known for row in turns] or [math.nan])), 3),
               number(float(np.mean([row.unknown for row in turns] or [math.nan])), 3),
               number(float(np.mean([row.known for row in dialogues] or [math.nan])), 3))
