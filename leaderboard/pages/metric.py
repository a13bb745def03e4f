"""A page per metric: what it is, how it differs from its paper, its correlations with people, its largest errors."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from harness.results.rows import MetricEntry, RankingRow, Results, TrainingEntry
from leaderboard.blocks.boards import CONTROL
from leaderboard.blocks.cells import (
    MISSING,
    correlation_cell,
    count_cell,
    fitted_cell,
    known_cell,
    marked,
    missing,
    number,
    number_cell,
    p_value,
    value_cell,
)
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.items import example_blocks
from leaderboard.blocks.tables import Block, Cell, Facts, Heading, Page, Prose, Row, Section
from leaderboard.model import sentences
from leaderboard.model.boards import rank_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import ONE_RATER, Column, Index, has_value, make_index, slugs
from leaderboard.model.items import DatasetItems, dataset_items, length_profile
from leaderboard.model.questions import LEAST, LIMIT, Question, default, questions

SCOPES = {"item": "item: the score of an item depends on that item only",
          "dataset": "dataset: the score of an item depends on the other items of its dataset"}
SCORE_FILE = "submission"
"""The family of score files, whose making is unknown and which cannot be run."""
ITEMS, QUESTIONS = 5, 8
"""Items shown on each side; questions on which the columns are compared."""

READ = ("Below a value: its 95 % interval. Grey italics: p ≥ 0.05, not significantly different from no correlation. "
        "One rater: one rater’s correlation with the others; not an upper bound. Corrected for rater noise: divided by "
        "the square root of the reliability; it may exceed 1 by chance.")
SHARED = ("Interval and p treat items as independent: where several share a context they are too favourable. See "
          "Methods.")
LENGTH = ("Spearman correlation with the number of words of the reply, or of the dialogue where dialogues are judged, "
          "for the scores and for people’s ratings of the overall quality or else the first. Length held constant: the "
          "correlation that remains among replies of the same length.")
WORST = ("From each dataset, the items that the metric places furthest above and below people; the largest "
         f"{ITEMS} of each kind. Positions run from 0, the lowest of the dataset, to 1, the highest.")


def build(results: Results) -> tuple[Page, ...]:
    index = make_index(results)
    items = dataset_items(index)
    return tuple(_page(index, items, entry) for entry in sorted(results.metrics, key=lambda entry: entry.name))


def _page(index: Index, items: Mapping[str, DatasetItems], entry: MetricEntry) -> Page:
    declared = [(entry.name, column) for column in entry.columns]
    columns = [*declared, *sorted(column for column in index.labels
                                  if column[0] == entry.name and column not in declared)]
    first = default(questions(index.results))
    ranked = {column: row for column in columns if first and (row := first.row(column))}
    best = max(ranked, key=lambda column: ranked[column].value, default=columns[0] if columns else None)
    sections = [Section("card", "About", _card(index, entry, first, ranked.get(best) if best else None))]
    if best is not None:
        of_column = f": {index.labels[best]}" if len(columns) > 1 else ""
        published_of, published = _published(index, columns)
        sections += [Section(anchor, title, blocks) for anchor, title, blocks in (
            ("columns", "Columns", _columns(index, columns) if len(columns) > 1 else ()),
            ("paper", f"Published and in this run: {published_of}", published),
            ("targets", f"All datasets and qualities{of_column}", _targets(index, best)),
            ("items", "Largest errors", _items(index, entry)),
            ("length", f"Influence of length{of_column}", _lengths(index, items, best))) if blocks]
    return Page(path=index.metric_paths[entry.name], title=entry.title or entry.name, label=entry.name,
                lead="", sections=(*sections, *_trainings(index.results, entry.name)),
                group="Metrics", order=3, markdown=False)


def _card(index: Index, entry: MetricEntry, first: Question | None, row: RankingRow | None) -> tuple[Block, ...]:
    """Describe the metric: its rank, its differences from the paper, its needs and cost, and the command to run it."""
    weak: tuple[Block, ...] = ()
    rank = ""
    if first and row:
        control = max((row.value for column, row in first.board.ranked.items() if column[0] == CONTROL),
                      default=math.nan)
        if row.value <= control and row.metric != CONTROL:
            weak = (Prose(f"For {first.title} it is no better than counting words: {number(row.value)} against "
                          f"{number(control)}."),)
        name = f"{index.labels[row.metric, row.column]}: " if len(entry.columns) > 1 else ""
        rank = (f"{name}{row.rank} of {len(first.board.ranked)} ({rank_interval(row) or 'no interval'}) for "
                f"{first.title}: Spearman {row.value:.3f}{sentences.error(row.error)}")
    facts = (("Summary", Cell(sentences.about(index, (entry.name, "")))), ("Rank", Cell(rank)), *_facts(index, entry))
    external = "|code=" in entry.signature  # from a file or another package: repeat the command of the run
    command = index.results.run.command if external else f"harness run --metric {shlex.quote(entry.name)} --all"
    return (*weak, Facts(tuple(fact for fact in facts if fact[1].text)),
            *(() if entry.family == SCORE_FILE else (Prose(command, code=True),)))


def _facts(index: Index, entry: MetricEntry) -> Iterator[tuple[str, Cell]]:
    is_link = entry.paper.startswith(("https://", "http://")) and not any(char.isspace() for char in entry.paper)
    yield from (("Differences from the paper", Cell(line)) for line in entry.departures)
    yield "Paper", Cell(entry.paper, link=entry.paper if is_link else "")
    yield "Family", Cell(entry.family)
    yield "Needs", Cell(", ".join(entry.needs) or ("" if entry.family == SCORE_FILE else "only the dialogue"))
    yield "Levels", Cell(", ".join(entry.levels))
    cost = costs(index.results).get((entry.name, entry.columns[0])) if entry.columns else None
    seconds, fitted = sentences.seconds(cost) if cost else "", ", ".join(sorted(entry.learned_on))
    yield "Models", Cell(", ".join(entry.models))
    yield from (("Pretrained on", Cell(line)) for line in entry.pretrained_on)
    yield "Trained on", Cell(entry.trained_on)
    yield "Inputs", Cell(", ".join(cost.inputs) if cost else "")
    yield "Cost", Cell(f"{seconds} s per 1,000 items, running alone, models loaded, inputs included" if seconds else "")
    yield "Fitted on", Cell(f"ratings of {fitted}: its values there are shown but not ranked" if fitted else "")
    yield "Scope", Cell(SCOPES.get(entry.scope, entry.scope))
    yield "Signature", Cell(entry.signature, code=True)


def _published(index: Index, columns: Sequence[Column]) -> tuple[str, tuple[Block, ...]]:
    """Compare this run with published values of the same columns on the same datasets."""
    grid = next((grid for exhibit in index.results.exhibits if exhibit.kind == "challenge" for grid in exhibit.grids
                 if grid.name == "beside-print"), None)
    names = {name for _, name in columns}
    rows = [row for row in grid.rows if row[0] in names] if grid else []
    if grid is None or not rows:
        return "", ()
    headings = (Heading(grid.head[1].capitalize(), "stub"), *(
        Heading(text.capitalize(), "number" if text in ("printed", "this run") else "words") for text in grid.head[2:]))
    drawn = table_of(index, "paper-table", "Spearman, published and in this run", headings, (
        (Cell(row[1], link=index.dataset_paths.get(row[1], "")), *map(Cell, row[2:])) for row in rows))
    return ", ".join(dict.fromkeys(row[0] for row in rows)), (drawn,)


def _columns(index: Index, columns: Sequence[Column]) -> tuple[Block, ...]:
    shown = questions(index.results)[:QUESTIONS]

    def cell(question: Question, column: Column) -> Cell:
        row = question.row(column)
        return Cell(MISSING, title="a value is missing") if row is None else value_cell(
            row.value, (math.nan, math.nan), shaded=True)._replace(small=f"rank {row.rank}")

    headings = (Heading("Column", "stub"), *(Heading(question.title, "number") for question in shown))
    rows = ((Cell(index.labels[column]), *(cell(question, column) for question in shown)) for column in columns)
    return (table_of(index, "columns-table", "Mean Spearman of each column", headings, rows),)


def _targets(index: Index, column: Column) -> tuple[Block, ...]:
    """Show every rated target, with the agreement of people there."""
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Spearman", "number", small="95 % interval"),
                Heading("p", "number"), Heading("Corrected", "number", small="for rater noise"),
                Heading("One rater", "number", small="against the others"), Heading("Items", "number"))
    rows = [_target(index, column, entry.name, quality.name) for entry in index.datasets
            for quality in entry.qualities if quality.rated]
    caption = f"{index.labels[column]} on every quality of every dataset"
    drawn = table_of(index, "targets-table", caption, headings, rows)
    any_fitted = any(index.is_fitted(column, entry.name) for entry in index.datasets)
    shared = (Prose(SHARED, link="methods.html#statistics"),) if any(
        0 < entry.contexts < entry.items for entry in index.datasets) else ()
    return (Prose(READ), *shared, replace(drawn, data=marked(drawn.data, any_fitted))) if rows else ()


def _target(index: Index, column: Column, dataset: str, quality: str) -> Row:
    row = index.correlation((dataset, quality), column)
    names = (Cell(dataset, link=index.dataset_paths[dataset]), Cell(quality))
    if row is None or not has_value(row):
        return (*names, missing(index.why((dataset, quality), column)), *(Cell(""),) * 4)
    value, corrected = correlation_cell(row), known_cell(row.corrected)
    if index.reliability.get((dataset, quality, LIMIT), math.nan) < LEAST:
        corrected = Cell(MISSING, title=f"the reliability of the raters is below {LEAST}")
    return (*names, fitted_cell(value) if index.is_fitted(column, dataset) else value,
            Cell(p_value(row.p), value=row.p if math.isfinite(row.p) else None), corrected,
            known_cell(index.reliability.get((dataset, quality, ONE_RATER), math.nan)), count_cell(row.n))


def _items(index: Index, entry: MetricEntry) -> tuple[Block, ...]:
    """Show the items that the metric overrates and underrates most."""
    examples = sorted((row for row in index.results.examples if row.metric == entry.name),
                      key=lambda row: (-abs(row.people - row.metrics), row.item))
    blocks: list[Block] = [Prose(WORST)]
    for title, too_high in (("Scored too high", True), ("Scored too low", False)):
        rows = [row for row in examples if (row.metrics > row.people) == too_high][:ITEMS]
        blocks += [Prose(title)] if rows else []
        blocks += [block for row in rows for block in example_blocks(row)]
    return tuple(blocks) if examples else ()


def _lengths(index: Index, items: Mapping[str, DatasetItems], column: Column) -> tuple[Block, ...]:
    """Show how far scores and ratings correlate with length on each dataset."""
    rows = []
    for entry in index.datasets:
        profile = length_profile(items[entry.name], column) if entry.name in items else None
        if profile is not None and math.isfinite(profile[0]):
            name = Cell(entry.name, link=index.dataset_paths[entry.name])
            rows.append((name, Cell(items[entry.name].quality.name), *(
                number_cell(value, shaded=True) if math.isfinite(value) else missing("all values are equal")
                for value in profile)))
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Scores with length", "number"),
                Heading("Ratings with length", "number"), Heading("Scores with ratings", "number"),
                Heading("Scores with ratings", "number", small="length held constant"))
    drawn = table_of(index, "length-table", "Scores, ratings and length", headings, rows)
    return (Prose(LENGTH), drawn) if rows else ()


def _trainings(results: Results, metric: str) -> Iterable[Section]:
    """Describe how the weights that a metric reads were trained."""
    entries = {f"weights-{entry.name}-{entry.digest[:8]}": entry for entry in results.trainings
               if metric in entry.metrics}
    anchors = slugs(entries)
    return (Section(anchors[name], f"Weights: {entry.name}", (_training(entry),)) for name, entry in entries.items())


def _training(entry: TrainingEntry) -> Facts:
    loss: tuple[tuple[str, Cell], ...] = ()
    if entry.curve:
        least = next((point.held_out for point in entry.curve if point.step == entry.kept),
                     min(point.held_out for point in entry.curve))
        loss = (("Loss", Cell(f"{len(entry.curve)} evaluations; lowest validation loss {least:.4f} at step "
                              f"{entry.kept}")),)
    return Facts((
        ("Encoder", Cell(entry.encoder or "none")), ("Corpora", Cell(", ".join(entry.corpora))),
        ("Seed", Cell(str(entry.seed))), ("Steps", Cell(f"{entry.steps}; the weights are from step {entry.kept}")),
        *loss, ("Device", Cell(f"{entry.device}, {entry.seconds:.0f} seconds")),
        ("Command", Cell(entry.command, code=True)), ("Commit", Cell(entry.commit or "unknown", code=True)),
        ("Digest", Cell(entry.digest, code=True))))
