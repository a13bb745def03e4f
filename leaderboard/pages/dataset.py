"""A page per dataset: how every column agrees with people on each of its qualities, what people said, and examples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from harness.results.plots import N, axis, bulk, distribution, picture, scale, text
from harness.results.rows import DatasetEntry, Example, ItemScores, QualityEntry, Reliability, Results
from leaderboard.blocks.boards import TargetColumn, target_boards
from leaderboard.blocks.cells import count_cell, lead_marks, leaders, missing, number, number_cell
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Block, Cell, Facts, Gallery, Group, Heading, Page, Picture, Prose, Section, Table
from leaderboard.model.index import DATA, ONE_RATER, Column, Index, main_quality, make_index, origin_of, rated_targets
from leaderboard.model.items import Vector, by_system, scores_on

RELIABILITY = {
    ONE_RATER: ("one against the others", "Spearman of one vote per item with the mean of the others"),
    "split-half": ("half against half", "Spearman of two halves of the votes, stepped up by Spearman-Brown"),
}
"""The kinds of reliability that a metric's row can be compared with."""

SPLIT = {"dev": "development", "test": "test"}
TOP = 6
"""Metrics whose scores are shown."""

EXPLAINED = ("Places run from 0, the lowest of the dataset, to 1, the highest. Square: people. Dot: the median of "
             "the metrics. Strokes: the named metrics. Of longer dialogues the last utterances are shown.")


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per dataset."""
    index, points = make_index(results), {entry.dataset: entry for entry in results.points}
    return tuple(_page(index, entry, points.get(entry.name)) for entry in index.datasets)


def tables(index: Index, entry: DatasetEntry) -> tuple[Table, ...]:
    """Every column on every quality of a dataset, promised ones too, a table per statistic."""
    headings = (Heading(quality.name, "number", link=index.quality_paths[quality.dimension])
                for quality in entry.qualities)
    targets = [TargetColumn(entry, *pair) for pair in zip(entry.qualities, headings, strict=True)]
    columns = {(metric.name, column) for metric in index.results.metrics for column in metric.columns}
    columns |= index.columns.get(entry.name, set())
    drawn = target_boards(index, targets, columns, entry.name, "correlation", origin_of(entry))
    raters = _reliability(index, entry, len(drawn[0].headings)) if drawn else Group(())
    return (replace(drawn[0], groups=(*drawn[0].groups, raters)), *drawn[1:]) if raters.rows else drawn


def _page(index: Index, entry: DatasetEntry, points: ItemScores | None) -> Page:
    split = SPLIT.get(entry.split, entry.split)
    people = () if points is None else (
        ("systems", "How people rated each system", _systems(index, entry, points)),
        ("ratings", "How people rated", _ratings(index, entry, points)),
        ("scores", "Scores of the best metrics", _scores(index, entry, points)))
    return Page(
        path=index.dataset_paths[entry.name], title=entry.title or entry.name, label=entry.name,
        lead=f"{entry.name}: a {split} dataset, judged by the {entry.level}.",
        detail=f"{split}, {entry.level}, {entry.items} items, {entry.origin}",
        sections=(Section("correlation", "Correlation with people", tables(index, entry)),
                  *(Section(anchor, title, blocks) for anchor, title, blocks in people if blocks),
                  *_examples(index, entry),
                  Section("card", "The dataset", (_facts(entry, points), _qualities(index, entry)))),
        group="Datasets", order=1, legend=True, sample=origin_of(entry) == "sample")


def _reliability(index: Index, entry: DatasetEntry, width: int) -> Group:
    """How far people agree among themselves, under the correlations of the metrics."""
    known = {(row.method, row.quality): row for row in index.results.reliability if row.dataset == entry.name}

    def cell(row: Reliability | None) -> Cell:
        if row is None or not math.isfinite(row.value):
            return missing("not known" if row is None else row.note)
        return number_cell(row.value)._replace(title=f"over {row.items} items")

    blank = (Cell(""),) * (width - len(entry.qualities) - 2)
    rows = tuple((Cell(""), Cell(title, title=why), *blank,
                  *(cell(known.get((method, quality.name))) for quality in entry.qualities))
                 for method, (title, why) in RELIABILITY.items()
                 if any(math.isfinite(row.value) for (name, _), row in known.items() if name == method))
    return Group(rows, "People among themselves")


def _facts(entry: DatasetEntry, points: ItemScores | None) -> Facts:
    systems = len({name for name in points.systems if name}) if points is not None else 0
    pairs = (("Name", entry.name), ("Split", SPLIT.get(entry.split, entry.split)), ("Level", entry.level),
             ("Origin", f"{entry.origin}: {DATA[origin_of(entry)]}"), ("Items", str(entry.items)),
             ("Ratings", str(entry.ratings)), ("Systems", str(systems or "")), ("Licence", entry.licence),
             ("Citation", entry.citation), ("Notes", entry.notes))
    known = tuple((term, Cell(value)) for term, value in pairs if value)
    return Facts((*known, ("Fingerprint", Cell(entry.fingerprint, code=True))))


def _qualities(index: Index, entry: DatasetEntry) -> Table:
    def scale_of(quality: QualityEntry) -> str:
        return "not known" if None in (quality.low, quality.high) else f"{quality.low:g} to {quality.high:g}"

    rows = ((Cell(quality.name), Cell(quality.dimension, link=index.quality_paths[quality.dimension]),
             Cell(scale_of(quality)), count_cell(quality.rated)) for quality in entry.qualities)
    headings = (Heading("Quality", "stub"), Heading("Board"), Heading("Scale"), Heading("Items rated", "number"))
    return table_of(index, origin_of(entry), "qualities", f"Qualities of {entry.name}", headings, rows)


def _systems(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw the mean rating of each system, the best on the main quality first."""
    split, main = by_system(points), main_quality(entry)
    parts = {name: np.flatnonzero(split.numbers == number) for number, name in enumerate(split.names)}
    qualities = [quality for quality in entry.qualities if quality.name in points.human]
    if not parts or main is None or main not in qualities:
        return (Prose("The systems that gave the responses are not known."),)
    means = {part: [_mean(points.human[quality.name][items]) for quality in qualities]
             for part, items in parts.items()}
    lead = [leaders(row[place] for row in means.values()) for place in range(len(qualities))]
    order = qualities.index(main)
    ranked = sorted(parts, key=lambda part: (-np.nan_to_num(means[part][order], nan=-math.inf), part))
    headings = (Heading("System", "stub"), Heading("Items", "number"), *(
        Heading(quality.name, "number", link=index.quality_paths[quality.dimension]) for quality in qualities))
    rows = ((Cell(part), count_cell(parts[part].size), *(
        Cell(f"{mean:.2f}", value=mean, marks=lead_marks(mean, best)) if math.isfinite(mean)
        else missing("no item of this system was rated") for mean, best in zip(means[part], lead, strict=True)))
        for part in ranked)
    caption = f"Mean rating of the items of each system on {entry.name}"
    return (table_of(index, origin_of(entry), "system-table", caption, headings, rows),)


def _ratings(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw the distribution of the mean ratings of the items, quality by quality."""
    drawn = []
    for quality in entry.qualities:
        if (values := _finite(points.human.get(quality.name))) is not None:
            spread = float(values.std(dtype=np.float64))
            caption = f"{quality.name}: mean {_mean(values):.2f}, standard deviation {spread:.2f}, {N}{values.size}"
            words = f"Human ratings of {entry.name}. {caption}."
            svg = distribution(values, quality.name, scale(quality, values), "people", words)
            drawn.append(Picture(svg, words, caption))
    read = f"How many items have which mean rating; the dashed line is the mean. Data: {index.data(origin_of(entry))}."
    return (Prose(read), Gallery(tuple(drawn))) if drawn else ()


def _scores(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw the distribution of the scores of the metrics that agree best with people here."""
    quality, drawn = main_quality(entry), []
    for column, mean in _best(index, entry):
        values, label = _finite(scores_on(points, column, quality.dimension if quality else "")), index.labels[column]
        if values is not None:
            caption = f"{label}: mean Spearman {number(mean)}, {N}{values.size}"
            words = f"Scores on {entry.name}. {caption}."
            drawn.append(Picture(distribution(values, label, bulk(values), "metric", words), words, caption))
    read = (f"How many items have which score, of the {len(drawn)} metrics that agree best with people over the "
            f"qualities of this dataset. Data: {index.data(origin_of(entry))}.")
    return (Prose(read), Gallery(tuple(drawn))) if drawn else ()


def _best(index: Index, entry: DatasetEntry) -> list[tuple[Column, float]]:
    """List the best column of each of the best metrics by its mean Spearman, of those with a value everywhere."""
    targets = rated_targets((entry,))
    means: dict[str, tuple[float, Column]] = {}
    for column in sorted(index.labels) if targets else ():
        mean = math.fsum(index.value(target, column) for target in targets) / len(targets)
        if math.isfinite(mean) and mean > means.get(column[0], (-math.inf, column))[0]:
            means[column[0]] = (mean, column)
    return [(column, mean) for mean, column in sorted(means.values(), key=lambda pair: (-pair[0], pair[1]))[:TOP]]


def _finite(values: Vector | None) -> Vector | None:
    return None if values is None or not (finite := np.isfinite(values)).any() else values[finite]


def _mean(ratings: Vector) -> float:
    values = _finite(ratings)
    return math.nan if values is None else float(values.mean(dtype=np.float64))


def _examples(index: Index, entry: DatasetEntry) -> Iterable[Section]:
    """Show where people and metrics disagree most: what people place higher than the metrics do, then the others."""
    examples = sorted((row for row in index.results.examples if row.dataset == entry.name),
                      key=lambda row: (-abs(row.people - row.metrics), row.item, row.quality))
    if examples:
        yield Section("examples", "Where people and metrics disagree most",
                      (Prose(f"{EXPLAINED} Data: {index.data(origin_of(entry))}."),))
    for anchor, title, rows in (
            ("high-for-people", "High for people, low for the metrics",
             [row for row in examples if row.people > row.metrics]),
            ("high-for-metrics", "High for the metrics, low for people",
             [row for row in examples if row.people <= row.metrics])):
        if rows:
            yield Section(anchor, title, (), level=3)
        for place, row in enumerate(rows, start=1):
            yield Section(f"{anchor}-{place}", f"People {row.people:.2f}, metrics {row.metrics:.2f}", _example(row),
                          level=4)


def _example(row: Example) -> tuple[Block, ...]:
    kind = "Context" if row.response else "Utterance"  # of a whole dialogue
    context = ((f"{kind} {place}", Cell(words)) for place, words in enumerate(row.context, start=1))
    named = ", ".join(f"{column} {place:.2f}" for column, place in row.columns)
    pairs = (*context, ("Response", Cell(row.response)), ("System", Cell(row.system)),
             ("People", Cell(f"{row.quality} {row.rating:.2f}, place {row.people:.2f}")),
             ("Metrics", Cell(f"median place {row.metrics:.2f}" + (f"; {named}" if named else ""))),
             ("Item", Cell(row.item, code=True)))
    words = f"{row.item}: place {row.people:.2f} for people, {row.metrics:.2f} for the metrics."
    svg = places(row.people, row.metrics, [place for _, place in row.columns], words)
    return (Picture(svg, words), Facts(tuple(pair for pair in pairs if pair[1].text)))


def places(people: float, metrics: float, columns: Sequence[float], description: str) -> str:
    """Draw places from 0 to 1 on a strip: of people, the median of the metrics, and a stroke for each column."""
    width, edge, line = 400, 12, 24
    across = axis(0.0, 1.0, edge, width - edge)
    strokes = "".join(f"M{across.place(place):.1f} {line - 7}v14" for place in columns)
    x, y = round(across.place(people), 1), round(across.place(metrics), 1)

    def side(place: float) -> str:  # a word begins, centres or ends at its place, so that it stays inside
        return "" if place < 0.1 else "e" if place > 0.9 else "m"

    return picture("places", width, 46, description, (
        f'<path class="axis" d="M{edge} {line}H{width - edge}"/><path class="strokes" d="{strokes}"/>',
        f'<circle class="own" cx="{y:g}" cy="{line}" r="5.5"/>',
        f'<path class="people-mark" d="M{x:g} {line}m-5-5h10v10h-10z"/>',
        text(x, 11, "people", side(people)), text(y, 43, "metrics", side(metrics)),
        text(edge, 43, "" if metrics < 0.25 else "lowest"),
        text(width - edge, 43, "" if metrics > 0.75 else "highest", "e")))
