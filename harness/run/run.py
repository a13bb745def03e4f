"""A run: load, score, correlate, rank. One dataset is in memory at a time.

    Plan  ->  for each dataset: load -> score -> correlate, compare  ->  rank  ->  Results
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Rating
from benchmarks.errors import BadStore
from benchmarks.formats import private
from benchmarks.redaction import redacted
from harness.errors import ScoringFailed
from harness.results.rows import (
    Comparisons,
    Correlation,
    DatasetEntry,
    Example,
    Failure,
    ItemScores,
    MetricEntry,
    RankingRow,
    Reliability,
    Results,
    Skip,
    Timing,
)
from harness.run import compare, correlate, entries, environment, examples, intervals, unchanged
from harness.run import plan as plans
from harness.run.correlate import Judged, TargetData
from harness.run.plan import Plan
from harness.run.rank import Target, boards, ranking, unseen
from harness.run.workspace import Workspace
from harness.scoring import composites
from harness.scoring.lease import exclusive
from harness.scoring.pairs import Pair, pairs
from harness.scoring.parts import Key, Local, cut_pairs, score_pairs
from harness.scoring.progress import SCORING
from harness.scoring.score import Scores
from harness.scoring.scorer import Scorer
from harness.statistics.estimates import full_name
from metrics.errors import MissingResource, NoAnswer

EVERY = "every metric"
"""Stands for the metric where a whole dataset was skipped or failed."""


@dataclass(slots=True)
class DatasetResults:
    """The rows of one dataset; its `targets` count on `board`, a split and a kind of data."""

    board: tuple[str, str]
    targets: frozenset[Target] = frozenset()
    datasets: list[DatasetEntry] = field(default_factory=list)
    correlations: list[Correlation] = field(default_factory=list)
    comparisons: list[Comparisons] = field(default_factory=list)
    reliability: list[Reliability] = field(default_factory=list)
    points: list[ItemScores] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    data: list[TargetData] = field(default_factory=list)
    """Scores and mean ratings for the intervals of ranks."""


def run(plan: Plan, work: Workspace) -> Results:
    return run_with_data(plan, work)[0]


def run_with_data(plan: Plan, work: Workspace) -> tuple[Results, tuple[TargetData, ...]]:
    """Carry out a plan; return the results, and scores and mean ratings of every target."""
    ratings = _private_ratings(plan, work)
    work.progress.began(plan.command)
    with work.progress:
        with (exclusive(work.store.files, work.progress.say),
              contextlib.closing(work.executor) if work.executor else contextlib.nullcontext()):
            outcome = _score_ahead(plan, work)
            datasets = []
            for number, card in enumerate(plan.cards, 1):
                work.progress.position = f" ({number} of {len(plan.cards)})"
                datasets.append(_run_dataset(plan, work, card, ratings.get(card.name, ()), outcome))
        with work.progress.stage("ranking"):
            return _results(plan, work, datasets), tuple(chain.from_iterable(rows.data for rows in datasets))


def _private_ratings(plan: Plan, work: Workspace) -> dict[str, tuple[Rating, ...]]:
    if plan.ratings is None:
        return {}
    owners = private.Owners()
    for card in plan.cards:
        dataset = plans.load(card, work.home, dataclasses.replace(plan.selection, limit=None))
        if dataset is not None:
            owners.add(dataset)
    return private.read(plan.ratings, owners)


@dataclass(slots=True)
class Outcome:
    """The pairs that were scored, and why others have no scores, both by fingerprint and signature."""

    scored: set[Key] = field(default_factory=set)
    errors: dict[Key, Exception] = field(default_factory=dict)


def _score_ahead(plan: Plan, work: Workspace) -> Outcome:
    """Score all datasets with the workers of a cluster; in one process only count what is to be scored."""
    planned: list[Pair] = []
    outcome = Outcome()
    if work.executor is None and len(plan.cards) == 1:
        return outcome
    with work.progress.stage("planning"):
        for card in plan.cards:
            with contextlib.suppress(BadStore):  # reported when the run comes to it
                if dataset := plans.load(card, work.home, plan.selection):
                    planned += to_score(plan, work, dataset)
                    del dataset  # so that two are never held at once
    if work.executor is None:
        for part in cut_pairs(planned, work.store):
            work.progress.plan(part.name, part.seconds * part.pair.known)
        return outcome
    with work.progress.stage(SCORING):
        outcome.errors = score_pairs(planned, work.executor, work.store, work.progress, rescore=plan.rescore)
        outcome.scored = {pair.key for pair in planned} - outcome.errors.keys()
    return outcome


def to_score(plan: Plan, work: Workspace, dataset: Dataset) -> list[Pair]:
    """List the pairs to be scored on a dataset."""
    reused = plan.reused.scores(dataset)
    return pairs(dataset, [chosen for chosen in plan.chosen if chosen.label not in reused], work.models, work.store,
                 work.costs, rescore=plan.rescore, known=plan.reused.inputs(dataset))


def _run_dataset(plan: Plan, work: Workspace, card: DatasetCard, ratings: tuple[Rating, ...], outcome: Outcome,
                 ) -> DatasetResults:
    """Load, score, correlate and compare one dataset."""
    try:
        with work.progress.stage("loading", card.name):
            dataset = plans.load(card, work.home, plan.selection)
    except BadStore as error:  # fails only this dataset, whose targets still count so that no average leaves them out
        lost = frozenset((card.name, quality.name) for quality in plan.qualities(card))
        return DatasetResults((card.split, "real"), lost, failures=[Failure(card.name, EVERY, str(error))])
    if dataset is None:
        reason = ("real data not installed" if plan.selection.data == "real" else
                  "it was not imported, and the bundled sample has no such dataset")
        return DatasetResults((card.split, "real"), skips=[Skip(card.name, EVERY, reason)])
    dataset, ratings = private.join(dataset, ratings)
    results = DatasetResults((card.split, dataset.kind))
    scores = _score(plan, work, dataset, outcome, results)
    qualities = correlate.judged(dataset, plan.qualities(card))
    results.datasets.append(entries.dataset_entry(dataset, qualities, ratings))
    with work.progress.stage("correlating", card.name):
        _correlate(plan, work, dataset, qualities, scores, results)
    if ratings:
        work.progress.terminal.line(f"{card.name:<18} {entries.joined(dataset, ratings)}")
    return results


def _score(plan: Plan, work: Workspace, dataset: Dataset, outcome: Outcome, results: DatasetResults,
           ) -> dict[tuple[str, str], Scores]:
    """Return the scores of every metric on a dataset, stored or new; an exception fails only its metric."""
    name, fingerprint = dataset.card.name, dataset.fingerprint
    if work.executor is None:
        with work.progress.stage(SCORING, name):
            planned = to_score(plan, work, dataset)
            errors = score_pairs(planned, Local(dataset, work.models, work.store), work.store, work.progress,
                                 rescore=plan.rescore)
            outcome = Outcome({pair.key for pair in planned} - errors.keys(), errors)
    scorer = Scorer(dataset, work.models, work.store, plan.rescore,
                    {key for scored_on, key in outcome.scored if scored_on == fingerprint},
                    {**plan.reused.inputs(dataset), **{
                        key: error for (failed_on, key), error in outcome.errors.items() if failed_on == fingerprint}})
    reused = plan.reused.scores(dataset)
    scored: dict[tuple[str, str], Scores] = {}
    fresh, requested = 0, {chosen.label for chosen in plan.chosen}
    results.skips += [Skip(name, label, redacted(plan.reused.reason(dataset, label)))
                      for label in plan.reused.metrics if label not in reused and label not in requested]
    with work.progress.stage("composing", name):
        for chosen in (one for one in plan.chosen if one.label not in reused):
            scores = scorer.attempt(chosen.metric)
            if isinstance(scores, ScoringFailed):
                results.failures.append(Failure(name, chosen.label, redacted(str(scores))))
                work.progress.say(f"{name}: {chosen.label} crashed: {scores}", scores.stack)
            elif isinstance(scores, Exception):
                work.progress.lacking += isinstance(scores, MissingResource) and unchanged.is_signed(chosen, work)
                work.progress.unanswered += isinstance(scores, NoAnswer)
                results.skips.append(Skip(name, chosen.label, redacted(str(scores))))
            else:
                scored[chosen.label, chosen.suffix] = scores
                alone = round(scores.alone, 6) if math.isfinite(scores.alone) else None
                results.timings.append(Timing(name, chosen.label, len(dataset.items), round(scores.seconds, 6), alone,
                                              scores.day))
                fresh += composites.key(chosen.metric, dataset, work.models) in scorer.fresh
    work.progress.scored += fresh
    work.progress.terminal.line(f"{name:<18} {dataset.kind:<6} {len(dataset.items):>6} items  metrics: "
                                f"{fresh} scored, {len(scored) - fresh} kept from before"
                                f"{f', {len(reused)} from {plan.reused.name}' if reused else ''}")
    return dict(sorted({**scored, **{(label, ""): scores for label, scores in reused.items()}}.items()))


def _correlate(plan: Plan, work: Workspace, dataset: Dataset, qualities: tuple[Judged, ...],
               scores: Mapping[tuple[str, str], Scores], results: DatasetResults) -> None:
    """Correlate every column with every quality, compare the columns, and keep ratings and scores."""
    points = correlate.item_scores(dataset, qualities, scores, plan.selection.aggregations)
    targets = list(correlate.targets(points, qualities))
    for target in targets:
        if plan.draws.quick:
            results.correlations += correlate.correlations(target)
            continue
        agreement = compare.reliability(target, plan.draws, work.cache)
        results.correlations += correlate.correlations(target, reliability=agreement, cache=work.cache)
        results.comparisons += compare.comparisons(target, plan.draws, work.cache)
        results.reliability += agreement
    if plan.examples:
        results.examples += examples.find(dataset, qualities, points, results.correlations,
                                          _judges(plan, work, dataset.card.name), plan.examples)
    for target in targets:
        for statistic in plan.draws.statistics:
            results.correlations += correlate.correlations(target, [statistic], cache=work.cache)
    results.targets = frozenset((dataset.card.name, quality.quality.name) for quality in qualities if quality.usable)
    results.points.append(points)
    results.data += [dataclasses.replace(target, judged=dataclasses.replace(target.judged, votes=()))
                     for target in targets]


def _judges(plan: Plan, work: Workspace, dataset: str) -> set[str]:
    """Return the metrics that choose examples: no controls, none fitted on the ratings of the dataset."""
    own = {chosen.label for chosen in plan.chosen if chosen.metric.card.family != "control"
           and dataset not in composites.learned_on(chosen.metric, work.models)}
    reused = plan.reused.metrics
    return own - reused.keys() | {entry.name for entry in reused.values()
                                  if entry.family != "control" and dataset not in entry.learned_on}


def _results(plan: Plan, work: Workspace, datasets: Sequence[DatasetResults]) -> Results:
    """Collect the rows of all datasets, and rank them."""
    selection = plan.selection
    options = {**selection.requested(), "draws": plan.draws.ranks, "permutations": plan.draws.permutations,
               "examples": plan.examples}
    if plan.draws.statistics:
        options["statistics"] = [full_name(*one) for one in plan.draws.statistics]
    if plan.reused.name:
        options["reused"] = f"{plan.reused.name}, sha256 {plan.reused.digest}"
    if plan.ratings:
        options["ratings sha256"] = hashlib.sha256(plan.ratings.read_bytes()).hexdigest()
    device = (work.executor.device if work.executor else "") or str(work.models.machine)
    rows: dict[str, Any] = {name: tuple(chain.from_iterable(getattr(one, name) for one in datasets)) for name in (
        "datasets", "correlations", "comparisons", "reliability", "skips", "timings", "points", "examples")}
    broken = (Failure("every dataset", name, reason) for name, reason in plan.broken)
    metrics = _metrics(plan, work)
    return Results(
        run=environment.facts(selection.seed, device, options, plan.command),
        metrics=metrics,
        trainings=entries.training_entries(plan.chosen, work.models),
        ranking=tuple(_rank(plan, work, datasets, metrics)),
        failures=(*broken, *chain.from_iterable(one.failures for one in datasets)), **rows)


def _metrics(plan: Plan, work: Workspace) -> tuple[MetricEntry, ...]:
    """Return the metrics of the run and of a bundle, by label."""
    own = {chosen.label: entries.metric_entry(chosen, work.models) for chosen in plan.chosen
           if chosen.label not in plan.reused.metrics}
    return tuple(entry for _, entry in sorted({**own, **plan.reused.metrics}.items()))


def _rank(plan: Plan, work: Workspace, datasets: Sequence[DatasetResults], metrics: Sequence[MetricEntry],
          ) -> Iterator[RankingRow]:
    """Rank every board, without correlations on ratings that a metric was fitted on."""
    known = [entry for rows in datasets for entry in rows.datasets]
    correlations = unseen(chain.from_iterable(rows.correlations for rows in datasets), metrics, known)
    targets: dict[tuple[str, str], frozenset[Target]] = {}
    for rows in datasets:
        targets[rows.board] = targets.get(rows.board, frozenset()) | rows.targets
    for (split, kind), own in sorted(targets.items()):
        if own:
            data = [target for rows in datasets for target in rows.data if target.key in own]
            resamples = intervals.resampled(data, plan.draws, work.cache)
            for board, cells in boards(split, own, known):
                ranked = tuple(ranking(board, kind, cells, correlations))
                yield from intervals.with_intervals(ranked, [target for target in data if target.key in cells],
                                                    resamples, plan.draws.seed)
