"""Collect the correlations of a composite's inputs with ratings on development datasets, for learning its weights.

A random sample of each dataset's items is used (300 for MME-CRS, as in its paper). A quality with too few rated items
in the sample, or with constant ratings, is left out with the reason; so is a dataset on which an input cannot be
scored. An input with too few scores among a quality's rated items has no correlation with that quality. If an input has
columns for single qualities, its mean and spread are computed over the columns of all qualities.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from harness.statistics.coefficients import where_known
from harness.statistics.ranks import ranks
from metrics.composition import Composite, InputScores, input_signatures, tables
from metrics.errors import CannotScore
from metrics.evidence import DatasetEvidence, Evidence, QualityEvidence, Vector
from metrics.models.service import Models

MIN_ITEMS = 20
"""Minimum number of rated and scored items for a correlation."""
Rows: TypeAlias = npt.NDArray[np.int64]
LeftOut: TypeAlias = list[tuple[str, str]]
"""Names of skipped datasets, qualities and inputs, with reasons."""


def calibrate(metric: Composite, scorers: Iterable[Scorer], models: Models, sample_size: int, seed: int,
              left_out: LeftOut, command: str) -> Evidence:
    """Collect the evidence of all datasets, with `command` on its card; raise BadConfig if no quality is usable."""
    parts: list[DatasetEvidence] = []
    for scorer in scorers:
        try:
            parts += _of_dataset(metric, scorer, sample_size, seed, left_out)
        except CannotScore as error:
            left_out.append((scorer.dataset.card.name, str(error)))
    if not parts:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in left_out) or "no real dataset is available"
        raise BadConfig(f"cannot learn weights of {metric.card.name} from these datasets: {reasons}")
    card = {"command": command, "drawn": sample_size or "all", "seed": seed, "version": harness.__version__,
            "left_out": [f"{name}: {reason}" for name, reason in left_out]}
    inputs = tuple(part.name for part in metric.made_of())
    return Evidence(inputs, tuple(parts), input_signatures(metric, models), card=card)


def _of_dataset(metric: Composite, scorer: Scorer, sample_size: int, seed: int,
                left_out: LeftOut) -> Iterator[DatasetEvidence]:
    """Yield the evidence of a dataset, if any of its qualities is usable."""
    dataset, inputs = scorer.dataset, metric.made_of()
    dimensions = dict.fromkeys(quality.dimension for quality in dataset.card.qualities)
    plain, by_quality = tables([(part, scorer.scores(part.chosen.metric).columns) for part in inputs], dimensions)
    used = [by_quality.get(dimension, plain) for dimension in dimensions] if by_quality else [plain]
    for part, row in zip(inputs, np.hstack(used), strict=True):
        if not np.isfinite(row).any():
            raise CannotScore(f"its input {part.name} has no scores")
    rows: Rows = np.arange(len(dataset.items))
    if 0 < sample_size < len(rows):  # depends only on the seed and the dataset's name
        name_seed = int.from_bytes(hashlib.sha256(dataset.card.name.encode()).digest()[:8], "big")
        rows = np.sort(np.random.default_rng([seed, name_seed]).permutation(len(rows))[:sample_size])
    names = [part.name for part in inputs]
    qualities = (_rated(dataset, judged, names, by_quality.get(judged.quality.dimension, plain), rows, left_out)
                 for judged in correlate.judged(dataset, dataset.card.qualities))
    if usable := tuple(quality for quality in qualities if quality is not None):
        chosen = np.hstack([table[:, rows] for table in used])
        yield DatasetEvidence(dataset.card.name, dataset.card.level, dataset.fingerprint,
                              store.ratings_fingerprint(dataset.ratings), len(rows), _per_input(np.nanmean, chosen),
                              _per_input(np.nanstd, chosen), _correlations(chosen), usable)


def _rated(dataset: Dataset, judged: Judged, inputs: Sequence[str], table: InputScores, rows: Rows,
           left_out: LeftOut) -> QualityEvidence | None:
    """Return the evidence of a quality on the drawn items; if it is unusable, record the reason and return None."""
    name = f"{dataset.card.name}, {judged.quality.name}"
    rated = rows[np.isfinite(judged.means[rows])]
    human, scores = judged.means[rated], table[:, rated]
    if len(rated) < MIN_ITEMS or not np.ptp(human):
        left_out.append((name, f"{len(rated)} of the drawn items are rated, at least {MIN_ITEMS} are needed"
                         if len(rated) < MIN_ITEMS else "all ratings are the same"))
        return None
    for part, row in zip(inputs, scores, strict=True):
        if (count := int(np.isfinite(row).sum())) < MIN_ITEMS:
            left_out.append((f"{name}, input {part}",
                             f"{count} of the rated items are scored, at least {MIN_ITEMS} are needed"))
    enough = np.isfinite(scores).sum(axis=1) >= MIN_ITEMS
    return QualityEvidence(
        judged.quality.name, judged.quality.dimension, len(rated),
        np.where(enough, where_known(human, scores), np.nan),
        np.where(enough, where_known(ranks(human), scores, "pearson"), np.nan))


def _correlations(table: InputScores) -> InputScores:
    """Return the correlations among the inputs; 0 for a constant input."""
    filled = np.where(np.isfinite(table), table, _per_input(np.nanmean, table)[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(np.atleast_2d(np.corrcoef(filled))))


def _per_input(statistic: Callable[[Vector], float], table: InputScores) -> Vector:
    return np.array([statistic(row) if np.isfinite(row).any() else 0.0 for row in table])
