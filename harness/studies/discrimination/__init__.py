"""Accuracy of systems in scoring a dialogue above a perturbed version: DynaEval's Table 2 (Zhang et al. 2021).

Utterance replacement (UR) replaces one utterance by a random one of another dialogue. Speaker-level shuffling (SS)
reorders the utterances of one speaker. Each dialogue has twenty perturbed versions; systems that learn are trained on
the corpus's training part with the same strategy, with five seeds. `trainings` has the data and details.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.corpora import corpora
from benchmarks.errors import BenchmarkError
from harness.errors import BadConfig, HarnessError
from harness.published import PrintedNumber, Tables
from harness.results.exhibits import Grid
from harness.scoring.progress import Progress
from harness.studies import Findings, StudyRequest
from harness.studies.discrimination import trainings
from harness.studies.discrimination.trainings import KINDS, PARTS, STRATEGIES, Training
from metrics.errors import MetricError

TITLE = "Dialogues against perturbed versions"
FLAGS = ("metric",)
PRINTED = {"random": "Random", "cosim": "CoSim", "s-dicoh": "S-DiCoh", "dynaeval": "DynaEval"}

SET = {"cosim": ("pooling",), "s-dicoh": ("negatives",), "dynaeval": ("negatives", "window")}
"""Options that the study sets: both strategies, the paper's windows, and mean vectors for all."""


Accuracies = Mapping[Training, Sequence[float]]
"""The accuracies of each training run, by seed."""


def study(request: StudyRequest) -> Findings:
    """Return the accuracies of all systems, from the cache or after training."""
    systems = [chosen for name in PRINTED for chosen in request.plan.chosen if chosen.metric.card.name == name]
    if not systems:
        raise BadConfig(f"this study compares {', '.join(PRINTED)}; select one or more with --metric")
    for chosen in systems:
        for option in SET.get(chosen.metric.card.name, ()):
            if getattr(chosen.metric, option) != getattr(type(chosen.metric)(), option):
                raise BadConfig(f"{chosen.label}: this study sets {option} itself; leave it out")
    parts = [part for part in PARTS if corpora.path(part.corpus, request.home).is_file()]
    if not parts:
        raise BadConfig(f"none of the corpora is available; run `harness fetch --corpora {PARTS[0].corpus}` to get one")
    space, settings = request.workspace, request.settings
    progress, start = Progress(), time.monotonic()
    accuracies: dict[Training, list[float]] = {}
    failures = list(request.broken)
    for part, kind, chosen in ((part, kind, chosen) for part in parts for kind in KINDS for chosen in systems):
        training = Training(chosen.label, chosen.metric, part, kind, settings.seed, settings.limit, space.models,
                            space.cache)
        try:
            values = training.accuracies()
        except (BenchmarkError, MetricError, HarnessError) as error:
            failures.append(f"{chosen.label} on {part.title}, {kind}: {' '.join(str(error).split())}")
        else:
            accuracies[training] = values
            progress.line(f"{chosen.label:<12} {part.title:<20} {kind} {_percent(values):<14} "
                          f"{time.monotonic() - start:6.0f} s")
    return findings(accuracies, [part.title for part in PARTS if part not in parts], tuple(failures))


def findings(accuracies: Accuracies, absent: Sequence[str] = (), failures: tuple[str, ...] = ()) -> Findings:
    return Findings((_table(accuracies),), tuple(_remarks(absent)), {"accuracy": [{
        "system": training.label, "corpus": training.part.corpus, "split": training.part.split,
        "negatives": training.kind, "accuracy": float(np.mean(values)), "spread": spread(values), "accuracies": values,
        "paper": found.value if (found := paper(training)) else None}
        for training, values in accuracies.items()]}, failures=failures)


def spread(values: Sequence[float]) -> float:
    """Return the sample standard deviation over the seeds."""
    return float(np.std(values, ddof=1)) if len(set(values)) > 1 else 0.0


def paper(training: Training) -> PrintedNumber | None:
    return Tables.of("dynaeval").first(
        table="Table 2", metric=PRINTED[training.metric.card.name], dataset=training.part.printed,
        quality=STRATEGIES[training.kind])


def _percent(values: Sequence[float]) -> str:
    """Format the mean in per cent, with the standard deviation over the seeds."""
    return f"{100 * float(np.mean(values)):.2f}" + (f" ± {100 * spread(values):.2f}" if spread(values) else "")


def _quoted(found: PrintedNumber | None) -> str:
    """Format a published accuracy in per cent, with the standard deviation over the seeds that its note has."""
    if found is None:
        return ""
    deviation = re.search(r"std ([\d.]+)", found.note)
    return f"{100 * found.value:.2f}" + (f" ± {100 * float(deviation[1]):.2f}" if deviation else "")


def _table(accuracies: Accuracies) -> Grid:
    columns = list(dict.fromkeys((training.part, training.kind) for training in accuracies))
    texts = {(training.label, training.part, training.kind): (
        _percent(values), _quoted(paper(training))) for training, values in accuracies.items()}
    rows = tuple((label, *(text for column in columns for text in texts.get((label, *column), ("", ""))))
                 for label in dict.fromkeys(training.label for training in accuracies))
    return Grid("discrimination", "Dialogues scored above a perturbed version, in per cent",
                ("system", *(text for part, kind in columns for text in (f"{part.title} {kind.upper()}", "paper"))),
                rows, ", ".join(dict.fromkeys(f"{part.title} {part.split}" for part, _ in columns)))


def _remarks(absent: Sequence[str]) -> Iterator[str]:
    yield ("UR: one utterance is replaced by one of another dialogue; SS: one speaker's utterances are reordered. "
           "Twenty perturbed versions of each dialogue, the same for all systems; a tie counts half. ± is the standard "
           f"deviation over {trainings.SEEDS} seeds of the training run, or of random scores.")
    yield ("ConvAI2 is its validation part, as in the paper; systems for it are trained on the dialogues in the file "
           "of PersonaChat, of which the paper has 17,878. Evaluation dialogues are not used for training.")
    if absent:
        yield f"Not available and left out: {', '.join(absent)} (`harness fetch --corpora`)."
