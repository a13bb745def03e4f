"""`scores:FILE`: scores that were computed elsewhere, as CSV or TSV (benchmarks/formats/scorefile).

`scores:DATASET.NAME` are scores that a dataset's source publishes with its items (`scores:mtrag.rl_f`).

The file is read once, when the metric is chosen, and its digest is in the signature. A file with a repeated id or a
score that is not a finite number is rejected; an item without a row has no score. For its quality, `ID|quality` takes
precedence over `ID`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Item, Quality
from benchmarks.formats import scorefile
from metrics.column import of_quality
from metrics.errors import CannotScore, MetricError
from metrics.metric import Columns, Metric, MetricCard, variant
from metrics.models.service import Models
from metrics.paths import label

MAX_ROWS = 2_000_000
"""Maximum rows of a file; scores for every quality of every item of all registered datasets take 250,000."""


@dataclass(frozen=True, slots=True)
class ScoresOfFile:
    """The score in the file, higher is better; NaN for an item without one."""

    card: ClassVar[MetricCard]
    digest: ClassVar[str]
    scores: ClassVar[Mapping[str, float]]
    qualities: ClassVar[Sequence[Quality]] = ()

    def about(self, qualities: Sequence[Quality]) -> Metric:
        """Return the metric for the `qualities` that have scores in the file."""
        scored = {name.rpartition(scorefile.SEPARATOR)[2] for name in self.scores if scorefile.SEPARATOR in name}
        chosen = tuple(quality for quality in qualities if quality.name in scored)
        return variant(self.__class__, qualities=chosen)() if scored else self

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the scores for all qualities, and a column `NAME@QUALITY` for each quality with scores in the file."""
        name, ids = self.card.name, [item.id for item in items]
        columns = {name: np.array([self.scores.get(item, math.nan) for item in ids], dtype=np.float64)}
        for quality in self.qualities:
            scores = [self.scores.get(f"{item}{scorefile.SEPARATOR}{quality.name}", math.nan) for item in ids]
            columns[of_quality(name, quality.dimension)] = np.where(np.isnan(scores), columns[name], scores)
        if not any(np.isfinite(column).any() for column in columns.values()):
            raise CannotScore("the file has no scores for the items of this dataset")
        return columns

    def depends(self, models: Models) -> Mapping[str, str]:
        qualities = {"qualities": "+".join(quality.dimension for quality in self.qualities)} if self.qualities else {}
        return {"asked": self.card.name, "sha256": self.digest[:12], **qualities}


def metric_class(name: str) -> type[Metric]:
    """Return the metric of one file; raise MetricError if the file is invalid."""
    published, metric = registry.published_scores(), label("scores", name)
    path = published.get(name) or Path(name).expanduser()
    try:
        suffix, content = scorefile.read_content(path)
        rows = scorefile.rows(content, suffix, MAX_ROWS)
    except scorefile.Unreadable as error:
        line = f"line {error.line}: " if error.line else ""
        hint = f"; published: {', '.join(published)}" if published and not path.exists() else ""
        if (dataset := name.partition(".")[0]) in registry.names() and not path.exists():
            raise MetricError(f"{metric}: the dataset {dataset!r} has no such scores; a run of a table needs --columns "
                              f"metric=COLUMN{hint}") from error
        raise MetricError(f"{metric}: {line}{error.text}{hint}") from error
    if problem := next((problem for problem in rows.problems if problem.fatal), None):
        where = f"{problem.id}: " if problem.id else ""
        raise MetricError(f"{metric}: line {problem.line}: {where}{problem.text}; `harness validate` lists all errors")
    scores = {item: score for item, score in rows.scores.items() if not math.isnan(score)}
    card = MetricCard(name=metric, title=f"Scores of the file {path.name}", columns=(metric,), family="scores",
                      levels=("turn", "dialogue"), notes="Computed elsewhere: the harness has only the numbers.")
    return variant(ScoresOfFile, card=card, digest=hashlib.sha256(content).hexdigest(), scores=scores)
