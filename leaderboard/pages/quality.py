"""A page per quality: a board per origin over the datasets that have the quality."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.results.rows import DatasetEntry, QualityEntry, Results
from leaderboard.blocks.boards import TargetColumn, target_boards, with_costs
from leaderboard.blocks.tables import Block, Heading, Page, Prose, Section
from leaderboard.model.index import ORIGINS, Index, Origin, Target, has_value, make_index, plural
from leaderboard.model.numbers import Rankable, page_numbers


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per quality, under the name that datasets share for it."""
    index = make_index(results)
    valued = frozenset((row.dataset, row.quality) for row in results.correlations if has_value(row))
    return tuple(_page(index, valued, dimension) for dimension in sorted(index.quality_paths))


def _page(index: Index, valued: frozenset[Target], dimension: str) -> Page:
    targets = [(origin, entry, quality) for origin in ORIGINS for entry in index.on(origin)
               for quality in entry.qualities if quality.dimension == dimension]
    by_origin: dict[Origin, list[TargetColumn]] = {}
    for place, (origin, entry, quality) in enumerate(targets):
        heading = _heading(index, entry, quality)
        if quality.rated and (entry.name, quality.name) in valued:
            heading = replace(heading, targets=(place,))
        by_origin.setdefault(origin, []).append(TargetColumn(entry, quality, heading))
    places = {origin: tuple(place for column in own for place in column.heading.targets)
              for origin, own in by_origin.items()}
    boards = {str(origin): Rankable(own, "test") for origin, own in places.items() if own}
    ranked = sorted({column for origin in by_origin for column in index.ranked_columns(origin)})
    datasets = plural(len({entry.name for _, entry, _ in targets}), "dataset")
    return Page(
        path=index.quality_paths[dimension], title=f"Quality: {dimension}", label=dimension,
        lead=f"How well each metric agrees with people about “{dimension}”, on the {datasets} that rate it.",
        detail=datasets, sections=tuple(
            Section(origin, "Bundled sample" if origin == "sample" else "Real data",
                    tuple(_blocks(index, dimension, origin, own, bool(places[origin]))))
            for origin, own in by_origin.items()),
        group="Qualities", order=1, legend=True, sample="sample" in by_origin,
        data=page_numbers(index, [(entry, quality) for _, entry, quality in targets], ranked, boards))


def _heading(index: Index, entry: DatasetEntry, quality: QualityEntry) -> Heading:
    same = quality.name.casefold() == quality.dimension.casefold()
    small = (entry.split, entry.level) if same else (entry.split, entry.level, f"“{quality.name}”")
    return Heading(entry.name, "number", small=", ".join(small), title=entry.title,
                   link=index.dataset_paths[entry.name])


def _blocks(index: Index, dimension: str, origin: Origin, columns: list[TargetColumn], rankable: bool
            ) -> Iterable[Block]:
    """Draw a board per statistic, the first with costs and ranked by the scripts, and name what is not on them."""
    ranked = index.ranked_columns(origin)
    for place, table in enumerate(target_boards(index, columns, ranked, dimension, origin, origin)):
        yield table if place else replace(with_costs(index, table, 3 if len(columns) > 1 else 2),
                                          board=origin if rankable else "")
    others = set().union(*(index.columns.get(column.dataset.name, ()) for column in columns)) - ranked
    if others:
        listed = ", ".join(sorted(index.labels[column] for column in others))
        yield Prose(f"Not on the overall boards, so only on the pages of the datasets: {listed}.")
