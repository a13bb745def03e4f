"""Learning the weights of a composition from the correlations of its inputs on development datasets.

    calibrate(metric, datasets, scorers) -> Evidence      the numbers that all rules for weights start from

Of every dataset some items are drawn (300 for MME-CRS, as in its paper). A quality with too few rated ones among them,
or whose ratings are all the same, is left out and told; so is a dataset on which an input cannot be scored. An input
with too few scores among the rated has no correlation there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import harness
from benchmarks.dataset import Dataset
from benchmarks.storage import store
from harness.errors import BadConfig
from harness.run import correlate
from harness.run.correlate import Judged
from harness.scoring.scorer import Scorer
from harness.statistics.coefficients import pearson, spearman
from harness.statistics.panel import codes, panel
from harness.statistics.ranks import ranks
from metrics.composition import Composite, InputScores, signed
from metrics.errors import CannotScore
from metrics.evidence import DatasetEvidence, Evidence, QualityEvidence, Vector
from metrics.models.service import Models

Rows: TypeAlias = npt.NDArray[np.int64]
FEWEST = 20
"""Minimum of rated and scored items for a correlation to count."""

LeftOut: TypeAlias = list[tuple[str, str]]
"""Skipped datasets and qualities, with reasons."""


def calibrate(metric: Composite, scorers: Iterable[Scorer], models: Models, drawn: int, seed: int,
              left_out: LeftOut) -> Evidence:
    """Collect the correlations of the inputs on datasets; BadConfig if no quality is usable."""
    names = tuple(one.name for one in metric.made_of())
    parts: list[DatasetEvidence] = []
    for scorer in scorers:
        try:
            parts += _part(metric, scorer, drawn, seed, left_out)
        except CannotScore as error:
            left_out.append((scorer.dataset.card.name, str(error)))
    if not parts:
        reasons = "; ".join(f"{what}: {why}" for what, why in left_out) or "there is none"
        raise BadConfig(f"no weights of {metric.card.name} can be learned from these datasets: {reasons}")
    return Evidence(names, tuple(parts), signed(metric, models))


def _part(metric: Composite, scorer: Scorer, drawn: int, seed: int, left_out: LeftOut) -> Iterator[DatasetEvidence]:
    """Collect the evidence of one dataset; None if no quality is usable."""
    dataset, columns = scorer.dataset, []
    for one in metric.made_of():
        columns.append(one.of(scorer.scores(one.chosen.metric).columns))
        if not np.isfinite(columns[-1]).any():
            raise CannotScore(f"its input {one.name} has no score there")
    table = np.array(columns)  # (inputs, items)
    rows: Rows = np.arange(len(dataset.items))
    if 0 < drawn < len(rows):  # by the seed and the dataset's name alone
        own = int.from_bytes(hashlib.sha256(dataset.card.name.encode()).digest()[:8], "big")
        rows = np.sort(np.random.default_rng([seed, own]).permutation(len(rows))[:drawn])
    names = [one.name for one in metric.made_of()]
    rated = (_rated(dataset, one, names, table, rows, left_out)
             for one in correlate.judged(dataset, dataset.card.qualities))
    if usable := tuple(one for one in rated if one is not None):
        chosen = table[:, rows]
        yield DatasetEvidence(dataset.card.name, dataset.card.level, dataset.fingerprint,
                              store.ratings_fingerprint(dataset.ratings), len(rows), _each(np.nanmean, chosen),
                              _each(np.nanstd, chosen), _alike(chosen), usable)


def _rated(dataset: Dataset, judged: Judged, inputs: Sequence[str], table: InputScores, rows: Rows,
           left_out: LeftOut) -> QualityEvidence | None:
    """Return a quality over the drawn items; None, with the reason recorded, if it is unusable."""
    human = judged.means[rows]
    rated = np.isfinite(human)
    name = f"{dataset.card.name}, {judged.quality.name}"
    if rated.sum() < FEWEST:
        left_out.append((name, f"{int(rated.sum())} of the drawn items are rated, {FEWEST} are needed"))
        return None
    if not np.ptp(human[rated]):
        left_out.append((name, "all ratings are the same"))
        return None
    none = codes([None] * int(rated.sum()))
    panels = [panel(scores[rows][rated], human[rated], none, none) for scores in table]
    places = ranks(human[rated])
    ranked = [panel(scores[rows][rated], places, none, none) for scores in table]
    for one, scored in zip(inputs, panels, strict=True):
        if scored.n < FEWEST:
            left_out.append((f"{name}, input {one}", f"{scored.n} of the rated items are scored, {FEWEST} are needed"))
    enough = np.array([scored.n >= FEWEST for scored in panels])
    return QualityEvidence(judged.quality.name, judged.quality.dimension, int(rated.sum()),
                 np.where(enough, list(map(spearman, panels)), np.nan),
                 np.where(enough, list(map(pearson, ranked)), np.nan))


def _alike(table: InputScores) -> InputScores:
    """Return the correlations among the inputs; 0 for a constant one."""
    filled = np.where(np.isfinite(table), table, _each(np.nanmean, table)[:, None])
    centred = filled - filled.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred * centred).sum(axis=1))
    unit = centred / np.where(norms > 0, norms, 1)[:, None]
    alike: InputScores = unit @ unit.T
    return alike


def _each(of: Callable[[Vector], float], table: InputScores) -> Vector:
    return np.array([of(row) if np.isfinite(row).any() else 0.0 for row in table])


def with_card(evidence: Evidence, command: str, drawn: int, seed: int, left_out: LeftOut) -> Evidence:
    """Return the evidence with the command that repeats it."""
    card = {"command": command, "drawn": drawn or "all", "seed": seed, "version": harness.__version__,
            "left_out": [f"{what}: {why}" for what, why in left_out]}
    return replace(evidence, card=card)
