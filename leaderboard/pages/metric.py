"""A page per metric: its card, its correlation on every target, and where it and people differ."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from harness.results.rows import MetricEntry, Results, Timing
from leaderboard.blocks.cells import count_cell, number
from leaderboard.blocks.metric_items import length_blocks, part_tables, scatters
from leaderboard.blocks.metric_targets import AllColumns, all_columns, not_above_length, ranking_table, target_tables
from leaderboard.blocks.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Row, Section, Table
from leaderboard.model.boards import BOARDS, names
from leaderboard.model.index import ORIGIN_TITLES, ORIGINS, Column, Index, Origin, is_complete, make_index
from leaderboard.model.items import DatasetItems, dataset_items, profile

SCOPES = {"item": "item: the score of an item depends on that item alone",
          "dataset": "dataset: the score of an item depends on the others of its dataset"}
READ = ("Grey italics: p ≥ 0.05, not significantly different from no correlation. Below a value: its 95 % interval. "
        "People: how far one of them agrees with the others.")
NO_POINTS = ("This report holds no scores item by item, so nothing is plotted here; a run with this version of the "
             "harness keeps them.")


@dataclass(frozen=True, slots=True)
class _Metrics:
    """What the pages of all metrics are drawn from."""

    index: Index
    every: AllColumns
    items: Mapping[str, DatasetItems]
    origins: tuple[Origin, ...]
    timings: Mapping[str, list[Timing]]


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per metric of the run."""
    index = make_index(results)
    timings: dict[str, list[Timing]] = defaultdict(list)
    for row in results.timings:
        timings[row.metric].append(row)
    metrics = _Metrics(index, all_columns(index), dataset_items(index),
                       tuple(origin for origin in ORIGINS if index.on(origin)), timings)
    return tuple(_page(metrics, entry) for entry in sorted(results.metrics, key=lambda entry: entry.name))


def needs(entry: MetricEntry) -> str:
    """Say in a few words what a metric cannot do without."""
    return ", ".join(entry.needs) or "nothing but the dialogue"


def _page(metrics: _Metrics, entry: MetricEntry) -> Page:
    columns = _columns(metrics.index, entry)
    parts = [section for origin in metrics.origins for section in _origin(metrics, columns, origin)]
    return Page(
        path=metrics.index.metric_paths[entry.name], title=entry.title or entry.name, label=entry.name,
        lead=" ".join((f"{entry.name}, a metric of the family “{entry.family}”.", *_headline(metrics, columns))),
        detail=f"{entry.family}; needs {needs(entry)}",
        sections=(Section("card", "The metric", _card(metrics.index, entry)), *parts,
                  _timings(metrics.index, metrics.timings.get(entry.name, []))),
        group="Metrics", order=3, markdown=False, sample="sample" in metrics.origins, mixed=len(metrics.origins) > 1)


def _headline(metrics: _Metrics, columns: list[Column]) -> tuple[str, ...]:
    """Say for each board which rank the first column has."""
    rows = ((name, origin, metrics.every.ranking.get((name, origin, columns[0])))
            for name, origin in names(metrics.index.results) if columns)
    return tuple(f"Rank {row.rank} on “{BOARDS.get(name, name)}”, {ORIGIN_TITLES[origin]}: mean Spearman "
                 f"{number(row.value)}." for name, origin, row in rows if row is not None and is_complete(row))


def _columns(index: Index, entry: MetricEntry) -> list[Column]:
    """List the columns of a metric: those it promises in its own order, then others that the run has."""
    promised = [(entry.name, column) for column in entry.columns]
    return [*promised, *sorted(column for column in index.labels
                               if column[0] == entry.name and column not in promised)]


def _card(index: Index, entry: MetricEntry) -> tuple[Block, ...]:
    """Say what the metric is, what it needs, what its scores are made of, and how to run it."""
    is_link = entry.paper.startswith(("https://", "http://")) and not any(sign.isspace() for sign in entry.paper)
    weights = ", ".join(sorted({row.name for row in index.results.trainings if entry.name in row.metrics}))
    fitted = ", ".join(sorted(entry.learned_on))
    pairs = (
        ("Name", Cell(entry.name)), ("Family", Cell(entry.family)), ("Columns", Cell(", ".join(entry.columns))),
        ("Paper", Cell(entry.paper, link=entry.paper if is_link else "")),
        ("Needs", Cell(needs(entry))), ("Levels", Cell(", ".join(entry.levels))),
        ("Models", Cell(", ".join(entry.models))), ("Trained on", Cell(entry.trained_on)),
        ("Weights", Cell(weights, link="training.html" if weights else "")),
        ("Fitted on", Cell(f"ratings of {fitted}: its values there are shown and do not count" if fitted else "")),
        ("Scope", Cell(SCOPES.get(entry.scope, entry.scope))), ("Signature", Cell(entry.signature, code=True)))
    return (Facts(tuple(pair for pair in pairs if pair[1].text)),
            Prose(f"harness run --metric {shlex.quote(entry.name)} --all", code=True))


def _origin(metrics: _Metrics, columns: list[Column], origin: Origin) -> tuple[Section, ...]:
    """Everything on real data, or everything on the sample."""
    if not columns:
        return ()
    index, every, first = metrics.index, metrics.every, columns[0]
    profiles = [own for entry in index.on(origin) if entry.name in metrics.items
                if (own := profile(metrics.items[entry.name], first)) is not None]
    warnings = map(Prose, not_above_length(every, columns, origin))
    points = scatters(index, first, origin) if index.results.points else (Prose(NO_POINTS),)
    blocks: tuple[tuple[str, str, tuple[Block, ...]], ...] = (
        ("ranking", "Rank on the boards", (*ranking_table(every, columns, origin), *warnings)),
        ("targets", "Every dataset and quality", (Prose(READ), *target_tables(every, columns, origin))),
        ("points", "Scores against ratings", points),
        ("parts", "Where it and people differ", part_tables(index, profiles, origin)),
        ("length", "Correlation with length", length_blocks(index, profiles, origin)))
    return tuple(Section(f"{anchor}-{origin}", f"{title}, {ORIGIN_TITLES[origin]}", drawn)
                 for anchor, title, drawn in blocks if drawn)


def _timings(index: Index, timings: list[Timing]) -> Section:
    rows = tuple(_timing(Cell(row.dataset, link=index.dataset_paths.get(row.dataset, "")), row.items, row.seconds)
                 for row in sorted(timings, key=lambda row: (row.dataset, row.items, row.seconds)))
    if not rows:
        return Section("timings", "Cost", (Prose("Nothing was scored with it in this run, so no time was taken."),))
    total = _timing(Cell("All"), sum(row.items for row in timings), math.fsum(row.seconds for row in timings))
    return Section("timings", "Cost", (Table(
        "timing-table", f"Seconds of scoring, on {index.results.run.device}",
        (Heading("Dataset", "stub"), Heading("Items", "number"), Heading("Seconds", "number"),
         Heading("Seconds per 1,000 items", "number")),
        (Group(rows), Group((total,))), data="the time of this run, whatever the origin of the datasets"),))


def _timing(name: Cell, items: int, seconds: float) -> Row:
    each = Cell(f"{1000 * seconds / items:.2f}", value=1000 * seconds / items) if items else Cell("")
    return (name, count_cell(items), Cell(f"{seconds:.2f}", value=seconds), each)
