"""The plan printed by `harness run --dry-run`: the state and estimated time of each metric on each dataset."""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from benchmarks.dataset import Dataset
from benchmarks.errors import BadStore, plural
from harness.run.correlate import shown_by
from harness.run.plan import Plan, load
from harness.run.scores import to_score
from harness.run.workspace import Workspace
from harness.scoring import composites, score
from harness.scoring.progress import duration
from metrics.composition import Composite
from metrics.errors import MissingResource
from metrics.external.libraries.judge import Judge
from metrics.judges.spending import Estimate
from metrics.registry import Chosen

LONG = 60.0
"""Expected seconds above which a metric is slow."""


def soon(plan: Plan, work: Workspace) -> list[Chosen]:
    """Return the metrics of a plan that are not expected to be slow and have no slow inputs."""
    expected: dict[str, float] = defaultdict(float)
    for card in plan.cards:
        with contextlib.suppress(BadStore):
            if dataset := load(card, work.home, plan.settings):
                for pair in to_score(plan, work, dataset):
                    expected[pair.label] += pair.cost * len(pair.items) if pair.known else math.inf
    return [chosen for chosen in plan.chosen
            if all(expected[part.label] <= LONG for part in composites.parts([chosen]))]


def lines(plan: Plan, work: Workspace) -> Iterator[str]:
    """Describe the plan, dataset by dataset, and its total time."""
    seconds, unmeasured = 0.0, dict[str, None]()
    for card in plan.cards:
        try:
            dataset = load(card, work.home, plan.settings)
        except BadStore as error:
            yield str(error)
            continue
        if dataset is None:
            yield f"{card.name}: left out, its data is not on this machine"
            continue
        yield (f"{card.name}: {plural(len(dataset.items), 'item')}, {dataset.origin}, "
               f"{plural(len(plan.qualities(card)), 'quality', 'qualities')}, {card.level} level")
        yield f"  {shown_by(dataset)}"
        estimates = {}
        for pair in to_score(plan, work, dataset):
            estimates[pair.signature] = (pair.label, "")
            if pair.label in work.progress.earlier:
                expected = pair.cost * len(pair.items)
                seconds += expected
                estimates[pair.signature] = (pair.label, f", about {duration(expected)}")
            else:
                unmeasured[pair.label] = None
        for chosen in plan.chosen:
            key, state = _state(plan, work, dataset, chosen)
            yield f"  {chosen.label:<24} {state}{estimates.pop(key, ('', ''))[1]}"
        for label, estimate in estimates.values():
            yield f"  {label:<24} to be scored{estimate}, as an input"
    if seconds:
        more = f", plus {plural(len(unmeasured), 'metric')} not measured before" if unmeasured else ""
        yield f"estimated from earlier runs, with one worker: {duration(seconds + work.progress.others)}{more}"
    elif unmeasured:
        yield "time: unknown, since no run has measured these metrics here"


def requests(plan: Plan, work: Workspace) -> Iterator[str]:
    """Describe the requests that each judge behind an endpoint will send, excluding stored answers."""
    judges = {part.label for part in composites.parts(plan.chosen) if isinstance(part.metric, Judge)}
    estimates = defaultdict[str, Estimate](Estimate)
    for card in plan.cards if judges else ():
        with contextlib.suppress(BadStore):  # the run reports it
            dataset = load(card, work.home, plan.settings)
            for pair in to_score(plan, work, dataset) if dataset else ():
                if dataset and pair.label in judges:
                    judge: Any = score.about(pair.chosen.metric, dataset)
                    estimates[pair.label] += judge.estimate(score.read_items(judge, dataset), work.models)
    for label, estimate in estimates.items():
        yield f"{label}: {estimate.line(work.models.choice)}"


def _state(plan: Plan, work: Workspace, dataset: Dataset, chosen: Chosen) -> tuple[str, str]:
    """Return the storage key of the scores, and what a run would do."""
    try:
        key = composites.key(chosen.metric, dataset, work.models)
    except MissingResource as error:
        return "", f"skip: {error}"
    if lacking := score.unmet(chosen.metric, dataset):
        return key, f"skip: no item has {lacking}"
    if chosen.label in plan.reused.scores(dataset):
        return key, f"from the bundle {plan.reused.name}"
    if work.store.stored(dataset.fingerprint)(key) and not plan.settings.rescore:
        return key, "scored before"
    return key, "to be scored" + ", from the scores of its inputs" * isinstance(chosen.metric, Composite)
