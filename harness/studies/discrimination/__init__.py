"""How often systems score a dialogue above a worse one: DynaEval's Table 2 (Zhang et al. 2021).

Worse by utterance replacement (UR): one utterance is a random one of another dialogue. By speaker-level shuffling
(SS): the utterances of one speaker are in another order. Twenty worse ones of each dialogue; systems that learn are
trained on the corpus's training part with the same strategy, five times. `trials` has the data, `trainings` the
trainings, `page` the tables.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

from benchmarks.corpora import corpora
from harness.errors import BadConfig
from harness.scoring.progress import Progress
from harness.studies import Findings, StudyRequest
from harness.studies.discrimination import trainings
from harness.studies.discrimination.page import PRINTED, Accuracies, findings, share_text
from harness.studies.discrimination.trainings import Training
from harness.studies.discrimination.trials import KINDS, PARTS, CorpusPart
from metrics.registry import Chosen

TITLE = "Dialogues told from worse ones"
FLAGS = ("metric",)
SET = {"cosim": ("pooling",), "s-dicoh": ("negatives",), "dynaeval": ("negatives", "window")}
"""Options that the study sets: both strategies, the paper's windows, and mean vectors for all."""


def study(request: StudyRequest) -> Findings:
    """Train what was not trained before, and count."""
    order = list(PRINTED)
    systems = sorted((chosen for chosen in request.plan.chosen if chosen.metric.card.name in PRINTED),
                     key=lambda chosen: order.index(chosen.metric.card.name))
    if not systems:
        raise BadConfig(f"this study is of {', '.join(PRINTED)}; none of them was asked for")
    for chosen in systems:
        _check_options(chosen)
    parts = [part for part in PARTS if corpora.path(part.corpus, request.home).is_file()]
    if not parts:
        raise BadConfig(f"none of the corpora is here: `harness fetch --corpora {PARTS[0].corpus}` brings one of them")
    accuracies, failures = _accuracies(request, systems, parts)
    found = findings(TITLE, trainings.SEEDS, accuracies, [part.title for part in PARTS if part not in parts])
    return dataclasses.replace(found, failures=(*request.broken, *failures))


def _check_options(chosen: Chosen) -> None:
    """Refuse a value of an option that the study sets itself."""
    plain = type(chosen.metric)()
    for option in SET.get(chosen.metric.card.name, ()):
        if getattr(chosen.metric, option) != getattr(plain, option):
            raise BadConfig(f"{chosen.label}: this study sets {option} itself; leave it out")


def _accuracies(request: StudyRequest, systems: Sequence[Chosen], parts: Sequence[CorpusPart],
                ) -> tuple[list[Accuracies], list[str]]:
    context = request.workspace
    planned = [Training(chosen.label, chosen.metric, part, kind, request.seed, request.selection.limit, request.home,
                        context.cache.root, context.models.choice)
               for part in parts for kind in KINDS for chosen in systems]
    trainings.encode_all(context.models, planned)
    progress, start = Progress(len(planned)), time.monotonic()
    done: dict[Training, Accuracies] = {}
    failures: list[str] = []
    for training, values in trainings.run_all(planned, trainings.workers()):
        progress.advance()
        if isinstance(values, str):
            failures.append(f"{training.label} on {training.part.title}, {training.kind}: {values}")
            continue
        own = Accuracies(training.label, training.metric.card.name, training.part, training.kind, tuple(values))
        done[training] = own
        progress.line(f"{own.label:<12} {own.part.title:<20} {own.kind} {share_text(own):<14} "
                      f"{time.monotonic() - start:6.0f} s")
    return [done[training] for training in planned if training in done], failures
