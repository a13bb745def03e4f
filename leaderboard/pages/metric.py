"""A page per metric: its card, its correlation on every target, and where it and people differ, item by item."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence

from harness.results.plots import N, bulk, scale, scatter, short
from harness.results.rows import DatasetEntry, MetricEntry, QualityEntry, Results, Timing
from leaderboard.blocks.cells import count_cell, missing, number, number_cell, shade
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.metric_targets import AllColumns, all_columns, not_above_length, ranking_table, target_tables
from leaderboard.blocks.tables import Block, Cell, Facts, Gallery, Group, Heading, Page, Picture, Prose, Section, Table
from leaderboard.model.boards import BOARDS, names
from leaderboard.model.index import ORIGIN_TITLES, ORIGINS, Column, Index, Origin, has_value, is_complete, make_index
from leaderboard.model.items import DatasetItems, PartDifference, Profile, dataset_items, paired, profile, scores_on

SCOPES = {"item": "item: the score of an item depends on that item alone",
          "dataset": "dataset: the score of an item depends on the others of its dataset"}
SYSTEMS = 12
"""Systems of a dataset that are listed: those that people and the metric place most differently."""

READ = ("Grey italics: p ≥ 0.05, not significantly different from no correlation. Below a value: its 95 % interval. "
        "People: how far one of them agrees with the others.")
NO_POINTS = ("This report holds no scores item by item, so nothing is plotted here; a run with this version of the "
             "harness keeps them.")
PLACES = ("A place is the rank of an item among all of its dataset, from 0, the lowest, to 1, the highest. Positive "
          "differences (blue): the metric places the items higher than people do; negative ones (orange): lower. "
          "The largest of each dataset is marked.")
LENGTH = ("Spearman with the number of words: of the scores, and of people's ratings. Words are those of "
          "the response, or of the whole dialogue where that is judged. Length held constant: partial correlation of "
          "ranks.")


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per metric of the run."""
    index = make_index(results)
    every, items = all_columns(index), dataset_items(index)
    return tuple(_page(every, items, entry) for entry in sorted(results.metrics, key=lambda entry: entry.name))


def _page(every: AllColumns, items: Mapping[str, DatasetItems], entry: MetricEntry) -> Page:
    index = every.index
    promised = [(entry.name, column) for column in entry.columns]
    columns = [*promised, *sorted(column for column in index.labels
                                  if column[0] == entry.name and column not in promised)]
    origins = [origin for origin in ORIGINS if index.on(origin)]
    rows = ((name, origin, every.ranking.get((name, origin, columns[0])))
            for name, origin in names(index.results) if columns)
    headline = (f"Rank {row.rank} on “{BOARDS.get(name, name)}”, {ORIGIN_TITLES[origin]}: mean Spearman "
                f"{number(row.value)}." for name, origin, row in rows if row is not None and is_complete(row))
    needs = ", ".join(entry.needs) or "nothing but the dialogue"
    return Page(
        path=index.metric_paths[entry.name], title=entry.title or entry.name, label=entry.name,
        lead=" ".join((f"{entry.name}, a metric of the family “{entry.family}”.", *headline)),
        detail=f"{entry.family}; needs {needs}",
        sections=(Section("card", "The metric", _card(index, entry, needs)),
                  *(section for origin in origins if columns for section in _origin(every, items, columns, origin)),
                  _timings(index, [row for row in index.results.timings if row.metric == entry.name])),
        group="Metrics", order=3, markdown=False, sample="sample" in origins)


def _card(index: Index, entry: MetricEntry, needs: str) -> tuple[Block, ...]:
    """Say what the metric is, what it needs, what its scores are made of, and how to run it."""
    is_link = entry.paper.startswith(("https://", "http://")) and not any(sign.isspace() for sign in entry.paper)
    weights = ", ".join(sorted({row.name for row in index.results.trainings if entry.name in row.metrics}))
    fitted = ", ".join(sorted(entry.learned_on))
    pairs = (
        ("Name", Cell(entry.name)), ("Family", Cell(entry.family)), ("Columns", Cell(", ".join(entry.columns))),
        ("Paper", Cell(entry.paper, link=entry.paper if is_link else "")), ("System", Cell(entry.badge)),
        *(("Departs", Cell(line)) for line in entry.departures),
        ("Needs", Cell(needs)), ("Levels", Cell(", ".join(entry.levels))),
        ("Models", Cell(", ".join(entry.models))), ("Trained on", Cell(entry.trained_on)),
        ("Weights", Cell(weights, link="training.html" if weights else "")),
        ("Fitted on", Cell(f"ratings of {fitted}: its values there are shown and do not count" if fitted else "")),
        ("Scope", Cell(SCOPES.get(entry.scope, entry.scope))), ("Signature", Cell(entry.signature, code=True)))
    return (Facts(tuple(pair for pair in pairs if pair[1].text)),
            Prose(f"harness run --metric {shlex.quote(entry.name)} --all", code=True))


def _origin(every: AllColumns, items: Mapping[str, DatasetItems], columns: list[Column],
            origin: Origin) -> tuple[Section, ...]:
    """Everything on real data, or everything on the sample."""
    index, first = every.index, columns[0]
    profiles = [own for entry in index.on(origin) if entry.name in items
                if (own := profile(items[entry.name], first)) is not None]
    warnings = map(Prose, not_above_length(every, columns, origin))
    blocks: tuple[tuple[str, str, tuple[Block, ...]], ...] = (
        ("ranking", "Rank on the boards", (*ranking_table(every, columns, origin), *warnings)),
        ("targets", "Every dataset and quality", (Prose(READ), *target_tables(every, columns, origin))),
        ("points", "Scores against ratings",
         _scatters(index, first, origin) if index.results.points else (Prose(NO_POINTS),)),
        ("parts", "Where it and people differ", _parts(index, profiles, origin)),
        ("length", "Correlation with length", _lengths(index, profiles, origin)))
    return tuple(Section(f"{anchor}-{origin}", f"{title}, {ORIGIN_TITLES[origin]}", drawn)
                 for anchor, title, drawn in blocks if drawn)


def _scatters(index: Index, column: Column, origin: str) -> tuple[Block, ...]:
    """Plot the scores of a column against the ratings of every quality of an origin."""
    drawn = tuple(picture for entry in index.on(origin) for quality in entry.qualities
                  if (picture := _scatter(index, entry, quality, column)) is not None)
    read = ("Each dot is an item, larger and darker where several coincide. Across: the mean rating of people. Up: the "
            f"score. Data: {index.data(origin)}.")
    return (Prose(read), Gallery(drawn)) if drawn else ()


def _scatter(index: Index, entry: DatasetEntry, quality: QualityEntry, column: Column) -> Picture | None:
    points = next((points for points in index.results.points if points.dataset == entry.name), None)
    ratings = points.human.get(quality.name) if points else None
    scores = scores_on(points, column, quality.dimension) if points else None
    if ratings is None or scores is None or not (both := paired(ratings, scores)).any():
        return None
    human, own = ratings[both], scores[both]
    row = index.correlation((entry.name, quality.name), column)
    value = f"Spearman {number(row.value)}, " if row is not None and has_value(row) else ""
    low, high = extent = bulk(own)
    beyond = int(((own < low) | (own > high)).sum())
    outside = f"; {beyond} beyond the axis, drawn at its end" if beyond else ""
    caption = f"{short(entry.name, 80)}, {short(quality.name, 80)}: {value}{N}{human.size}{outside}"
    text = f"Scores of {short(index.labels[column])} against human ratings. {caption}."
    axes = (f"people: {quality.name}", index.labels[column])
    return Picture(scatter(human, own, axes, scale(quality, human), extent, text), text, caption)


def _parts(index: Index, profiles: Sequence[Profile], origin: str) -> tuple[Block, ...]:
    """Draw the differences between people and the column by system, and by length in quarters."""
    kinds = (("System", "systems", [(one.systems, one) for one in profiles if len(one.systems) > 1]),
             ("Length", "lengths", [(one.quarters, one) for one in profiles if one.quarters]))
    tables = tuple(
        table_of(index, origin, f"{anchor}-{origin}", f"By {part.lower()}: how people and the metric place the items", (
            Heading(part, "stub"), Heading("Items", "number"), Heading("People", "number", small="mean place"),
            Heading("Metric", "number", small="mean place"), Heading("Difference", "number"),
            Heading("Spearman within", "number")),
            (Group(tuple(_part_rows(parts)), one.items.title) for parts, one in split))
        for part, anchor, split in kinds if split)
    return (Prose(PLACES), *tables) if tables else ()


def _part_rows(parts: Sequence[PartDifference]) -> Iterable[tuple[Cell, ...]]:
    largest = max(abs(part.value) for part in parts)
    shown = sorted(parts, key=lambda part: -abs(part.value))[:SYSTEMS]
    for part in (part for part in parts if part in shown):
        marked = abs(part.value) == largest > 0
        yield (Cell(part.part), count_cell(part.items), number_cell(part.people), number_cell(part.metric),
               Cell(("+" if round(part.value, 3) > 0 else "") + number(part.value), value=part.value,
                    shade=shade(part.value), small="largest" if marked else "", marks=("best",) if marked else ()),
               _shaded(part.within, "fewer than three items, or all are equal"))


def _lengths(index: Index, profiles: Sequence[Profile], origin: str) -> tuple[Block, ...]:
    """Show how far scores, and people's ratings, correlate with length, dataset by dataset."""
    why = "all values are equal, or fewer than three items"
    rows = [(Cell(one.items.entry.name, link=index.dataset_paths[one.items.entry.name]), Cell(one.items.quality.name),
             *(_shaded(value, why) for value in (one.length, one.ratings_length, one.ratings, one.partial)))
            for one in profiles if math.isfinite(one.length)]
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Scores with length", "number"),
                Heading("Ratings with length", "number"), Heading("Scores with ratings", "number"),
                Heading("Scores with ratings", "number", small="length held constant"))
    return (Prose(LENGTH), table_of(index, origin, f"length-table-{origin}", "Scores, ratings and length", headings,
                                    rows)) if rows else ()


def _shaded(value: float, why: str) -> Cell:
    return number_cell(value, shaded=True) if math.isfinite(value) else missing(why)


def _timings(index: Index, timings: list[Timing]) -> Section:
    rows = tuple(_timing(Cell(row.dataset, link=index.dataset_paths.get(row.dataset, "")), row.items, row.cost)
                 for row in sorted(timings, key=lambda row: (row.dataset, row.items, row.cost)))
    if not rows:
        return Section("timings", "Cost", (Prose("Nothing was scored with it in this run, so no time was taken."),))
    total = _timing(Cell("All"), sum(row.items for row in timings), math.fsum(row.cost for row in timings))
    return Section("timings", "Cost", (Table(
        "timing-table", f"Seconds of scoring, models loaded, on {index.results.run.device}",
        (Heading("Dataset", "stub"), Heading("Items", "number"), Heading("Seconds", "number"),
         Heading("Seconds per 1,000 items", "number")),
        (Group(rows), Group((total,))), data="the time of this run, whatever the origin of the datasets"),))


def _timing(name: Cell, items: int, seconds: float) -> tuple[Cell, ...]:
    each = Cell(f"{1000 * seconds / items:.2f}", value=1000 * seconds / items) if items else Cell("")
    return (name, count_cell(items), Cell(f"{seconds:.2f}", value=seconds), each)
