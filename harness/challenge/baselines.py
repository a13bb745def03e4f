"""Baselines: metrics of the harness and score files of the organiser, shown beside the submissions and never ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.formats.scorefile import EVERY, FORMS
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
    """A row beside the table: its value by the rule of the challenge, or why there is none."""

    name: str
    value: float
    row: Mapping[Target, float]
    reason: str = ""


def measured(rules: Rulebook, ground: Ground, home: Path, kept: Path) -> tuple[Baseline, ...]:
    """Score every baseline; what a metric needs and this machine has not is said in its row."""
    return (*_metrics(rules, ground, home, kept), *_files(rules, ground))


def _metrics(rules: Rulebook, ground: Ground, home: Path, kept: Path) -> Iterator[Baseline]:
    models = Models(home, Choice(download=False))
    for name in rules.baselines:
        chosen = registry.choose(name, seed=rules.seed)
        columns: dict[str, dict[Target, Vector]] = {}
        try:
            for field in ground.fields:
                scores = Scorer(field.dataset, models, ScoreStore(kept)).scores(chosen.metric)
                points = correlate.item_scores(field.dataset, field.judged, {(chosen.label, chosen.suffix): scores})
                for target in correlate.targets(points, field.judged):
                    for (_, column), values in zip(target.names, target.scores, strict=True):
                        columns.setdefault(column, {})[field.name, target.quality] = values
        except (MissingResource, CannotScore, MetricError) as error:
            yield Baseline(chosen.label, np.nan, {}, " ".join(str(error).split()))
            continue
        yield from (_baseline(rules, ground, column, scores) for column, scores in columns.items())


def _files(rules: Rulebook, ground: Ground) -> Iterator[Baseline]:
    folder = rules.folder / FOLDER
    paths = sorted(path for path in folder.glob("*") if path.suffix in FORMS) if folder.is_dir() else []
    for path, file in zip(paths, read(paths, ground.expected, [rules.column] * len(paths)), strict=True):
        if file.reasons:
            yield Baseline(path.stem, np.nan, {}, "; ".join(file.reasons))
        else:
            columns = {target: file.scores.get(target, file.scores.get((target[0], EVERY)))
                       for target in ground.targets}
            yield _baseline(rules, ground, path.stem,
                            {target: scores for target, scores in columns.items() if scores is not None})


def _baseline(rules: Rulebook, ground: Ground, name: str, scores: Mapping[Target, Vector]) -> Baseline:
    people = ground.ratings_by_target
    tables = {target: scores.get(target, np.full(len(human), np.nan))[None] for target, human in people.items()}
    values = agreement(rules, ground, tables)[0]
    row = dict(zip(ground.targets, map(float, values), strict=True))
    (value,) = totals_under(rules, rules.rule, [row], ground)
    return Baseline(name, value, row, "" if np.isfinite(value) else "has no correlation in some target")
