"""The card of a dataset of your own, in TOML, and next to it a file of items and ratings.

    name = "tea-talk"              lower-case letters, digits and hyphens
    file = "tea.csv"               a table of ratings, or the organisers' JSON
    level = "turn"                 or "dialogue"
    language = "en"
    size = 300                     number of items; a file with a different number is rejected
    title = "Tea talk"
    licence = "CC BY 4.0"
    citation = "Who made it, and where it is described"
    columns = {response = "text"}  columns of the table by role; usual names can be omitted
    qualities = ["overall"]        or a [[quality]] table each, with name, low, high, columns (one for each rater),
                                   scale ("no < yes") and dimension (the construct, shared with other datasets)

Tables are read by benchmarks/tables, with a card or without; `harness new dataset NAME --from TABLE` writes a card. A
scale that the card leaves open is inferred from the votes; `harness check` prints the inferred lines for the card. A
quality without a dimension gets that of its name (benchmarks/tables/names.toml: `Engaging` has engagement), or else
one of its own; judges, composites and boards use the dimension. Datasets with a card form the split `own`; its boards
are separate from those of the challenge and never enter their averages.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Level, Quality, Split
from benchmarks.errors import BadRecord, raise_if_any
from benchmarks.formats import official, records
from benchmarks.tables import ratings, sheet
from benchmarks.tables.cells import Scale, parse_scale
from benchmarks.tables.columns import StatedQuality
from benchmarks.tables.roles import STATED, dimensions
from harness import terms
from harness.errors import BadConfig
from metrics.metric import is_name


@dataclass(frozen=True, slots=True)
class QualityTable:
    """A [[quality]] of a card; `columns` has a column for each rater, `scale` the labels, lowest first."""

    name: terms.NonEmpty
    low: terms.Number | None = None
    high: terms.Number | None = None
    dimension: terms.Line = ""
    columns: tuple[terms.Line, ...] = ()
    scale: terms.Line = ""


@dataclass(frozen=True, slots=True)
class CardTable:
    """A card, or a [[dataset]] of a challenge."""

    name: terms.NonEmpty
    file: terms.NonEmpty
    title: terms.Line = ""
    split: Literal["dev", "test"] | None = None
    level: Level = "turn"
    language: terms.Language = "en"
    size: terms.Count = 0
    columns: Mapping[str, terms.Paragraphs] = field(default_factory=dict)
    qualities: tuple[QualityTable, ...] = ()
    quality: tuple[QualityTable, ...] = ()
    licence: terms.Line = "not stated"
    citation: terms.Line = ""


@dataclass(frozen=True, slots=True)
class OwnDataset:
    """A card, the file of its items and ratings, and the columns of that file."""

    card: DatasetCard
    file: Path
    columns: Mapping[str, str]
    qualities: Mapping[str, StatedQuality]

    def missing(self, *, rated: bool = True) -> str:
        """Return the error message for a missing file, with the columns that it should have."""
        roles = ("item", "context", "response") if self.card.level == "turn" else ("item", "dialogue")
        columns = [self.columns.get(role, role) for role in (*roles, *self.columns)]
        columns += [column for quality in self.qualities.values() for column in quality.columns if rated]
        return (f"{self.file}: no such file; it should have the items {'and ratings ' if rated else ''}of "
                f"{self.card.name!r}, in the columns {', '.join(dict.fromkeys(columns))}")

    def read(self) -> Dataset:
        """Return the dataset in the file, without inferring scales that the card leaves open."""
        dataset, _, _ = self._content()
        return replace(dataset, card=replace(self.card, size=len(dataset.items)))

    def scaled(self) -> tuple[Dataset, tuple[str, ...]]:
        """Return the dataset with size and open scales inferred from the file, and remarks for the user to check."""
        from harness.contract import dataset as contract  # imports the scoring code, which reports do not need

        dataset, locations, remarks = self._content()
        qualities = tuple(self._scale(quality, dataset) for quality in self.card.qualities)
        dataset = replace(dataset, card=replace(self.card, size=len(dataset.items), qualities=qualities))
        return dataset, (*remarks, *contract.remarks(dataset, locations))

    def _content(self) -> tuple[Dataset, Mapping[str, str], tuple[str, ...]]:
        """Return the dataset exactly as in the file, the location of each item, and remarks."""
        if not self.file.is_file():
            raise BadConfig(self.missing())
        if not is_table(self.file.name):
            raise BadConfig(f"{self.file}: should end in {', '.join(sheet.ENDINGS)}")
        if self._is_official():
            dataset, remarks = self._official()
            locations: Mapping[str, str] = {}
        else:
            table = ratings.of_sheet(sheet.read(self.file), self.columns, (), self.qualities, self.card.language)
            dataset, locations = table.dataset, table.locations
            if (level := dataset.card.level) != self.card.level:
                raise BadConfig(f"{self.file.name}: contains {'responses' if level == 'turn' else 'whole dialogues'}; "
                                f'set level = "{level}" in the card')
            remarks = (*(f"{column} is left out: {why}" for column, why in table.columns.left_out.items()),
                       *table.remarks)
        if self.card.size and len(dataset.items) != self.card.size:
            raise BadConfig(f"{self.file.name}: has {len(dataset.items)} items, but size = {self.card.size} in the "
                            "card")
        return dataset, locations, remarks

    def _is_official(self) -> bool:
        if self.file.suffix.casefold() != ".json" or self.columns:
            return False
        objects = official.load_json(self.file)
        return isinstance(objects, list) and any(isinstance(row, dict) and "dialogue_id" in row for row in objects[:1])

    def _official(self) -> tuple[Dataset, tuple[str, ...]]:
        """Return the dataset in the organisers' JSON, and remarks; raise BadRecord for a vote off the scale."""
        from harness.contract.dataset import listed

        items = list(official.records(self.file))
        official.check_level(items, self.card.level)
        dataset = official.dataset(items, self.card, "imported", self.file.name)
        scales = {quality.name: quality for quality in self.card.qualities}
        raise_if_any([BadRecord(self.file.name, rating.item, f"annotations.{rating.quality}", problem)
                      for rating in dataset.ratings for vote in rating.votes
                      if (problem := scales[rating.quality].scale_problem(vote))])
        empty = [record.id for record in items if official.has_empty_turn(record)]
        return dataset, (f"an empty turn between others is left out{listed(empty)}",) if empty else ()

    def _scale(self, quality: Quality, dataset: Dataset) -> Quality:
        """Infer the open ends of a scale from the file; raise BadConfig if there are no votes to infer them from."""
        votes = [vote for rating in dataset.ratings if rating.quality == quality.name for vote in rating.votes]
        if not votes:
            if None not in (quality.low, quality.high):
                return quality
            raise BadConfig(f"{self.file.name}: has no votes on {quality.name!r}; to supply them with --ratings, state "
                            "low and high in the card")
        scale = dataset.card.quality(quality.name) or quality
        low, high = min(votes) if scale.low is None else scale.low, max(votes) if scale.high is None else scale.high
        return replace(quality, low=low if quality.low is None else quality.low,
                       high=high if quality.high is None else quality.high)

    def inferred(self, dataset: Dataset) -> tuple[str, ...]:
        """Return card lines with the size and scales of the file; none if the card states them all."""
        if self.card.size and all(None not in (quality.low, quality.high) for quality in self.card.qualities):
            return ()
        return self.lines(dataset.card)

    def lines(self, card: DatasetCard) -> tuple[str, ...]:
        """Return the lines for the size and the qualities of a card."""
        tables = []
        by_name = dimensions([quality.name for quality in card.qualities], card.name)
        for quality, dimension in zip(card.qualities, by_name, strict=True):
            stated, values = self.qualities[quality.name], dict[str, Any](name=quality.name)
            if stated.scale.labels:
                values["scale"] = str(stated.scale)
            elif quality.low is not None and quality.high is not None and quality.low < quality.high:
                values |= {name: int(end) if end == int(end) else end
                           for name, end in (("low", quality.low), ("high", quality.high))}
            if quality.dimension != dimension:
                values["dimension"] = quality.dimension
            if stated.columns != (quality.name,):
                values["columns"] = stated.columns
            tables.append(_inline(values))
        return f"size = {card.size}", "qualities = [" + ",\n             ".join(tables) + "]"


def _inline(values: Mapping[str, Any]) -> str:
    """Return an inline table in TOML."""
    return f"{{{', '.join(f'{name} = {json.dumps(value, ensure_ascii=False)}' for name, value in values.items())}}}"


def card_text(table: ratings.Table, name: str, file: str) -> str:
    """Return a card that reproduces how a table was read without one."""
    layout, qualities = table.columns, table.dataset.card.qualities
    card = replace(table.dataset.card, name=name, title=name.replace("-", " ").capitalize(), qualities=tuple(
        replace(quality, dimension=dimension) for quality, dimension in zip(qualities, dimensions(
            [quality.name for quality in qualities], name), strict=True)))
    columns = {{"context": "prompt" if layout.single else "history"}.get(role, role): column
               for role, column in layout.roles.items()}
    if ignored := [column for column, why in layout.left_out.items() if why == STATED]:
        columns["ignore"] = "+".join(ignored)
    if layout.metrics:
        columns["metric"] = "+".join(layout.metrics.values())
    dataset = OwnDataset(card, Path(file), columns, {quality: StatedQuality(
        (quality,) if layout.is_long else tuple(vote.column for vote in layout.votes if vote.quality == quality),
        next(vote.scale for vote in layout.votes if vote.quality == quality)) for quality in layout.qualities})
    head = {"name": name, "title": card.title, "level": card.level, "language": card.language, "file": file,
            "licence": card.licence, "citation": card.citation}
    return "\n".join((*(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()),
                      f"columns = {_inline(columns)}", *dataset.lines(card), ""))


def read_card(path: Path) -> OwnDataset:
    dataset = of_table(terms.table(path, str(path)), path.parent, str(path), "own")
    name = dataset.card.name
    if not is_name(name):
        raise BadConfig(f"{path}: name should be lower-case letters, digits and hyphens, not {name!r:.60}")
    if name in registry.built_in():
        raise BadConfig(f"{path}: {name!r} is a built-in dataset; choose another name")
    return dataset


def of_table(values: Mapping[str, Any], folder: Path, where: str, split: Split) -> OwnDataset:
    """Read the dataset that a table of settings describes."""
    if isinstance(values.get("qualities"), list):
        named = [{"name": quality} if isinstance(quality, str) else quality for quality in values["qualities"]]
        values = {**values, "qualities": named}
    with records.refused_as(BadConfig):
        table: CardTable = records.value_of(CardTable, values, where)
    qualities = (*table.qualities, *table.quality)
    if not qualities:
        raise BadConfig(f'{where}: needs qualities, such as qualities = [{{name = "overall", low = 1, high = 5}}]')
    if repeated := [name for name, count in Counter(quality.name for quality in qualities).items() if count > 1]:
        raise BadConfig(f"{where}: the quality {repeated[0]!r} is named twice")
    for quality in qualities:
        if quality.low is not None and quality.high is not None and quality.low >= quality.high:
            raise BadConfig(f"{where}: the quality {quality.name!r} has low = {quality.low:g}, which is not below "
                            f"high = {quality.high:g}")
    try:
        labels = {quality.name: parse_scale(quality.scale) for quality in qualities if quality.scale}
    except ValueError as error:
        raise BadConfig(f"{where}: {error}") from error
    qualities = tuple(replace(quality, low=0.0, high=len(labels[quality.name]) - 1.0) if quality.name in labels
                      else quality for quality in qualities)
    stated = {quality.name: StatedQuality(quality.columns or (quality.name,), Scale(
        labels.get(quality.name, ()), quality.low, quality.high)) for quality in qualities}
    by_name = dimensions([quality.name for quality in qualities], table.name) if split == "own" else repeat("")
    card = DatasetCard(
        name=table.name, title=table.title or table.name, split=table.split or split, level=table.level,
        language=table.language, size=table.size, licence=table.licence, citation=table.citation, sources=(),
        qualities=tuple(Quality(quality.name, quality.low, quality.high, quality.dimension or dimension)
                        for quality, dimension in zip(qualities, by_name, strict=False)))
    return OwnDataset(card, folder / table.file, table.columns, stated)


def is_table(name: str) -> bool:
    """Return True for the name of a table of ratings, by its ending."""
    return name.casefold().removesuffix(".gz").endswith(sheet.ENDINGS)
