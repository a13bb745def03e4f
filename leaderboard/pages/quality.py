"""A page per quality: a board per origin over the datasets that have the quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.results.rows import DatasetEntry, QualityEntry, Results
from leaderboard.blocks.boards import with_costs
from leaderboard.blocks.tables import Heading, Page, Prose, Section, Table
from leaderboard.blocks.target_boards import TargetColumn, target_boards
from leaderboard.model.index import ORIGINS, Column, Index, Origin, Target, has_value, make_index, origin_of, plural
from leaderboard.model.numbers import Rankable, page_numbers


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per quality, under the name that datasets share for it."""
    index = make_index(results)
    valued = frozenset((row.dataset, row.quality) for row in results.correlations if has_value(row))
    return tuple(_page(index, valued, dimension) for dimension in sorted(index.quality_paths))


def _page(index: Index, valued: frozenset[Target], dimension: str) -> Page:
    columns = _numbered(valued, [TargetColumn(entry, quality, _heading(index, entry, quality))
                                 for origin in ORIGINS for entry in index.on(origin) for quality in entry.qualities
                                 if quality.dimension == dimension])
    datasets = plural(len({column.dataset.name for column in columns}), "dataset")
    by_origin = {origin: own for origin in ORIGINS
                 if (own := [column for column in columns if origin_of(column.dataset) == origin])}
    return Page(
        path=index.quality_paths[dimension], title=f"Quality: {dimension}", label=dimension,
        lead=f"How well each metric agrees with people about “{dimension}”, on the {datasets} that rate it.",
        detail=datasets, sections=tuple(_section(index, dimension, origin, own) for origin, own in by_origin.items()),
        group="Qualities", order=1, legend=True, sample="sample" in by_origin, mixed=len(by_origin) > 1,
        data=_numbers(index, by_origin))


def _numbered(valued: frozenset[Target], columns: list[TargetColumn]) -> list[TargetColumn]:
    """Tell the headings of rated targets their place in the page's numbers."""
    return [replace(column, heading=replace(column.heading, targets=(number,)))
            if column.quality.rated and column.target in valued else column
            for number, column in enumerate(columns)]


def _heading(index: Index, entry: DatasetEntry, quality: QualityEntry) -> Heading:
    same = quality.name.casefold() == quality.dimension.casefold()
    small = (entry.split, entry.level) if same else (entry.split, entry.level, f"“{quality.name}”")
    return Heading(entry.name, "number", small=", ".join(small), title=entry.title,
                   link=index.dataset_paths[entry.name])


def _section(index: Index, dimension: str, origin: Origin, columns: list[TargetColumn]) -> Section:
    ranked = index.ranked_columns(origin)
    names = {column.dataset.name for column in columns}
    others = {(row.metric, row.column) for row in index.results.correlations if row.dataset in names} - ranked
    tables = target_boards(index, columns, ranked, dimension, origin, origin)
    return Section(origin, "Bundled sample" if origin == "sample" else "Real data", (
        *(_first(index, table, origin, columns) for table in tables[:1]), *tables[1:], *_left_out(index, others)))


def _first(index: Index, table: Table, origin: Origin, columns: list[TargetColumn]) -> Table:
    """Put cost and needs beside the averages, and let the scripts rank the table."""
    return replace(with_costs(index, table, 3 if len(columns) > 1 else 2), board=origin if _places(columns) else "")


def _places(columns: list[TargetColumn]) -> tuple[int, ...]:
    return tuple(place for column in columns for place in column.heading.targets)


def _numbers(index: Index, by_origin: Mapping[Origin, list[TargetColumn]]) -> str:
    boards = {str(origin): Rankable(_places(own), "test") for origin, own in by_origin.items() if _places(own)}
    entries = [(column.dataset, column.quality) for own in by_origin.values() for column in own]
    ranked = sorted({column for origin in by_origin for column in index.ranked_columns(origin)})
    return page_numbers(index, entries, ranked, boards)


def _left_out(index: Index, columns: set[Column]) -> tuple[Prose, ...]:
    if not columns:
        return ()
    names = ", ".join(sorted(index.labels[column] for column in columns))
    return (Prose(f"Not on the overall boards, so only on the pages of the datasets: {names}."),)
