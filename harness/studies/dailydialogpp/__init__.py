"""Accuracy of metrics in telling relevant replies from random and adversarial ones, on DailyDialog++.

The study of Sai et al. (2020), which introduced the data and DEB, for any metric: accuracy and point-biserial
correlation with one reference and with several, confusion matrices, tests between metrics, replies changed so that
they should lose their relevance or keep it, and conicity of embeddings, next to published numbers. The modules of
this package describe each method and its departures.

Conicity is the narrowness of the cone of a set of vectors (Chandrahas et al., 2018; for DEB Sai et al., 2020):

    conicity(V) = mean over v in V of cos(v, mean of V)

It is 1 if all vectors point the same way, and lower the more they spread. V holds the encoder's sentence vectors of
the relevant replies P to one context, alone or with the random (P+R) or adversarial ones (P+A); the result is the mean
over contexts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.corpora import corpora
from benchmarks.corpora import dailydialogpp as data
from harness.errors import BadConfig
from harness.results.cache import Cache
from harness.scoring.progress import Progress
from harness.studies import Findings, StudyRequest
from harness.studies.dailydialogpp.columns import ReplyScores, ScoredColumn, columns
from harness.studies.dailydialogpp.page import findings
from harness.studies.dailydialogpp.replies import SETS, Replies, changes, lexicon
from metrics.errors import MissingResource
from metrics.models.memory import Vectors
from metrics.registry import Chosen

TITLE = "Relevant, random and adversarial replies: DailyDialog++"
FLAGS = ("metric", "folder")


def study(request: StudyRequest) -> Findings:
    source, seed = _source(request), request.settings.seed
    workspace, limit = request.workspace, request.settings.limit
    contexts = {part: data.read(source, part, limit) for part in data.PARTS}
    scores = ReplyScores(contexts, changes(seed, None), seed, workspace.models, workspace.store, Progress())
    try:
        scores.changes = changes(seed, lexicon(workspace.models.resource("wordnet").path))
    except MissingResource as error:
        scores.skips["nouns only, synonyms"] = str(error)
    result = compare(request.plan.chosen, scores, workspace.cache)
    return dataclasses.replace(result, failures=(*request.broken, *result.failures))


def compare(metrics: Sequence[Chosen], scores: ReplyScores, cache: Cache) -> Findings:
    rows: list[ScoredColumn] = []
    for chosen in metrics:
        start = time.monotonic()
        if scored_columns := columns(chosen, scores):
            rows += scored_columns
            scores.progress.line(f"{chosen.label:<24} {time.monotonic() - start:6.1f} s")
    by_set = encoder_conicities(metrics, scores, cache)
    if not rows:
        reasons = (f"{name}: {reason}" for name, reason in (*scores.failures.items(), *scores.skips.items()))
        raise BadConfig("; ".join(("no metric could be scored", *reasons)))
    return findings(rows, by_set, scores)


def _source(request: StudyRequest) -> Path:
    expected_files = f"dev.json and test.json of DailyDialog++ ({data.URL}, folder dataset)"
    if request.folder is not None:
        if all((request.folder / f"{part}.json").is_file() for part in data.PARTS):
            return request.folder
        raise BadConfig(f"{request.folder} has no {expected_files}")
    source = corpora.path(data.CORPUS, request.home)
    if not source.is_file():
        raise BadConfig(f"DailyDialog++ was not found; run `harness fetch --corpora {data.CORPUS}`, or name the folder "
                        f"of the {expected_files} with --from")
    return source


def conicity(vectors: Vectors) -> float:
    """Return the conicity, −1 to 1; the cosine of a zero vector is 0."""
    vectors = vectors.astype(np.float64)
    middle = vectors.mean(axis=0)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(middle)
    return float(np.mean(vectors @ middle / np.where(norms == 0, 1, norms)))


def conicities(vectors: Vectors, replies: Replies) -> dict[str, float]:
    """Return the mean conicity over the contexts of each set of replies."""
    groups = np.split(np.arange(len(replies.contexts)), np.flatnonzero(np.diff(replies.contexts)) + 1)
    return {name: float(np.mean([conicity(vectors[group[np.isin(replies.kinds[group], kinds)]]) for group in groups]))
            for name, kinds in SETS.items()}


def encoder_conicities(metrics: Sequence[Chosen], scores: ReplyScores, cache: Cache) -> dict[str, float]:
    """Return the conicities of the encoder's vectors; empty if no metric uses an encoder, or it is missing."""
    if not any("encoder" in chosen.metric.card.models for chosen in metrics):
        return {}
    replies, models = scores.replies("test", "none"), scores.models
    texts = [item.response.text for item in replies.dataset.items if item.response]
    try:
        key = [replies.dataset.fingerprint, models.identity("encoder")]
        values: dict[str, float] = cache.get(
            "conicity", key, lambda: conicities(models.encoder().sentences(texts, "mean"), replies))
    except MissingResource as error:
        scores.skips["conicity"] = str(error)
        return {}
    return values
