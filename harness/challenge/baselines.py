"""Baselines: metrics of the harness and score files of the organiser, shown beside the submissions and never ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.formats.scorefile import FORMS
from harness.challenge.entries import read
from harness.challenge.ground import Ground
from harness.challenge.ranking import agreement, totals_under
from harness.challenge.rulebook import Rulebook
from harness.run import correlate
from harness.run.rank import Target
from harness.scoring.scorer import Scorer
from harness.scoring.store import ScoreStore
from harness.statistics.panel import Vector
from metrics import registry
from metrics.errors import CannotScore, MetricError, MissingResource
from metrics.models.service import Choice, Models

FOLDER = "baselines"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A row beside the table: its value by the rule of the challenge, or the reason why there is none."""

    name: str
    value: float
    row: Mapping[Target, float]
    reason: str = ""


def measured(rules: Rulebook, ground: Ground, home: Path, store: Path) -> tuple[Baseline, ...]:
    """Score every baseline; the row of a metric says if this machine lacks something."""
    return tuple(_baseline(rules, ground, name, scores) if isinstance(scores, Mapping)
                 else Baseline(name, np.nan, {}, scores)
                 for name, scores in (*_metrics(rules, ground, home, store), *_files(rules, ground)))


def _metrics(rules: Rulebook, ground: Ground, home: Path, store: Path,
             ) -> Iterator[tuple[str, Mapping[Target, Vector] | str]]:
    models = Models(home, Choice(download=False))
    for name in rules.baselines:
        chosen, columns = registry.choose(name, seed=rules.seed), dict[str, dict[Target, Vector]]()
        try:
            for field in ground.fields:
                scores = Scorer(field.dataset, models, ScoreStore(store)).scores(chosen.metric)
                points = correlate.item_scores(field.dataset, field.judged, {(chosen.label, chosen.suffix): scores})
                for target in correlate.targets(points, field.judged):
                    for (_, column), values in zip(target.names, target.scores, strict=True):
                        columns.setdefault(column, {})[target.key] = values
            yield from columns.items()
        except (MissingResource, CannotScore, MetricError) as error:
            yield chosen.label, " ".join(str(error).split())


def _files(rules: Rulebook, ground: Ground) -> Iterator[tuple[str, Mapping[Target, Vector] | str]]:
    paths = sorted(path for path in (rules.folder / FOLDER).glob("*") if path.suffix in FORMS)
    for path, file in zip(paths, read(paths, ground.expected, [rules.column] * len(paths)), strict=True):
        yield path.stem, "; ".join(file.reasons) or file.scores


def _baseline(rules: Rulebook, ground: Ground, name: str, scores: Mapping[Target, Vector]) -> Baseline:
    tables = ground.tables([name], [ground.aligned(scores)])
    row = dict(zip(ground.targets, agreement(rules, tables)[0].tolist(), strict=True))
    (value,) = totals_under(rules, rules.rule, [row], ground)
    return Baseline(name, value, row, "" if np.isfinite(value) else "has no correlation in some target")
