"""Recompute the numbers of a bundle.

    scores of the bundle and ratings here    ->  correlations, their intervals and p
    scores computed again, if possible       ->  correlations, which should be the same
    recomputed or else packed correlations   ->  values on the boards, ranks among all packed rows

A dataset is available here if its items and ratings have the fingerprints of the bundle. It is scored again by the
metrics of this installation that have the same signature. A name in a bundle never loads a path or another library, and
no model is fetched for it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError, nearest, plural
from benchmarks.storage.store import ratings_fingerprint
from benchmarks.tables import private
from harness.bundle import Bundle, heading, scores_of, without_folders, without_ratings
from harness.errors import BadConfig
from harness.results.differences import COMPARED, distance, key_of
from harness.results.entries import BoardId, MetricEntry, fitted
from harness.results.pooled import by_column
from harness.results.rows import ColumnKey, Correlation, ItemScores, RankingRow, Results
from harness.run import compare, correlate, entries, environment, plan
from harness.run.rank import RULES, Target, boards, cell_weights, mean
from harness.run.settings import Settings
from harness.scoring.score import inputs
from harness.scoring.scorer import Scorer
from harness.statistics.panel import Vector
from harness.statistics.rank_intervals import rank
from metrics import registry
from metrics.errors import MetricError
from metrics.metric import checkpoints
from metrics.models.service import Choice, Models
from metrics.registry import Chosen

TOLERANCE = 0.001
CARD_FIELDS = ("title", "family", "columns", "needs", "levels", "scope", "learned_on", "fitted_on", "system")
"""Fields of a packed metric that should equal those of an installed metric with the same signature."""
How = Literal["auto", "always", "never"]
"""When to score again; auto: only metrics without models, which take seconds."""


@dataclass(frozen=True, slots=True)
class Recomputed:
    """The part of some results that could be recomputed, as packed and as computed here."""

    name: str
    before: Results
    after: Results
    notes: Sequence[str] = ()
    tables: Sequence[str] = COMPARED
    tolerance: float = 0.0


class InstalledMetric(NamedTuple):
    """A metric of a bundle that is installed here; `exact` if it uses no model, `scored` if it is scored again."""

    packed: MetricEntry
    here: MetricEntry
    chosen: Chosen
    exact: bool
    scored: bool


def recompute(bundle: Bundle, home: Path, ratings: Path | None, how: How, named: Sequence[str]) -> Recomputed:
    """Recompute a bundle on the datasets available here; `named` are packed metrics to load, if not installed."""
    packed, models, notes = bundle.results, Models(home, Choice(device="cpu")), list[str]()
    here, absent = load(packed, home, ratings)
    metrics = _installed(packed, models, how, named, notes)  # refuses unknown names
    metrics, notes = (metrics, notes) if here else ([], [])
    points = [_rescored(packed, dataset, metrics, models, notes) for dataset in here.values()]
    exact = {metric.packed.name for metric in metrics if metric.exact}
    correlations = [row for dataset, (_, again) in zip(here.values(), points, strict=True)
                    for row in _correlations(packed, dataset, again, exact)]
    ranking, ranks = _ranking(packed, here, correlations)
    names = {entry.name for entry in packed.metrics}
    before = Results(packed.run, [entry for entry in packed.datasets if entry.name in here],
                     [metric.packed for metric in metrics], [row for row in packed.correlations if row.dataset in here],
                     [row for row in packed.ranking if row.metric in names], points=[pair[0] for pair in points])
    device = str(models.machine) if any(metric.scored for metric in metrics) else packed.run.device
    run = environment.facts(packed.run.seed, device, packed.run.options, packed.run.command)
    after = Results(run, before.datasets, [metric.here for metric in metrics], correlations, ranking,
                    points=[pair[1] for pair in points])
    summary = (f"recomputed: {len(correlations)} of {len(packed.correlations)} correlations, on {len(here)} of "
                f"{plural(len(packed.datasets), 'dataset')}")
    return Recomputed(bundle.name, before, after, (summary, *absent, *notes, *ranks),
                      ("metrics", "correlations", "ranking", "points"), TOLERANCE)


def load(bundle: Results, home: Path, ratings: Path | None) -> tuple[dict[str, Dataset], list[str]]:
    """Load a bundle's datasets that are available here, joined with private ratings; note why others are not."""
    run, owners, loaded, absent = bundle.run, private.ItemIndex(), dict[str, Dataset](), dict[str, str]()
    limit, sample = (size if isinstance(size := run.options.get(name), int) and size > 0 else None
                     for name in ("limit", "sample"))
    for entry in bundle.datasets:
        try:
            dataset = plan.load(datasets.card(entry.name), home, Settings(
                data=entry.kind, limit=limit, sample=sample, seed=run.seed))
        except BenchmarkError as error:
            unknown = entry.name not in datasets.names()
            absent[entry.name] = "no dataset of that name is registered; import its card" if unknown else str(error)
            continue
        if dataset is None or dataset.fingerprint != entry.fingerprint:
            absent[entry.name] = "the items here differ" if dataset else "its items are not here"
        else:
            loaded[entry.name] = dataset
            owners.add(dataset)
    private_ratings = private.read(ratings, owners) if ratings and loaded else {}
    here = {name: private.join(dataset, private_ratings.get(name, ()))[0] for name, dataset in loaded.items()}
    absent |= {entry.name: "the ratings here differ" for entry in bundle.datasets if entry.name in here
               and ratings_fingerprint(here[entry.name].ratings) != entry.ratings_fingerprint}
    return ({name: dataset for name, dataset in here.items() if name not in absent},
            [f"not here: {name}: {reason}" for name, reason in absent.items()])


def _installed(bundle: Results, models: Models, how: How, named: Sequence[str], notes: list[str],
               ) -> list[InstalledMetric]:
    """Return the installed metrics, and add a note on each metric of the bundle; `named` lists metrics to load."""
    loaded = {chosen.label: chosen for chosen in (registry.choose(name, seed=bundle.run.seed) for name in named)}
    if unknown := sorted(loaded.keys() - {entry.name for entry in bundle.metrics}):
        raise BadConfig(f"{unknown[0]}: the bundle has no metric of that name; "
                        f"{nearest(unknown[0], (entry.name for entry in bundle.metrics))}")
    metrics = []
    for entry in bundle.metrics:
        match = _matching(entry, models, bundle.run.seed, loaded)
        if isinstance(match, str):
            reason = match
        else:
            chosen, card = match
            exact = not any(part.card.models or checkpoints(part) for part in inputs(chosen.metric))
            reason = {"always": "", "never": "not requested"}.get(
                how, "" if exact else "uses a model; add --rescore always")
            here = replace(entry, **{name: getattr(card, name) for name in CARD_FIELDS})
            metrics.append(InstalledMetric(entry, here, chosen, exact, not reason))
        notes.append(f"not scored again: {entry.name}: {reason}" if reason else f"scored again: {entry.name}")
    return metrics


def _matching(entry: MetricEntry, models: Models, seed: int, loaded: Mapping[str, Chosen],
          ) -> tuple[Chosen, MetricEntry] | str:
    """Return the metric with the name and signature of an entry, and its entry here, or why there is none."""
    name, options = registry.split(entry.name) if entry.name.isprintable() else ("", "")
    if entry.name not in loaded and name not in registry.names():
        return "no metric of that name is installed here; name its file or folder with --with"
    if entry.name not in loaded and set("/\\~:") & set(options):  # never read a path that a bundle names
        return "its options name a file or a model; allow it with --with"
    try:
        chosen = loaded.get(entry.name) or registry.choose(entry.name, seed=seed)
        here = entries.metric_entry(chosen, models)
    except MetricError as error:
        return without_folders(str(error))
    if here.signature != entry.signature:
        return f"its signature here is different: {without_folders(here.signed):.200}"
    return chosen, here


def _rescored(bundle: Results, dataset: Dataset, metrics: Iterable[InstalledMetric], models: Models, notes: list[str],
              ) -> tuple[ItemScores, ItemScores]:
    """Return the scores of a dataset by these metrics, as packed and as computed here.

    A metric's columns that are not packed are dropped, unless none of its columns is packed.
    """
    packed, name, scorer = scores_of(bundle, dataset), dataset.card.name, Scorer(dataset, models)
    before, after = dict[ColumnKey, Vector](), dict[ColumnKey, Vector]()
    for chosen in (metric.chosen for metric in metrics if metric.scored):
        columns = {key: values for key, values in packed.items() if key[0] == chosen.label}
        before |= columns
        try:
            scores = scorer.scores(chosen.metric).columns
        except Exception as error:  # third-party code can raise anything
            if columns or not isinstance(error, MetricError):
                notes.append(f"not scored again: {chosen.label} on {name}: {without_folders(str(error))}")
            continue
        keys = columns or [(chosen.label, column) for column in scores]
        after |= {key: scores[column] for key in keys if (column := key[1].replace(chosen.suffix, "", 1)) in scores}
    items = tuple(item.id for item in dataset.items)
    return without_ratings(name, items, before), without_ratings(name, items, after)


def _correlations(bundle: Results, dataset: Dataset, again: ItemScores, exact: set[str]) -> Iterator[Correlation]:
    """Correlate packed scores with the ratings here, corrected for rater unreliability if the packed values are.

    The value must also follow from the scores computed `again`, since tiny changes of packed scores can break many ties
    in favour of the raters. If rounding makes close scores swap ranks, it changes by about 1 / n, which is allowed
    unless the metric is `exact`.
    """
    qualities, statistics = _judged(bundle, dataset), plan.statistics(bundle.run.options)
    points = correlate.item_scores(dataset, qualities, {})
    scores = scores_of(bundle, dataset)
    corrected = any(math.isfinite(row.corrected) for row in bundle.correlations)
    reliability = {target.key: compare.reliability(target, bundle.run.seed, None, compare.source(dataset))
                   for target in correlate.targets(replace(points, scores=scores), qualities) if corrected}

    def correlated(scores: Mapping[ColumnKey, Vector]) -> Iterator[Correlation]:
        for target in correlate.targets(replace(points, scores=scores), qualities):
            yield from correlate.correlations(target, reliability=reliability.get(target.key, ()))
            yield from correlate.correlations(target, statistics)

    packed = {key_of(row): row.value for row in bundle.correlations}
    recomputed = {key_of(row): row.value for row in correlated(again.scores)}
    for row in correlated(scores):
        packed_value, value = packed.get(key_of(row)), recomputed.get(key_of(row), row.value)
        rounding = 0 if row.metric in exact else TOLERANCE + 1 / max(row.n, 1)
        keep = abs(value - row.value) <= rounding or distance(packed_value, value) < distance(packed_value, row.value)
        yield row if keep else replace(row, value=value)


def _judged(bundle: Results, dataset: Dataset) -> tuple[correlate.Judged, ...]:
    (entry,) = (entry for entry in bundle.datasets if entry.name == dataset.card.name)
    names = {quality.name for quality in entry.qualities}
    return correlate.judged(dataset, [quality for quality in dataset.card.qualities if quality.name in names])


def _ranking(bundle: Results, here: Mapping[str, Dataset], correlations: Iterable[Correlation],
             ) -> tuple[list[RankingRow], list[str]]:
    """Return the rows of the bundle's metrics among all packed rows of their boards, and notes on the main boards."""
    known = (*(row for row in bundle.correlations if row.dataset not in here), *correlations)
    metrics, fitted_pairs = {entry.name for entry in bundle.metrics}, fitted(bundle.metrics, bundle.datasets)
    values = by_column(known, fitted_pairs)
    rankings: defaultdict[tuple[str, str, str, str], list[RankingRow]] = defaultdict(list)
    for row in bundle.ranking:
        rankings[row.board, row.origin, row.rule, row.statistic].append(row)
    targets = _targets(bundle, here)
    ranking, notes = [], []
    for (name, origin, rule, statistic), packed in rankings.items():
        cells = targets.get((name, origin), frozenset())
        ranks = rank({(row.metric, row.column): row.value for row in packed if row.complete or row.rank is None})
        ranked, board = sum(standing.rank is not None for standing in ranks.values()), BoardId.parse(name)
        for row in (row for row in packed if row.metric in metrics):
            column = values.get(statistic, {}).get((row.metric, row.column), {})
            covered = {target: value for target, value in column.items() if target in cells}
            shared = [cell for cell in cells if (row.metric, cell[0]) not in fitted_pairs]
            value = mean(covered, cell_weights(shared, rule)) if rule in RULES else math.nan
            standing = ranks.get((row.metric, row.column), row)  # a fitted metric keeps its packed rank
            recomputed = replace(row, value=value, covered=len(covered), targets=len(cells),
                                 rank=None if math.isnan(value) else standing.rank)
            ranking.append(recomputed)
            if (statistic, rule, board.dimension) == ("spearman", board.split, ""):
                on_board = f"rank {recomputed.rank} of {ranked}" if recomputed.rank else "no rank"
                value_text = f"{value:.3f}" if math.isfinite(value) else "–"
                notes.append((name, origin, recomputed.rank or math.inf, (
                    f"board {name} ({origin}): {heading((row.metric, row.column))} {on_board}, {value_text}, "
                    f"{len(covered)} of {len(cells)} targets, "
                    f"{sum(dataset in here for dataset, _ in covered)} recomputed")))
    return ranking, [note[-1] for note in sorted(notes)]


def _targets(bundle: Results, here: Mapping[str, Dataset]) -> dict[tuple[str, str], frozenset[Target]]:
    """Return the targets of each board: usable qualities of datasets here, of others those with three rated items."""
    by_part: defaultdict[tuple[str, str], set[Target]] = defaultdict(set)
    for entry in bundle.datasets:
        usable = [judged.quality.name for judged in _judged(bundle, here[entry.name]) if judged.usable] \
            if entry.name in here else [quality.name for quality in entry.qualities if quality.rated >= 3]
        by_part[entry.split, entry.kind] |= {(entry.name, quality) for quality in usable}
    return {(str(board), kind): cells for (split, kind), targets in by_part.items()
            for board, cells in boards(split, frozenset(targets), bundle.datasets)}
