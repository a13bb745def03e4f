"""How well metrics tell a relevant reply from a random one and from an adversarial one, on DailyDialog++.

The study of Sai et al. (2020), which introduced the data and DEB, for any metric: accuracy and point-biserial
correlation with one reference and with several, confusion matrices, tests between metrics, replies changed so that
they should lose their relevance or keep it, and how embeddings spread. Beside each number stands what the paper
prints. The files `_pp_*` say how each is done and where the paper leaves it open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.corpora import dailydialogpp as data
from harness.errors import BadConfig
from harness.scoring.progress import Progress
from harness.studies import Bench, Findings
from harness.studies._pp_changes import changes
from harness.studies._pp_conicity import Hidden, Spread, sentences, spread
from harness.studies._pp_lexicon import Lexicon, lexicon
from harness.studies._pp_page import findings
from harness.studies._pp_rows import Material, Row, rows
from harness.studies._pp_scoring import Scorer
from metrics.errors import MissingResource
from metrics.metric import signature
from metrics.models.memory import Vectors

TITLE = "Relevant, random and adversarial replies: DailyDialog++"


def study_alone(bench: Bench) -> Findings:
    """Score what was not scored before, judge, compare."""
    source = _source(bench)
    known, reason = _lexicon(bench)
    material = Material({part: data.read(source, part, bench.limit) for part in data.PARTS},
                        changes(bench.seed, known), bench.seed)
    scorer = Scorer(bench.store, bench.models, Progress(len(bench.chosen)))
    found: list[Row] = []
    for chosen in bench.chosen:
        start = time.monotonic()
        own = rows(chosen, material, scorer)
        found += own
        scorer.progress.advance()
        if own:
            scorer.progress.line(f"{chosen.label:<24} {time.monotonic() - start:6.1f} s")
    if reason:
        scorer.skips["nouns only, synonyms"] = reason
    spreads = tuple(_spreads(bench, material, scorer))
    bench.models.close()
    return findings(TITLE, found, spreads, material, scorer)


def _source(bench: Bench) -> Path:
    if bench.folder is not None:
        if data.holds(bench.folder):
            return bench.folder
        raise BadConfig(f"{bench.folder} holds no dev.json and test.json of DailyDialog++ ({data.URL}, folder dataset)")
    found = next(filter(data.holds, data.sources(bench.home)), None)
    if found is None:
        raise BadConfig(f"DailyDialog++ is not here: `harness fetch --corpora {data.CORPUS}`, or name the folder of "
                        f"its dev.json and test.json ({data.URL}, folder dataset) by --from")
    return found


def _lexicon(bench: Bench) -> tuple[Lexicon | None, str]:
    try:
        return lexicon(bench.models.resource("wordnet").path), ""
    except MissingResource as error:
        return None, str(error)


def _spreads(bench: Bench, material: Material, scorer: Scorer) -> Iterator[Spread]:
    """The conicity of the encoder where a metric takes one, and of what the last layers of trained metrics read."""
    given = material.replies("test", "none")
    spaces: list[tuple[str, Callable[[], str], Callable[[], Vectors]]] = []
    if any("encoder" in chosen.metric.card.models for chosen in bench.chosen):
        spaces.append(("replies alone", lambda: bench.models.identity("encoder"),
                       lambda: sentences(bench.models, given)))
    spaces += [(chosen.label, partial(signature, chosen.metric, bench.models),
                partial(chosen.metric.hidden, given.dataset.items, bench.models))
               for chosen in bench.chosen
               if isinstance(chosen.metric, Hidden) and chosen.label not in {*scorer.skips, *scorer.failures}]
    for name, depends, vectors in spaces:
        try:
            key = [given.dataset.fingerprint, depends()]
            values = bench.memo.get("conicity", key, lambda make=vectors: spread(make(), given))  # type: ignore[misc]
        except MissingResource as error:
            scorer.skips[f"conicity, {name}"] = str(error)
        else:
            yield Spread(name, values)
