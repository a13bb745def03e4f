"""A page per quality: a board per origin over the datasets that have the quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.results.rows import DatasetEntry, QualityEntry, Results
from leaderboard.blocks.grid import Place, boards
from leaderboard.blocks.tables import Block, Heading, Page, Prose, Section, Table
from leaderboard.model import numbers
from leaderboard.model.cost import Profile, beside, profiles
from leaderboard.model.index import Index, Key, Origin, make_index, origin_of, there
from leaderboard.model.numbers import Ranked
from leaderboard.model.verdicts import Verdicts, verdicts

ORIGINS: tuple[Origin, ...] = ("real", "sample")


@dataclass(frozen=True, slots=True)
class _Drawing:
    found: Index
    profiles: Mapping[Key, Profile]
    verdicts: Verdicts
    valued: frozenset[tuple[str, str]]
    """The qualities of datasets that some column has a value on."""


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per quality, under the name that datasets share for it."""
    index = make_index(results)
    valued = frozenset((row.dataset, row.quality) for row in results.correlations if there(row))
    drawing = _Drawing(index, profiles(results), verdicts(results), valued)
    return tuple(_page(drawing, dimension) for dimension in sorted(index.quality_paths))


def _page(drawing: _Drawing, dimension: str) -> Page:
    found = drawing.found
    places = {origin: _places(found, dimension, origin) for origin in ORIGINS}
    there = [origin for origin in ORIGINS if places[origin]]
    numbered = _numbered(drawing, [place for origin in there for place in places[origin]])
    datasets = len({place.dataset.name for place in numbered})
    words = "1 dataset" if datasets == 1 else f"{datasets} datasets"
    own = {origin: [place for place in numbered if origin_of(place.dataset) == origin] for origin in there}
    return Page(
        path=found.quality_paths[dimension], title=f"Quality: {dimension}", label=dimension,
        lead=f"How well each metric agrees with people about “{dimension}”, on the {words} that ask for it.",
        detail=words,
        sections=tuple(_section(drawing, dimension, origin, own[origin]) for origin in there),
        group="Qualities", order=1, legend=True, sample="sample" in there, mixed=len(there) > 1,
        data=_data(drawing, own),
    )


def _places(index: Index, dimension: str, origin: Origin) -> list[Place]:
    return [Place(entry, quality, _heading(index, entry, quality))
            for entry in index.on(origin) for quality in entry.qualities if quality.dimension == dimension]


def _numbered(drawing: _Drawing, places: list[Place]) -> list[Place]:
    """Tell the headings of cells that count which place of the page's data they show."""
    return [replace(place, heading=replace(place.heading, cells=(number,)))
            if place.quality.rated and (place.dataset.name, place.quality.name) in drawing.valued else place
            for number, place in enumerate(places)]


def _heading(index: Index, entry: DatasetEntry, quality: QualityEntry) -> Heading:
    same = quality.name.casefold() == quality.dimension.casefold()
    small = (entry.split, entry.level) if same else (entry.split, entry.level, f"“{quality.name}”")
    return Heading(entry.name, "number", small=", ".join(small), title=entry.title,
                   link=index.dataset_paths[entry.name])


def _section(drawing: _Drawing, dimension: str, origin: Origin, places: list[Place]) -> Section:
    found = drawing.found
    keys = found.standing_keys(origin)
    names = {place.dataset.name for place in places}
    others = {(row.metric, row.column) for row in found.results.correlations if row.dataset in names} - keys
    tables = boards(found, places, keys, dimension, origin, origin_of(places[0].dataset))
    words = "Bundled sample" if origin == "sample" else "Real data"
    return Section(origin, words, (*(_first(drawing, table, origin, places) for table in tables[:1]), *tables[1:],
                                   *_left_out(found, others)))


def _first(drawing: _Drawing, table: Table, origin: Origin, places: list[Place]) -> Table:
    """Put cost and needs beside the averages, and let the scripts rank it."""
    at = 3 if len(places) > 1 else 2
    return replace(beside(table, at, drawing.profiles, drawing.found.results), board=origin if _cells(places) else "")


def _cells(places: list[Place]) -> tuple[int, ...]:
    return tuple(cell for place in places for cell in place.heading.cells)


def _data(drawing: _Drawing, own: Mapping[Origin, list[Place]]) -> str:
    found = drawing.found
    ranked = {str(origin): Ranked(_cells(places), "test") for origin, places in own.items() if _cells(places)}
    spots = [(place.dataset, place.quality) for places in own.values() for place in places]
    keys: list[Key] = sorted({key for origin in own for key in found.standing_keys(origin)})
    return numbers.data(found, spots, keys, ranked, drawing.profiles, drawing.verdicts) if ranked else ""


def _left_out(index: Index, keys: set[Key]) -> tuple[Block, ...]:
    if not keys:
        return ()
    names = ", ".join(sorted(index.labels[key] for key in keys))
    return (Prose(f"Not on the overall boards, so only on the pages of the datasets: {names}."),)
