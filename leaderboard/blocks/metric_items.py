"""A column against people item by item: scatter plots, differences by system and by length, correlation with length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from harness.results.rows import DatasetEntry, ItemScores, QualityEntry
from leaderboard.blocks.cells import count_cell, missing, number, number_cell, shade
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.pictures import scatter
from leaderboard.blocks.pictures.axes import bulk, short
from leaderboard.blocks.tables import Block, Cell, Gallery, Group, Heading, Picture, Prose, Row, Table
from leaderboard.model.index import Column, Index, has_value
from leaderboard.model.items import PartDifference, Profile, Vector, paired, scores_on

SYSTEMS = 12
"""Systems of a dataset on a metric's page: those that people and the metric place most differently."""

PLACES = ("A place is the rank of an item among all of its dataset, from 0, the lowest, to 1, the highest. Positive "
          "differences (blue): the metric places the items higher than people do; negative ones (orange): lower. "
          "The largest of each dataset is marked.")
LENGTH = ("Spearman with the number of words: of the scores, and of people's ratings. Words are those of "
          "the response, or of the whole dialogue where that is judged. Length held constant: partial correlation of "
          "ranks.")
N = "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"


def scatters(index: Index, column: Column, origin: str) -> tuple[Block, ...]:
    """Plot the scores of a column against the ratings of every quality of an origin."""
    points = {entry.dataset: entry for entry in index.results.points}
    drawn = tuple(picture for entry in index.on(origin) if entry.name in points for quality in entry.qualities
                  for picture in _scatter(index, points[entry.name], entry, quality, column))
    text = ("Each dot is an item, larger and darker where several coincide. Across: the mean rating of people. Up: the "
            f"score. Data: {index.data(origin)}.")
    return (Prose(text), Gallery(drawn)) if drawn else ()


def scale(quality: QualityEntry, ratings: Vector) -> tuple[float, float]:
    """Take the scale of a quality where it is known, else the range of its ratings; no rating lies outside."""
    low, high = float(ratings.min()), float(ratings.max())
    return (low if quality.low is None else min(quality.low, low),
            high if quality.high is None else max(quality.high, high))


def part_tables(index: Index, profiles: Sequence[Profile], origin: str) -> tuple[Block, ...]:
    """Draw the differences between people and the column by system, and by length in quarters."""
    by_system = [Group(_rows(one.systems), one.items.title) for one in profiles if len(one.systems) > 1]
    by_length = [Group(_rows(one.quarters), one.items.title) for one in profiles if one.quarters]
    drawn = (_part_table(index, f"systems-{origin}", "By system", "System", by_system, origin),
             _part_table(index, f"lengths-{origin}", "By length", "Length", by_length, origin))
    tables = tuple(table for table in drawn if table.groups)
    return (Prose(PLACES), *tables) if tables else ()


def length_blocks(index: Index, profiles: Sequence[Profile], origin: str) -> tuple[Block, ...]:
    """Draw how far scores, and people's ratings, correlate with length, dataset by dataset."""
    known = [one for one in profiles if math.isfinite(one.length)]
    if not known:
        return ()
    rows = ((Cell(one.items.entry.name, link=index.dataset_paths[one.items.entry.name]), Cell(one.items.quality.name),
             *map(_value, (one.length, one.ratings_length, one.ratings, one.partial))) for one in known)
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Scores with length", "number"),
                Heading("Ratings with length", "number"), Heading("Scores with ratings", "number"),
                Heading("Scores with ratings", "number", small="length held constant"))
    caption = "Scores, ratings and length"
    return (Prose(LENGTH), table_of(index, origin, f"length-table-{origin}", caption, headings, rows))


def _scatter(index: Index, points: ItemScores, entry: DatasetEntry, quality: QualityEntry,
             column: Column) -> tuple[Picture, ...]:
    ratings, scores = points.human.get(quality.name), scores_on(points, column, quality.dimension)
    if ratings is None or scores is None or not (both := paired(ratings, scores)).any():
        return ()
    human, own = ratings[both], scores[both]
    row = index.correlation((entry.name, quality.name), column)
    value = f"Spearman {number(row.value)}, " if row is not None and has_value(row) else ""
    low, high = extent = bulk(own)
    beyond = int(((own < low) | (own > high)).sum())
    outside = f"; {beyond} beyond the axis, drawn at its end" if beyond else ""
    caption = f"{short(entry.name, 80)}, {short(quality.name, 80)}: {value}{N}{human.size}{outside}"
    text = f"Scores of {short(index.labels[column])} against human ratings. {caption}."
    names = (f"people: {quality.name}", index.labels[column])
    return (Picture(scatter.svg(human, own, names, scale(quality, human), extent, text), text, caption),)


def _part_table(index: Index, anchor: str, caption: str, part: str, groups: Iterable[Group], origin: str) -> Table:
    headings = (Heading(part, "stub"), Heading("Items", "number"), Heading("People", "number", small="mean place"),
                Heading("Metric", "number", small="mean place"), Heading("Difference", "number"),
                Heading("Spearman within", "number"))
    return table_of(index, origin, anchor, f"{caption}: how people and the metric place the items", headings, groups)


def _rows(parts: Sequence[PartDifference]) -> tuple[Row, ...]:
    largest = max(abs(part.value) for part in parts)
    shown = sorted(parts, key=lambda part: -abs(part.value))[:SYSTEMS]
    return tuple(_row(part, abs(part.value) == largest > 0) for part in parts if part in shown)


def _row(part: PartDifference, largest: bool) -> Row:
    sign = "+" if round(part.value, 3) > 0 else ""
    within = (number_cell(part.within, shaded=True) if math.isfinite(part.within)
              else missing("fewer than three items, or all are equal"))
    return (Cell(part.part), count_cell(part.items), number_cell(part.people), number_cell(part.metric),
            Cell(sign + number(part.value), value=part.value, shade=shade(part.value),
                 small="largest" if largest else "", marks=("best",) if largest else ()), within)


def _value(value: float) -> Cell:
    if not math.isfinite(value):
        return missing("all values are equal, or fewer than three items")
    return number_cell(value, shaded=True)
