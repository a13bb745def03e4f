"""Datasets of your own: a card in TOML and, next to it, a file of items and ratings.

    name = "tea-talk"              small letters, digits and hyphens
    file = "tea.csv"               the organisers' JSON, or a table (.csv, .tsv, .jsonl)
    level = "turn"                 or "dialogue"
    language = "en"
    size = 300                     number of items; a file with a different number is rejected
    title = "Tea talk"
    licence = "CC BY 4.0"
    citation = "Who made it, and where it is described"
    columns = {context = "history"}    the file's names of columns
    qualities = ["overall"]        or a [[quality]] table each, with name, low, high, columns (one for each rater) and
                                   dimension (to share a board with other datasets)

A scale that the card leaves open is inferred from the votes; `harness check` prints the inferred lines for the card. A
quality without a dimension has a board of its own. Such datasets form the split `own`, whose boards are separate from
those of the challenge and never enter their averages.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Level, Quality, Split
from benchmarks.errors import BadRecord, raise_if_any
from benchmarks.formats import official, records, rows
from benchmarks.formats import table as rated_table
from benchmarks.formats.official import Record
from benchmarks.storage import store
from benchmarks.tables import ratings, sheet
from benchmarks.tables.votes import parse_scale
from harness import terms
from harness.errors import BadConfig
from metrics.metric import is_name


@dataclass(frozen=True, slots=True)
class QualityTable:
    """A [[quality]] of a card; `columns` holds one column name for each rater."""

    name: terms.NonEmpty
    low: terms.Number | None = None
    high: terms.Number | None = None
    dimension: terms.Line = ""
    columns: tuple[terms.Line, ...] = ()


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
    columns: Mapping[str, terms.Line] = field(default_factory=dict)
    qualities: tuple[QualityTable, ...] = ()
    quality: tuple[QualityTable, ...] = ()
    licence: terms.Line = "not stated"
    citation: terms.Line = ""


@dataclass(frozen=True, slots=True)
class OwnDataset:
    """A card, the file of its items and ratings, and the columns of that file."""

    card: DatasetCard
    file: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def read(self) -> Dataset:
        """Return the dataset in the file, without inferring scales that the card leaves open."""
        return self._dataset(self._content()[0])

    def scaled(self) -> tuple[Dataset, tuple[str, ...]]:
        """Return the dataset with size and open scales inferred from the file, and remarks for the user to check."""
        from harness.contract import dataset as contract  # imports the scoring code, which reports do not need

        items, table = self._content()
        dataset = self._dataset(items)
        places = {record.id: record.file if table else record.id for record in items}
        empty = [places[record.id] for record in items if official.has_empty_turn(record)]
        remarks = (*([f"an empty turn between others is left out{rated_table.which(empty)}"] if empty else ()),
                   *(rated_table.remarks(table, self.votes) if table else ()))
        qualities = tuple(self._scale(quality, dataset, table) for quality in self.card.qualities)
        dataset = replace(dataset, card=replace(dataset.card, qualities=qualities))
        return dataset, (*remarks, *contract.remarks(dataset, places))

    def _content(self) -> tuple[list[Record], list[rows.Row] | None]:
        """Return the records of the file and the table rows behind them; None as rows for the organisers' JSON."""
        if not self.file.is_file():
            raise BadConfig(f"{self.file}: no such file; it should hold the items and ratings of {self.card.name!r}")
        ending = self.file.suffix.casefold()
        if ending not in (*rows.ENDINGS, ".json"):
            raise BadConfig(f"{self.file}: should end in {', '.join(rows.ENDINGS)} or .json; save a spreadsheet as "
                            ".csv")
        objects = official.load_json(self.file) if ending == ".json" else None
        table = (rows.read(self.file, self.columns) if objects is None else
                 rows.of_objects(objects, self.file.name, self.columns))
        if table is None:
            items = list(official.records_of(objects, self.file.name))
            official.check_level(items, self.card.level)
            return items, None
        return rated_table.records(table, self.card.level, self.votes, self.card.qualities), table

    def _dataset(self, items: list[Record]) -> Dataset:
        if self.card.size and len(items) != self.card.size:
            raise BadConfig(f"{self.file.name}: has {len(items)} items, but size = {self.card.size} in the card")
        dataset = official.dataset(items, self.card, "imported", self.file.name)
        scales = {quality.name: quality for quality in self.card.qualities}
        raise_if_any([  # for the organisers' JSON; the votes of a table were checked when its rows were read
            BadRecord(self.file.name, rating.item, f"annotations.{rating.quality}", problem)
            for rating in dataset.ratings for vote in rating.votes
            if (problem := scales[rating.quality].off_scale(vote))])
        return replace(dataset, card=replace(self.card, size=len(dataset.items)))

    def _scale(self, quality: Quality, dataset: Dataset, table: list[rows.Row] | None) -> Quality:
        """Infer the open ends of a scale from the votes; BadConfig for a quality without votes."""
        votes = [vote for rating in dataset.ratings if rating.quality == quality.name for vote in rating.votes]
        if not votes:
            raise BadConfig(f"{self.file.name}: holds no vote on {quality.name!r}; it has "
                            f"{', '.join(rated_table.names(table or ())) or 'no ratings'}")
        return replace(quality, low=min(votes) if quality.low is None else quality.low,
                       high=max(votes) if quality.high is None else quality.high)

    def inferred(self, dataset: Dataset) -> tuple[str, ...]:
        """Return card lines with the size and scales of the file; none if the card states them all."""
        if self.card.size and all(None not in (quality.low, quality.high) for quality in self.card.qualities):
            return ()
        tables = []
        for quality in dataset.card.qualities:
            values: dict[str, Any] = {"name": quality.name}
            if quality.low is not None and quality.high is not None and quality.low < quality.high:
                values |= {name: int(end) if end == int(end) else end
                           for name, end in (("low", quality.low), ("high", quality.high))}
            if quality.dimension != private_dimension(quality.name, self.card.name):
                values["dimension"] = quality.dimension
            if self.votes[quality.name] != (quality.name,):
                values["columns"] = self.votes[quality.name]
            settings = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
            tables.append(f"{{{', '.join(settings)}}}")
        return f"size = {dataset.card.size}", f"qualities = [{', '.join(tables)}]"


def is_path(name: str) -> bool:
    """Return True if a dataset is named by a path."""
    return name.endswith(".toml") or bool({"/", "\\"} & set(name))


def card_of(name: str) -> Path | None:
    """Return the path of a card: `name` itself, or the only card in the folder `name`; else None."""
    path = Path(name).expanduser()
    if name.endswith(".toml"):
        return path
    cards = list(_cards(path)) if is_path(name) and not (path / "pyproject.toml").exists() else []
    return cards[0][0] if len(cards) == 1 else None


def _cards(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the cards in a folder, and the names of their datasets."""
    for path in sorted(folder.glob("*.toml")):
        with contextlib.suppress(OSError, ValueError):
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            if "name" in table and {"qualities", "quality"} & table.keys():
                yield path, table["name"]


def name_of(name: str) -> str:
    """Return the name of a dataset, given its name or the path of its card."""
    if card := card_of(name):
        return read_card(card).card.name
    if table := table_of(name):
        return ratings.slug(table.name)
    if is_path(name) or name.casefold().endswith(sheet.ENDINGS):
        if not Path(name).expanduser().exists():
            raise BadConfig(f"{name}: no such file or folder")
        raise BadConfig(f"{name}: is neither a table of ratings ({', '.join(sheet.ENDINGS)}), nor a card "
                        "(CARD.toml), nor a folder with one")
    return name


def table_of(name: str) -> Path | None:
    """Return the path of a table of ratings; None for other names."""
    path = Path(name).expanduser()
    return path if name.casefold().removesuffix(".gz").endswith(sheet.ENDINGS) and path.is_file() else None


def read_card(path: Path) -> OwnDataset:
    dataset = of_table(terms.table(path, str(path)), path.parent, str(path), "own")
    name = dataset.card.name
    if not is_name(name):
        raise BadConfig(f"{path}: name should be small letters, digits and hyphens, not {name!r:.60}")
    if name in registry.built_in():
        raise BadConfig(f"{path}: the project has a dataset {name!r}; choose another name")
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
        raise BadConfig(f'{where}: needs its qualities, such as qualities = [{{name = "overall", low = 1, high = 5}}]')
    if twice := [name for name, times in Counter(quality.name for quality in qualities).items() if times > 1]:
        raise BadConfig(f"{where}: the quality {twice[0]!r} is named twice")
    for quality in qualities:
        if quality.low is not None and quality.high is not None and quality.low >= quality.high:
            raise BadConfig(f"{where}: the quality {quality.name!r} has low = {quality.low:g}, which is not below "
                            f"high = {quality.high:g}")
    if unknown := sorted(table.columns.keys() - set(rated_table.COLUMNS)):
        raise BadConfig(f"{where}: unknown column {unknown[0]!r} in columns; known: {', '.join(rated_table.COLUMNS)}")
    card = DatasetCard(
        name=table.name, title=table.title or table.name, split=table.split or split, level=table.level,
        language=table.language, size=table.size, licence=table.licence, citation=table.citation, sources=(),
        qualities=tuple(Quality(quality.name, quality.low, quality.high, quality.dimension or (
            private_dimension(quality.name, table.name) if split == "own" else "")) for quality in qualities))
    votes = {quality.name: quality.columns or (quality.name,) for quality in qualities}
    return OwnDataset(card, folder / table.file, table.columns, votes)


def private_dimension(quality: str, dataset: str) -> str:
    """Return the dimension of a quality that has a board of its own."""
    return f"{quality} of {dataset}"


def find(name: str, folder: Path) -> Path | None:
    """Return the path of a dataset's card in a folder or in its subfolder NAME."""
    return next((path for path, dataset in _cards(folder) if dataset == name), card_of(str(folder.absolute() / name)))


def import_card(path: Path, home: Path) -> tuple[Dataset, tuple[str, ...]]:
    """Import a card and its file into the home, and register the dataset."""
    dataset, remarks = read_card(path).scaled()
    if store.save_own(dataset, home):
        sys.stderr.write(f"{dataset.card.name}: replaced in the home by the current content of {path}\n")
    registry.know(home)
    return dataset, remarks


@dataclass(frozen=True, slots=True)
class Reading:
    """Instructions for tables without a card: columns by role (`response=answer`), scales of labels, lowest first."""

    columns: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()

    def table(self, source: sheet.Sheet) -> ratings.Table:
        stated: dict[str, str] = {}
        for pair in self.columns:
            role, equals, column = pair.partition("=")
            if not equals:
                raise BadConfig(f"--columns {pair}: should be ROLE=COLUMN, such as response=answer")
            stated[role] = f"{stated[role]}+{column}" if role in stated else column
        try:
            scales = tuple(map(parse_scale, self.scales))
        except ValueError as error:
            raise BadConfig(f"--scale: {error}") from error
        return ratings.of_sheet(source, stated, scales)


def import_table(source: sheet.Sheet, home: Path, reading: Reading) -> Dataset:
    """Read a table without a card, say how it was read, and keep it in the home."""
    table = reading.table(source)
    if table.dataset.card.name in registry.built_in():
        raise BadConfig(f"{source.file}: the project has a dataset {table.dataset.card.name!r}; choose another name")
    sys.stderr.write("\n".join(table.report) + "\n")
    store.save_own(table.dataset, home)
    registry.know(home)
    return table.dataset


def import_paths(names: Iterable[str], home: Path, reading: Reading | None = None) -> tuple[str, ...]:
    """Return the names of datasets; those given as the path of a card or table are kept in the home first."""
    paths = {name_of(name): (card_of(name), table_of(name)) for name in names}
    for card, table in paths.values():
        if card:
            import_card(card, home)
        elif table:
            import_table(sheet.read(table), home, reading or Reading())
    return tuple(paths)
