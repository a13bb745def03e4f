"""Accuracy of metrics in telling relevant replies from random and adversarial ones, on DailyDialog++.

The study of Sai et al. (2020), which introduced the data and DEB, for any metric: accuracy and point-biserial
correlation with one reference and with several, confusion matrices, tests between metrics, replies changed so that
they should lose their relevance or keep it, and conicity of embeddings, next to published numbers. The modules of
this package describe each method and its departures.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpora import dailydialogpp as data
from harness.errors import BadConfig
from harness.results.cache import Cache
from harness.scoring.progress import Progress
from harness.studies import Findings, StudyRequest
from harness.studies.dailydialogpp.changes import changes, lexicon
from harness.studies.dailydialogpp.columns import ReplyScores, ScoredColumn, columns
from harness.studies.dailydialogpp.conicity import spaces
from harness.studies.dailydialogpp.page import findings
from metrics.errors import MissingResource
from metrics.registry import Chosen

TITLE = "Relevant, random and adversarial replies: DailyDialog++"
FLAGS = ("metric", "folder")


def study(request: StudyRequest) -> Findings:
    """Compute missing scores, classify the replies, and compare the metrics."""
    source, seed = _source(request), request.settings.seed
    space, limit = request.workspace, request.settings.limit
    contexts = {part: data.read(source, part, limit) for part in data.PARTS}
    scores = ReplyScores(contexts, changes(seed, None), seed, space.models, space.store, Progress())
    try:
        scores.changes = changes(seed, lexicon(space.models.resource("wordnet").path))
    except MissingResource as error:
        scores.skips["nouns only, synonyms"] = str(error)
    result = compare(request.plan.chosen, scores, space.cache)
    return dataclasses.replace(result, failures=(*request.broken, *result.failures))


def compare(metrics: Sequence[Chosen], scores: ReplyScores, cache: Cache) -> Findings:
    """Score the replies with each metric, and compare the metrics."""
    rows: list[ScoredColumn] = []
    for chosen in metrics:
        start = time.monotonic()
        if judged := columns(chosen, scores):
            rows += judged
            scores.progress.line(f"{chosen.label:<24} {time.monotonic() - start:6.1f} s")
    cones = dict(spaces(metrics, scores, cache))
    if not rows:
        reasons = (f"{name}: {reason}" for name, reason in (*scores.failures.items(), *scores.skips.items()))
        raise BadConfig("; ".join(("no metric could be scored", *reasons)))
    return findings(rows, cones, scores)


def _source(request: StudyRequest) -> Path:
    where = f"dev.json and test.json of DailyDialog++ ({data.URL}, folder dataset)"
    if request.folder is not None:
        if all((request.folder / f"{part}.json").is_file() for part in data.PARTS):
            return request.folder
        raise BadConfig(f"{request.folder} has no {where}")
    source = data.in_home(request.home)
    if not source.is_file():
        raise BadConfig(f"DailyDialog++ was not found; run `harness fetch --corpora {data.CORPUS}`, or name the folder "
                        f"of the {where} with --from")
    return source
