"""A page per metric: what it is, how it differs from its paper, its correlations with people and largest errors."""

from __future__ import annotations

import itertools
import math
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

import numpy as np

from harness.results.entries import MetricEntry, QualityEntry, TrainingEntry
from harness.results.item_scores import on_quality, slug
from harness.results.rows import ItemScores, RankingRow, Results
from harness.statistics.coefficients import partial_correlation, spearmans
from leaderboard.blocks import cells
from leaderboard.blocks.boards import CONTROL, control_value
from leaderboard.blocks.pictures import INTERVALS, example_blocks
from leaderboard.blocks.tables import Block, Cell, Dot, Dots, Facts, Heading, Page, Prose, Row, Section, Table, numeric
from leaderboard.model import sentences
from leaderboard.model.boards import parts, plus_minus, rank_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import (
    ONE_RATER,
    ColumnKey,
    Index,
    Target,
    cached_by_results,
    has_value,
    main_quality,
    make_index,
)
from leaderboard.model.questions import LIMIT, MIN_RELIABILITY, Question, default_question, questions
from leaderboard.texts import TEXTS

TEXT = TEXTS["metric"]
SCOPES = {"item": "item: the score of an item depends on that item only",
          "dataset": "dataset: the score of an item depends on the other items of its dataset"}
SCORE_FILE = "submission"
"""The family of score files, whose origin is unknown and which cannot be run."""
MAX_DOTS, MAX_ITEMS, MAX_QUESTIONS = 24, 5, 8
"""Maximum number of targets drawn (main qualities if there are more), items per side, and questions compared."""


def build(results: Results) -> tuple[Page, ...]:
    index, points = make_index(results), {entry.dataset: entry for entry in results.points}
    return tuple(_page(index, points, entry) for entry in sorted(results.metrics, key=lambda entry: entry.name))


def _page(index: Index, points: Mapping[str, ItemScores], entry: MetricEntry) -> Page:
    declared = [(entry.name, column) for column in entry.columns]
    columns = [*declared, *sorted(column for column in index.labels
                                  if column[0] == entry.name and column not in declared)]
    rank_rows = [(question, max(rows, key=lambda row: row.value)) for part in parts(index.results)
                 if (question := default_question(questions(part.results)))
                 and (rows := [row for column in columns if (row := question.ranked.get(column))])]
    best_column = next(((row.metric, row.column) for _, row in rank_rows), columns[0] if columns else (entry.name, ""))
    of_column = f": {index.labels[best_column]}" if len(columns) > 1 else ""
    errors_of = f": {index.labels.get(columns[0], columns[0][1])}" if len(columns) > 1 else ""
    published_of, published = _published(index, columns)
    return Page(
        path=index.metric_paths[entry.name],
        title=index.titles[entry.name] if entry.named or "[" in entry.name else entry.title or entry.name,
        label=entry.name,
        sections=(
            Section("picture", f"Correlation with people{of_column}", _picture(index, best_column)),
            Section("card", "About", _card(index, entry, rank_rows)),
            Section("columns", "Columns", _columns(index, columns) if len(columns) > 1 else ()),
            Section("paper", f"Published and in this run: {published_of}", published),
            Section("targets", f"All datasets and qualities{of_column}",
                    _targets(index, best_column) if columns else ()),
            Section("items", f"Largest errors{errors_of}", _items(index, entry)),
            Section("length", f"Influence of length{of_column}", _lengths(index, points, best_column)),
            *(Section(f"weights-{slug(weights.name)}-{weights.digest[:8]}", f"Weights: {weights.name}",
                      (_training(weights),))
              for weights in index.results.trainings if entry.name in weights.metrics)),
        group="Metrics", order=3, markdown=False)


def _card(index: Index, entry: MetricEntry, rank_rows: Sequence[tuple[Question, RankingRow]]) -> tuple[Block, ...]:
    warnings = (f"For {question.subject} it is no better than counting words: {cells.number(row.value)} against "
                f"{cells.number(control_value(question))}." for question, row in rank_rows
                if row.value <= control_value(question) and row.metric != CONTROL)
    ranks = (("Rank", (f"{f'{index.labels[row.metric, row.column]}: ' if len(entry.columns) > 1 else ''}{row.rank} of "
                       f"{len(question.ranked)} ({rank_interval(row) or 'no interval'}) for {question.subject}: "
                       f"Spearman {row.value:.3f}{plus_minus(row)}")) for question, row in rank_rows)
    external = "code" in entry.signature  # from a file or another package: repeat the command of the run
    command = index.results.run.command if external else f"harness run --metric {shlex.quote(entry.name)} --all"
    return (*map(Prose, warnings),
            Facts.of(("Summary", sentences.describe_metric(index, (entry.name, ""))), *ranks, *_facts(index, entry)),
            *((Prose(command, code=True),) if entry.family != SCORE_FILE else ()))


def _facts(index: Index, entry: MetricEntry) -> Iterator[tuple[str, Cell | str]]:
    is_link = entry.paper.startswith(("https://", "http://")) and not any(char.isspace() for char in entry.paper)
    eras, fitted = parts(index.results), ", ".join(sorted(entry.learned_on))
    yield "Notes", entry.notes
    yield from (("Differences from the paper", line) for line in entry.departures)
    yield "Paper", Cell(entry.paper, link=entry.paper if is_link else "")
    yield "Family", entry.family
    yield "Needs", ", ".join(entry.needs) or ("" if entry.family == SCORE_FILE else "only the dialogue")
    yield "Levels", ", ".join(entry.levels)
    yield "Models", ", ".join(entry.models)
    yield from (("Pretrained on", line) for line in entry.pretrained_on)
    yield "Trained on", entry.trained_on
    yield "Inputs", ", ".join(costs(index.results)[entry.name].inputs)
    for part in eras:
        items = f"items ({part.era.systems})" if len(eras) > 1 else "items"
        if time := costs(part.results)[entry.name].time:
            yield "Cost", f"{time} s per 1,000 {items}, running alone, models loaded, inputs included"
    yield "Fitted on", f"ratings of {fitted}; its values there are shown but not ranked" if fitted else ""
    yield "Scope", SCOPES.get(entry.scope, entry.scope)
    yield "Signature", Cell(entry.signed, code=True)


def _published(index: Index, columns: Sequence[ColumnKey]) -> tuple[str, tuple[Block, ...]]:
    grid = next((grid for exhibit in index.results.exhibits if exhibit.kind == "challenge" for grid in exhibit.grids
                 if grid.name == "beside-print"), None)
    names = {name for _, name in columns}
    rows = [row for row in grid.rows if row[0] in names] if grid else []
    if grid is None or not rows:
        return "", ()
    headings = (grid.head[1].capitalize(), *(
        Heading(text.capitalize(), "number" if text in ("published", "printed", "this run") else "words")
        for text in grid.head[2:]))
    return ", ".join(dict.fromkeys(row[0] for row in rows)), (
        Table.of("paper-table", "Spearman, published and in this run", headings,
                 ((cells.dataset_cell(index, row[1]), *row[2:]) for row in rows), index.describe_data()),)


def _columns(index: Index, columns: Sequence[ColumnKey]) -> tuple[Block, ...]:
    def cell(question: Question, column: ColumnKey) -> Cell:
        row = question.ranked.get(column)
        return Cell(cells.MISSING, title="a value is missing") if row is None else cells.number_cell(
            row.value, shaded=True)._replace(small=f"rank {row.rank}")

    tables, eras = [], parts(index.results)
    for part in eras:
        compared = questions(part.results)[:MAX_QUESTIONS]
        rows = ((index.labels[column], *(cell(question, column) for question in compared)) for column in columns)
        tables.append(Table.of(
            f"columns-table{part.suffix}", f"Mean Spearman of each column{f': {part.era.title}' if eras[1:] else ''}",
            ("Column", *numeric(*(question.title for question in compared))), rows, index.describe_data()))
    return tuple(tables)


def _picture(index: Index, column: ColumnKey) -> tuple[Block, ...]:
    """Draw the correlations of a column and the medians of all metrics, on every target or one target per dataset."""
    rated_targets = [(entry, quality) for entry in index.datasets for quality in entry.qualities if quality.rated]
    if len(rated_targets) > MAX_DOTS:
        rated_targets = [(entry, quality) for entry, quality in rated_targets if quality == main_quality(entry)]
    median_by_target = medians(index.results)
    dots = [Dot(Cell(", ".join(target), link=index.dataset_paths[target[0]]), row.value, row.low, row.high,
                median_by_target.get(target, math.nan))
            for target in ((entry.name, quality.name) for entry, quality in rated_targets)
            if (row := index.correlation(target, column)) and has_value(row)]
    return (Dots(dots, INTERVALS, {"other": "median of all metrics, each by its best column"}),) if dots else ()


@cached_by_results
def medians(results: Results) -> Mapping[Target, float]:
    """Return, for each target, the median over metrics, without controls, of their best column's correlation."""
    index = make_index(results)
    best_by_target: dict[Target, dict[str, float]] = defaultdict(dict)
    for target in index.targets_with_values:
        for column in index.columns[target[0]]:
            value = index.value(target, column)
            if math.isfinite(value) and not sentences.is_control(index, column):
                best_by_target[target][column[0]] = max(value, best_by_target[target].get(column[0], -1.0))
    return {target: median(metrics.values()) for target, metrics in best_by_target.items()}


def _targets(index: Index, column: ColumnKey) -> tuple[Block, ...]:
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Spearman", "number", small="95 % interval"),
                Heading("p", "number"), Heading("Corrected", "number", small="for rater noise"),
                Heading("One rater", "number", small="against the others"), Heading("Items", "number"))
    eras = parts(index.results)
    rows = {part.era.title if len(eras) > 1 else "": tuple(
        _target(index, column, entry.name, quality.name) for entry in make_index(part.results).datasets
        for quality in entry.qualities if quality.rated) for part in eras}
    any_fitted = any(index.is_fitted(column, entry.name) for entry in index.datasets)
    shared = any(0 < entry.contexts < entry.items for entry in index.datasets)
    return (Prose(TEXT["read"]), *((Prose(TEXT["shared"], link="methods.html#statistics"),) if shared else ()),
            Table("targets-table", f"{index.labels[column]} on every quality of every dataset", headings,
                  {title: group for title, group in rows.items() if group},
                  cells.with_fitted_note(index.describe_data(), any_fitted)))


def _target(index: Index, column: ColumnKey, dataset: str, quality: str) -> Row:
    target = (dataset, quality)
    row, names = index.correlation(target, column), (cells.dataset_cell(index, dataset), Cell(quality))
    if row is None or not has_value(row):
        return (*names, cells.missing(index.reason_missing(target, column)), *(Cell(""),) * 4)
    value, corrected = cells.correlation_cell(row), cells.cell(row.corrected)
    if index.rater_agreement(target, LIMIT) < MIN_RELIABILITY:
        corrected = Cell(cells.MISSING, title=f"the reliability of the raters is below {MIN_RELIABILITY}")
    return (*names, cells.fitted_cell(value) if index.is_fitted(column, dataset) else value,
            Cell(cells.p_value(row.p)), corrected, cells.cell(index.rater_agreement(target, ONE_RATER)),
            Cell(str(row.n)))


def _items(index: Index, entry: MetricEntry) -> tuple[Block, ...]:
    examples = sorted((row for row in index.results.examples if row.metric == entry.name),
                      key=lambda row: (-abs(row.people - row.metrics), row.item))
    high, low = ([row for row in examples if (row.metrics > row.people) == too_high][:MAX_ITEMS]
                 for too_high in (True, False))
    blocks = [block for title, rows in (("Scored too high", high), ("Scored too low", low)) if rows
              for block in (Prose(title), *itertools.chain(*map(example_blocks, rows)))]
    return (Prose(TEXT["worst"].format(high=len(high), low=len(low))), *blocks) if blocks else ()


def _lengths(index: Index, points: Mapping[str, ItemScores], column: ColumnKey) -> tuple[Block, ...]:
    rows = []
    for entry in index.datasets:
        quality = main_quality(entry)
        profile = length_profile(points[entry.name], quality, column) if quality and entry.name in points else ()
        if quality and profile and math.isfinite(profile[0]):
            rows.append((cells.dataset_cell(index, entry.name), quality.name, *(
                cells.number_cell(value, shaded=True) if math.isfinite(value) else cells.missing("all values are equal")
                for value in profile)))
    headings = ("Dataset", "Quality", *numeric("Scores with length", "Ratings with length", "Scores with ratings"),
                Heading("Scores with ratings", "number", small="length held constant"))
    table = Table.of("length-table", "Scores, ratings and length", headings, rows, index.describe_data())
    return (Prose(TEXT["length"]), table) if rows else ()


def length_profile(points: ItemScores, quality: QualityEntry, column: ColumnKey) -> tuple[float, ...]:
    """Return Spearman's rho of scores and length, ratings and length, scores and ratings, and these at equal length.

    Values are NaN for fewer than three items or constant values; empty if the column or quality is missing.
    """
    if column not in points.scores or quality.name not in points.human:
        return ()
    human, scores = points.human[quality.name], on_quality(points.scores, column, quality.dimension)
    has_both = np.isfinite(human) & np.isfinite(scores)
    human, scores, words = human[has_both], scores[has_both], points.words[has_both].astype(np.float64)
    score_length_rho, rating_length_rho = map(float, spearmans(words, np.array([scores, human])))
    agreement = float(spearmans(human, scores[None])[0])
    partial = partial_correlation(agreement, rating_length_rho, score_length_rho)
    return score_length_rho, rating_length_rho, agreement, partial


def _training(entry: TrainingEntry) -> Facts:
    losses = [point.held_out for point in entry.curve]
    lowest = min((point.held_out for point in entry.curve if point.step == entry.kept), default=min(losses, default=0))
    loss = f"{len(losses)} evaluations; lowest validation loss {lowest:.4f} at step {entry.kept}" if losses else ""
    return Facts.of(
        ("Encoder", entry.encoder or "none"), ("Corpora", ", ".join(entry.corpora)), ("Seed", entry.seed),
        ("Steps", f"{entry.steps}; the weights are from step {entry.kept}"), ("Loss", loss),
        ("Device", f"{entry.device}, {entry.seconds:.0f} seconds"), ("Command", Cell(entry.command, code=True)),
        ("Commit", Cell(entry.commit or "unknown", code=True)), ("Digest", Cell(entry.digest, code=True)))
