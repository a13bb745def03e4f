"""How well metrics tell a relevant reply from a random one and from an adversarial one, on DailyDialog++.

The study of Sai et al. (2020), which introduced the data and DEB, for any metric: accuracy and point-biserial
correlation with one reference and with several, confusion matrices, tests between metrics, replies changed so that
they should lose their relevance or keep it, and how embeddings spread. Beside each number stands what the paper
prints. The modules of this package say how each is done and where the paper leaves it open.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.corpora import dailydialogpp as data
from harness.errors import BadConfig
from harness.run.cache import Cache
from harness.scoring.progress import Progress
from harness.studies import Findings, StudyRequest
from harness.studies.dailydialogpp.changes import changes
from harness.studies.dailydialogpp.columns import ReplyScores, ScoredColumn, columns
from harness.studies.dailydialogpp.conicity import Conicity, Hidden, conicities, sentences
from harness.studies.dailydialogpp.lexicon import Lexicon, lexicon
from harness.studies.dailydialogpp.page import findings
from metrics.errors import MissingResource
from metrics.metric import signature
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.registry import Chosen

TITLE = "Relevant, random and adversarial replies: DailyDialog++"
FLAGS = ("metric", "folder")


def study(request: StudyRequest) -> Findings:
    """Score what has no score yet, judge, compare."""
    source = _source(request)
    context, limit = request.workspace, request.selection.limit
    contexts = {part: data.read(source, part, limit) for part in data.PARTS}
    words, missing = _lexicon(context.models)
    scores = ReplyScores(contexts, changes(request.seed, words), request.seed, context.models, context.store,
                         Progress(len(request.plan.chosen)))
    if missing:
        scores.skips["nouns only, synonyms"] = missing
    found = compare(request.plan.chosen, scores, context.cache)
    return dataclasses.replace(found, failures=(*request.broken, *found.failures))


def compare(metrics: Sequence[Chosen], scores: ReplyScores, cache: Cache) -> Findings:
    """Judge metrics on the replies, and compare them."""
    rows: list[ScoredColumn] = []
    for chosen in metrics:
        start = time.monotonic()
        own = columns(chosen, scores)
        rows += own
        scores.progress.advance()
        if own:
            scores.progress.line(f"{chosen.label:<24} {time.monotonic() - start:6.1f} s")
    spaces = tuple(_conicities(metrics, scores, cache))
    scores.models.close()
    return findings(TITLE, rows, spaces, scores)


def _source(request: StudyRequest) -> Path:
    if request.folder is not None:
        if data.holds(request.folder):
            return request.folder
        raise BadConfig(f"{request.folder} holds no dev.json and test.json of DailyDialog++ ({data.URL}, folder "
                        "dataset)")
    source = next(filter(data.holds, data.sources(request.home)), None)
    if source is None:
        raise BadConfig(f"DailyDialog++ is not here: `harness fetch --corpora {data.CORPUS}`, or name the folder of "
                        f"its dev.json and test.json ({data.URL}, folder dataset) by --from")
    return source


def _lexicon(models: Models) -> tuple[Lexicon | None, str]:
    try:
        return lexicon(models.resource("wordnet").path), ""
    except MissingResource as error:
        return None, str(error)


def _conicities(metrics: Sequence[Chosen], scores: ReplyScores, cache: Cache) -> Iterator[Conicity]:
    """The conicity of the encoder where a metric takes one, and of what the last layers of trained metrics read."""
    replies, models = scores.replies("test", "none"), scores.models
    spaces: list[tuple[str, Callable[[], str], Callable[[], Vectors]]] = []
    if any("encoder" in chosen.metric.card.models for chosen in metrics):
        spaces.append(("replies alone", lambda: models.identity("encoder"), lambda: sentences(models, replies)))
    spaces += [(chosen.label, partial(signature, chosen.metric, models),
                partial(chosen.metric.hidden, replies.dataset.items, models))
               for chosen in metrics
               if isinstance(chosen.metric, Hidden) and chosen.label not in {*scores.skips, *scores.failures}]
    for name, identity, vectors in spaces:
        try:
            key = [replies.dataset.fingerprint, identity()]
            values = cache.get("conicity", key, lambda make=vectors: conicities(make(), replies))  # type: ignore[misc]
        except MissingResource as error:
            scores.skips[f"conicity, {name}"] = str(error)
        else:
            yield Conicity(name, values)
