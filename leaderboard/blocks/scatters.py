"""A metric's scores against the ratings of people, item by item, as plots."""

from __future__ import annotations

from harness.results.rows import DatasetEntry, ItemScores, QualityEntry
from leaderboard.blocks.cells import number
from leaderboard.blocks.pictures import scatter
from leaderboard.blocks.pictures.axes import bulk, short
from leaderboard.blocks.tables import Block, Gallery, Picture, Prose
from leaderboard.model.index import Index, Key, there
from leaderboard.model.paired import Vector, both, scores_on
from leaderboard.model.reached import STATISTIC


def gallery(index: Index, key: Key, origin: str) -> tuple[Block, ...]:
    """Plot the scores of a column against the ratings of every quality of an origin."""
    points = {entry.dataset: entry for entry in index.results.points}
    drawn = tuple(picture for entry in index.on(origin) if entry.name in points for quality in entry.qualities
                  for picture in _scatter(index, points[entry.name], entry, quality, key))
    said = (f"Each dot is an item, larger and darker where several fall together; more than {scatter.MANY:,} items are "
            f"drawn as hexagons. Across: the mean rating of people. Up: the score. Data: {index.data(origin)}.")
    return (Prose(said), Gallery(drawn)) if drawn else ()


def _scatter(index: Index, points: ItemScores, entry: DatasetEntry, quality: QualityEntry,
             key: Key) -> tuple[Picture, ...]:
    ratings, scores = points.human.get(quality.name), scores_on(points, key, quality.dimension)
    if ratings is None or scores is None or not (drawn := both(ratings, scores)).any():
        return ()
    human, given = ratings[drawn], scores[drawn]
    row = index.correlation(entry.name, quality.name, key, STATISTIC)
    value = f"Spearman {number(row.value)}, " if row is not None and there(row) else ""
    low, high = extent = bulk(given)
    beyond = int(((given < low) | (given > high)).sum())
    outside = f"; {beyond} beyond the axis, drawn at its end" if beyond else ""
    caption = (f"{short(entry.name, 80)}, {short(quality.name, 80)}: {value}"
               f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{human.size}{outside}")
    told = f"Scores of {short(index.labels[key])} against human ratings. {caption}."
    names = (f"people: {quality.name}", index.labels[key])
    return (Picture(scatter.svg(human, given, names, scale(quality, human), extent, told), told, caption),)


def scale(quality: QualityEntry, ratings: Vector) -> tuple[float, float]:
    """Take the scale of a quality where it is known, else the range of its ratings; no rating lies outside."""
    low, high = float(ratings.min()), float(ratings.max())
    return (low if quality.low is None else min(quality.low, low),
            high if quality.high is None else max(quality.high, high))
