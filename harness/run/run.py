"""A run: score, correlate and compare each dataset, then rank over all of them. One dataset is in memory at a time.

    Plan  ->  for each dataset: load -> score -> correlate -> compare -> decide  ->  rank  ->  Results
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Rating
from benchmarks.errors import BadStore
from harness.results.entries import DatasetEntry, fitted
from harness.results.rows import TABLES, Failure, Results, Skip, Target
from harness.run import compare, correlate, decide, entries, environment, examples, firmness, reuse
from harness.run import plan as plans
from harness.run.correlate import TargetData
from harness.run.plan import Plan
from harness.run.prepare import Workspace
from harness.run.rank import boards, ranking
from harness.run.scores import Scored, Scoring
from harness.run.settings import additional_statistics
from harness.scoring.lease import exclusive
from harness.statistics.pooled import Swapped

EVERY_METRIC = "every metric"
"""The name of the metric in a row for a whole dataset that was skipped or failed."""


@dataclass(slots=True)
class Collected:
    """The tables of a run so far.

    `ranked_targets` has the targets to rank by split and kind of data, `unread` the datasets that failed to load,
    `data` the scores and ratings of each target, `contributions` the contribution of each context.
    """

    tables: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in TABLES})
    ranked_targets: defaultdict[tuple[str, str], set[Target]] = field(default_factory=lambda: defaultdict(set))
    unread: list[DatasetEntry] = field(default_factory=list)
    data: list[TargetData] = field(default_factory=list)
    contributions: dict[Target, Swapped] = field(default_factory=dict)


def run(plan: Plan, work: Workspace) -> Results:
    return run_with_data(plan, work)[0]


def run_with_data(plan: Plan, work: Workspace) -> tuple[Results, tuple[TargetData, ...]]:
    """Run a plan; return the results, and the scores and ratings of every target."""
    ratings, scoring, collected = plans.private_ratings(plan, work.home), Scoring(plan, work), Collected()
    work.progress.began(plan.command)
    with (exclusive(work.store.files, work.progress.say),
          contextlib.closing(work.executor) if work.executor else contextlib.nullcontext()):
        scoring.score_ahead()
        for position, card in enumerate(plan.cards, 1):
            work.progress.position = f" ({position} of {len(plan.cards)})"
            if dataset := _load(plan, work, card, ratings.get(card.name, ()), collected):
                scores = scoring.scores(dataset, collected.tables)
                with work.progress.stage("correlating", card.name):
                    _correlate_and_compare(plan, work, dataset, scores, collected)
            del dataset  # free memory before the next dataset is loaded
    with work.progress.stage("ranking"):
        tables = collected.tables
        tables["metrics"] += entries.metric_entries(plan, work.models, {
            metric for _, metric in reuse.pairs_from_bundle(tables["points"], tables["timings"])})
        tables["trainings"] += entries.training_entries(plan.chosen, work.models)
        tables["failures"][:0] = [Failure("every dataset", name, reason) for name, reason in plan.broken]
        _rank(plan, work, collected)
        machine = work.models.machine
        device = f"{work.executor.device} {machine.precision}" if work.executor else str(machine)
        facts = environment.facts(plan.settings.seed, device, plan.options(), plan.command)
        rows: dict[str, Any] = {name: tuple(table) for name, table in tables.items()}
        return Results(run=facts, **rows), tuple(collected.data)


def _load(plan: Plan, work: Workspace, card: DatasetCard, ratings: Sequence[Rating], collected: Collected,
          ) -> Dataset | None:
    """Load a dataset and add its private ratings; if it is missing or cannot be read, record why and return None."""
    try:
        with work.progress.stage("loading", card.name):
            dataset = plans.load(card, work.home, plan.settings)
    except BadStore as error:  # its targets stay on the boards, also with references, whose averages are incomplete
        empty = Dataset(card, (), (), "imported")
        entry = entries.dataset_entry(empty, correlate.judged(empty, plan.qualities(card)))
        collected.unread.append(replace(entry, has=("references",)))
        collected.tables["failures"].append(Failure(card.name, EVERY_METRIC, str(error)))
        collected.ranked_targets[card.split, "real"] |= {(card.name, quality.name) for quality in plan.qualities(card)}
        return None
    if dataset is None:
        reason = ("real data not installed" if plan.settings.data == "real" else
                  "not imported, and not in the bundled sample")
        collected.tables["skips"].append(Skip(card.name, EVERY_METRIC, reason))
        return None
    dataset, note = plans.with_ratings(dataset, ratings)
    if note:
        work.progress.terminal.line(f"{card.name:<18} {note}")
    return dataset


def _correlate_and_compare(plan: Plan, work: Workspace, dataset: Dataset, scores: Scored, collected: Collected) -> None:
    """Correlate every column with every quality, compare the columns, and collect ratings and scores."""
    tables, settings, cache = collected.tables, plan.settings, None if plan.quick else work.cache
    statistics = additional_statistics(settings.statistic, settings.level)
    qualities = correlate.judged(dataset, plan.qualities(dataset.card))
    points = correlate.item_scores(dataset, qualities, scores, plan.settings.aggregate)
    first_row = len(tables["correlations"])
    learned_here = entries.fitted_on(plan, work.models, dataset.card.name)
    excluded = learned_here if dataset.kind == "real" else ()
    source = compare.source(dataset)
    for target in correlate.targets(points, qualities):
        reliability_rows = compare.reliability(target, settings.seed, cache, source) if cache else ()
        tables["correlations"] += correlate.correlations(target, reliability=reliability_rows, cache=cache)
        for statistic in statistics:
            tables["correlations"] += correlate.correlations(target, [statistic], cache=cache)
        tables["reliability"] += reliability_rows
        if cache:
            contributions = compare.contributions(target, settings.seed, settings.permutations, excluded)
            collected.contributions[target.key] = contributions
            tests = compare.comparisons(target, contributions)
            tables["comparisons"].append(tests)
            tables["decisions"] += decide.decisions(target, settings.epsilon, settings.seed, cache,
                                                     compare.tied_first(target, contributions, tests), source)
        collected.data.append(target)
    if plan.examples and dataset.card.shareable:
        tables["examples"] += examples.find(dataset, qualities, points, tables["correlations"][first_row:],
                                            entries.example_selectors(plan, learned_here), plan.examples)
    tables["datasets"].append(entries.dataset_entry(dataset, qualities))
    tables["points"].append(points)
    collected.ranked_targets[dataset.card.split, dataset.kind] |= {
        (dataset.card.name, judged.quality.name) for judged in qualities if judged.usable}


def _rank(plan: Plan, work: Workspace, collected: Collected) -> None:
    """Rank every board, ignoring correlations on ratings used to fit a metric; add disagreement and vote counts."""
    tables = collected.tables
    fitted_pairs = fitted(tables["metrics"], tables["datasets"])
    on_ratings = {entry.name for entry in tables["metrics"] if entry.fitted_on == "ratings"}
    for (split, kind), targets in sorted(collected.ranked_targets.items()):
        if targets:
            data = [target for target in collected.data if target.key in targets]
            resamples = firmness.resampled(data, plan.settings.seed, plan.draws, work.cache)
            verdicts = None if plan.quick else compare.verdicts(data, collected.contributions)
            first_places = verdicts and firmness.FirstPlaces(data, on_ratings, verdicts, work.cache)
            for board, cells in boards(split, frozenset(targets), [*tables["datasets"], *collected.unread]):
                ranking_rows = tuple(ranking(board, kind, cells, tables["correlations"], fitted_pairs))
                tables["ranking"] += firmness.with_intervals(
                    ranking_rows, [target for target in data if target.key in cells], resamples, plan.settings.seed,
                    verdicts)
                if first_places:
                    tables["firmness"] += first_places.firmness(board, kind, cells, ranking_rows)
    for target in () if plan.quick else collected.data:
        tables["disagreement"] += decide.disagreement(target)
        tables["vote_counts"] += decide.vote_counts(target, fitted_pairs)
