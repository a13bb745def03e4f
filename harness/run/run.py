"""Running a plan: load, score, agree, rank. One dataset is in memory at a time."""

from __future__ import annotations

import contextlib
import hashlib
import math
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard, Rating
from benchmarks.errors import BadStore
from benchmarks.formats import private
from harness.errors import CellFailed, HarnessError, StoreError
from harness.results import examples
from harness.results import item_scores as points
from harness.results.rows import (
    Comparison,
    Correlation,
    DatasetEntry,
    Example,
    Failure,
    ItemScores,
    RankingRow,
    Reliability,
    Results,
    Skip,
    Timing,
)
from harness.run import compare, correlate, entries, environment, plan
from harness.run.correlate import Judged, TargetData
from harness.run.preparing import Context
from harness.run.rank import Board, ranking
from harness.run.redaction import redacted
from harness.scoring import composites
from harness.scoring.executors import cutting, worker
from harness.scoring.executors.seeing import SCORING
from harness.scoring.score import Scores
from harness.scoring.scorer import Scorer
from metrics.errors import CannotScore, MetricError, MissingResource
from metrics.registry import Chosen

EVERY = "every metric"
"""In place of a metric's name, where a whole dataset was skipped or failed."""


@dataclass(slots=True)
class Found:
    """What a run has found so far."""

    datasets: list[DatasetEntry] = field(default_factory=list)
    correlations: list[Correlation] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    reliability: list[Reliability] = field(default_factory=list)
    points: list[ItemScores] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    cells: dict[tuple[str, str], set[tuple[str, str]]] = field(default_factory=dict)
    scored_cells: list[TargetData] = field(default_factory=list)
    scored: int = 0


def run(context: Context, ratings: Path | None, command: str) -> tuple[Results, Found]:
    """Run the plan to its report."""
    extra = _private(context, ratings) if ratings else {}
    found = Found(failures=[Failure("every dataset", name, reason) for name, reason in context.plan.broken])
    context.seen.began(command)
    with context.seen:
        with context.filling:
            if context.filling.ahead:
                _fill(context)
            _datasets(context, extra, found)
        context.models.close()
        with context.seen.stage("ranking"):
            return _report(context, found, command, ratings), found


def _fill(context: Context) -> None:
    """Score all there is to be scored, before the first dataset is measured."""
    cells: list[cutting.Cell] = []
    with context.seen.stage("planning"):
        for card in context.plan.cards:
            with contextlib.suppress(BadStore):  # told when the run comes to it
                if dataset := plan.load(card, context.home, context.plan.selection):
                    cells += context.filling.cells(dataset, context.plan.chosen)
                    del dataset  # so that two are never held at once
    with context.seen.stage(SCORING):
        context.filling.fill(cells)


def _datasets(context: Context, extra: Mapping[str, tuple[Rating, ...]], found: Found) -> None:
    for number, card in enumerate(context.plan.cards, 1):
        context.seen.place = f" ({number} of {len(context.plan.cards)})"
        _card(context, card, extra.get(card.name, ()), found)


def _card(context: Context, card: DatasetCard, extra: tuple[Rating, ...], found: Found) -> None:
    """Run one dataset, which is held no longer than that takes."""
    try:
        with context.seen.stage("loading", card.name):
            dataset = plan.load(card, context.home, context.plan.selection)
    except BadStore as error:  # the other datasets are none the worse for it
        found.failures.append(Failure(card.name, EVERY, str(error)))
        lost = {(card.name, quality.name) for quality in context.plan.qualities(card)}
        found.cells.setdefault((card.split, "real"), set()).update(lost)  # so that no average leaves it out
        return
    if dataset is None:
        reason = "only the bundled sample is here, and real data was asked for"
        found.skips.append(Skip(card.name, EVERY, reason))
    else:
        _dataset(context, dataset, extra, found)


def _private(context: Context, path: Path) -> dict[str, tuple[Rating, ...]]:
    owners = private.Owners()
    for card in context.plan.cards:
        dataset = plan.load(card, context.home, replace(context.plan.selection, limit=None))
        if dataset is not None:
            owners.add(dataset)
    return private.read(path, owners)


def _dataset(context: Context, dataset: Dataset, extra: tuple[Rating, ...], found: Found) -> None:
    dataset, extra = private.join(dataset, extra)
    before, timings = found.scored, len(found.timings)
    scored: dict[tuple[str, str], Scores] = {}
    if not context.filling.ahead:
        with context.seen.stage(SCORING, dataset.card.name):
            context.filling.fill(context.filling.cells(dataset, context.plan.chosen))
    source = context.filling.source(dataset)
    with context.seen.stage("composing", dataset.card.name):
        for chosen in context.plan.chosen:
            context.progress.at(dataset.card.name, chosen.label)
            scores = _cell(context, source, chosen, found)
            if scores is not None:
                scored[chosen.label, chosen.suffix] = scores
                seconds = round(scores.seconds, 6)
                found.timings.append(Timing(dataset.card.name, chosen.label, len(dataset.items), seconds))
            context.progress.advance()
    qualities = correlate.judged(dataset, context.plan.qualities(dataset.card))
    with context.seen.stage("measuring", dataset.card.name):
        _measure(context, correlate.cells(dataset, qualities, scored, context.plan.selection.aggregations), found)
        columns = correlate.columns(dataset, scored, context.plan.selection.aggregations)
        found.points.append(points.of(dataset, qualities, columns))
        found.examples += _examples(context, dataset, qualities, found)
    found.datasets.append(entries.dataset_entry(dataset, qualities, extra))
    usable = {(dataset.card.name, quality.quality.name) for quality in qualities if quality.usable}
    found.cells.setdefault((dataset.card.split, entries.kind(dataset)), set()).update(usable)
    if extra:
        context.progress.line(f"{dataset.card.name:<18} {entries.joined(dataset, extra)}")
    fresh, all_ = found.scored - before, len(found.timings) - timings
    context.progress.line(f"{dataset.card.name:<18} {entries.kind(dataset):<6} {len(dataset.items):>6} items  "
                          f"{fresh} metrics scored, {all_ - fresh} kept from before")


def _measure(context: Context, cells: tuple[TargetData, ...], found: Found) -> None:
    """What the cells of a dataset say by themselves."""
    found.scored_cells += [replace(cell, judged=replace(cell.judged, votes=())) for cell in cells]  # means are enough
    for cell in cells:
        measured = compare.measured(cell, context.draws, context.memo, context.models.machine.devices[0])
        found.correlations += measured.correlations
        found.comparisons += measured.comparisons
        found.reliability += measured.reliability


def _examples(context: Context, dataset: Dataset, qualities: tuple[Judged, ...], found: Found) -> tuple[Example, ...]:
    """The examples of the dataset that was measured last, as its metrics judge it that are no controls.

    Metrics that learned on its ratings are no judges of it.
    """
    if not context.examples:
        return ()
    metrics = {chosen.label for chosen in context.plan.chosen if chosen.metric.card.family != "control"
               and dataset.card.name not in composites.learned_on(chosen.metric, context.models)}
    rows = [row for row in found.correlations if row.dataset == dataset.card.name]
    return examples.find(dataset, qualities, found.points[-1], rows, metrics, context.examples)


def _cell(context: Context, source: Scorer, chosen: Chosen, found: Found) -> Scores | None:
    """The scores of a cell, from the store or fresh. What a metric raises costs its cell alone."""
    name, label = source.dataset.card.name, chosen.label
    try:
        scores = source.scores(chosen.metric)
        found.scored += composites.key(chosen.metric, source.dataset, context.models) in source.fresh
    except (MissingResource, CannotScore) as error:
        found.skips.append(Skip(name, label, redacted(str(error))))
        return None
    except CellFailed as error:
        found.failures.append(Failure(name, label, redacted(str(error))))
        return None
    except (StoreError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a metric is foreign code
        told = worker.told(error)
        found.failures.append(Failure(name, label, redacted(told)))
        trace = "" if isinstance(error, MetricError | HarnessError) else f"\n{traceback.format_exc()}"
        context.progress.line(f"{name}: {label} crashed: {told}{trace}")
        return None
    return scores


def _report(context: Context, found: Found, command: str, ratings: Path | None) -> Results:
    selection = context.plan.selection
    options = {**selection.asked(), "draws": context.draws.ranks, "permutations": context.draws.permutations,
               "examples": context.examples}
    if ratings:
        options["ratings sha256"] = hashlib.sha256(ratings.read_bytes()).hexdigest()
    return Results(
        run=environment.facts(selection.seed, context.filling.executor.device or str(context.models.machine), options,
                              command),
        datasets=tuple(found.datasets),
        metrics=tuple(entries.metric_entry(chosen, context.models) for chosen in context.plan.chosen),
        correlations=tuple(found.correlations),
        ranking=tuple(_ranking(context, found)),
        comparisons=tuple(found.comparisons),
        reliability=tuple(found.reliability),
        trainings=entries.training_entries(context.plan.chosen, context.models),
        skips=tuple(found.skips),
        failures=tuple(found.failures),
        timings=tuple(found.timings),
        points=tuple(found.points),
        examples=tuple(found.examples),
    )


def _ranking(context: Context, found: Found) -> Iterator[RankingRow]:
    """The boards of each split and kind of data; metrics with references also compete where all can take part.

    A cell whose dataset the weights were learned on counts for nothing.
    """
    real = {entry.name for entry in found.datasets if entry.origin != "sample"}
    seen = {(chosen.label, dataset) for chosen in context.plan.chosen
            for dataset in composites.learned_on(chosen.metric, context.models) if dataset in real}
    unseen = [replace(row, value=math.nan) if (row.metric, row.dataset) in seen else row for row in found.correlations]
    referenced = {entry.name for entry in found.datasets if "references" in entry.has}
    for (split, kind), cells in sorted(found.cells.items()):
        boards = [Board(split, kind, frozenset(cells))]
        some = frozenset(cell for cell in cells if cell[0] in referenced)
        if some and some != cells:
            boards.append(Board(f"{split}-references", kind, some))
        for board in boards:
            on_it = [cell for cell in found.scored_cells if (cell.dataset, cell.quality) in board.cells]
            rows = tuple(ranking(board, unseen))
            yield from compare.ranked(rows, on_it, context.draws, context.memo)
