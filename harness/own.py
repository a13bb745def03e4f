"""Datasets of one's own: a card in TOML, and beside it a file of items and ratings.

    name = "tea-talk"              small letters, digits and hyphens
    file = "tea.csv"               the organisers' JSON, or a table (.csv, .tsv, .jsonl)
    level = "turn"                 or "dialogue"
    language = "en"
    size = 300                     how many items the file holds, so that one which lacks some is refused
    title = "Tea talk"
    licence = "CC BY 4.0"
    citation = "Who made it, and where it is described"
    columns = {context = "history"}    where the file's columns have other names
    qualities = ["overall"]        or a [[quality]] each: name, low, high, columns where each rater has one, and
                                   dimension to share a board with others

A scale that is not given is what the votes span; `harness check` prints what it inferred as lines for the card. A
quality without a dimension stands alone. Such a dataset is of the split `own`: its boards are beside those of the
challenge, never in their averages.
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
from harness import terms
from harness.errors import BadConfig
from metrics.metric import is_name


@dataclass(frozen=True, slots=True)
class QualityTable:
    """A [[quality]] of a card; `columns` are those of its raters."""

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
    """A card, where its items and ratings are, and which columns of the file hold what."""

    card: DatasetCard
    file: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def read(self) -> tuple[Dataset, tuple[str, ...], dict[str, str]]:
        """The dataset, its size taken from the file, what a person should look at there, and where each item stands."""
        records, listed = self._content()
        if self.card.size and len(records) != self.card.size:
            raise BadConfig(f"{self.file.name}: size is {len(records)}, and {self.card.size} in the card")
        dataset = official.dataset(records, self.card, "imported", self.file.name)
        scales = {quality.name: quality for quality in self.card.qualities}
        raise_if_any([  # of the organisers' records; a table has named the line
            BadRecord(self.file.name, rating.item, f"annotations.{rating.quality}", problem)
            for rating in dataset.ratings for vote in rating.votes
            if (problem := scales[rating.quality].off_scale(vote))])
        places = {record.id: record.file if listed else record.id for record in records}
        empty = [places[record.id] for record in records if official.has_empty_turn(record)]
        return replace(dataset, card=replace(self.card, size=len(dataset.items))), (
            *([f"a turn among others is empty, and left out{rated_table.which(empty)}"] if empty else ()),
            *(rated_table.remarks(listed, self.votes) if listed else ())), places

    def _content(self) -> tuple[list[Record], list[rows.Row] | None]:
        """The records of the file, and the rows that they are made of; none where it holds the organisers' records."""
        if not self.file.is_file():
            raise BadConfig(f"{self.file}: no such file; it should hold the items and ratings of {self.card.name!r}")
        if self.file.suffix.casefold() not in (*rows.ENDINGS, ".json"):
            raise BadConfig(f"{self.file}: should end on {', '.join(rows.ENDINGS)} or .json; save a spreadsheet as "
                            ".csv")
        if self.file.suffix.casefold() != ".json":
            listed = rows.read(self.file, self.columns)
        else:
            objects = official.load_json(self.file)
            if (from_json := rows.of_objects(objects, self.file.name, self.columns)) is None:
                records = list(official.records_of(objects, self.file.name))
                official.check_level(records, self.card.level)
                return records, None
            listed = from_json
        return rated_table.records(listed, self.card.level, self.votes, self.card.qualities), listed

    def inferred(self, dataset: Dataset) -> tuple[str, ...]:
        """The lines that would fix in the card what was taken from the file; none where it says all."""
        if self.card.size and all(None not in (own.low, own.high) for own in self.card.qualities):
            return ()
        rows = []
        for quality in dataset.card.qualities:
            own: dict[str, Any] = {"name": quality.name}
            if quality.low is not None and quality.high is not None and quality.low < quality.high:
                own |= {"low": _plain(quality.low), "high": _plain(quality.high)}
            if quality.dimension != alone(quality.name, self.card.name):
                own["dimension"] = quality.dimension
            if self.votes[quality.name] != (quality.name,):
                own["columns"] = self.votes[quality.name]
            said = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in own.items())
            rows.append(f"{{{', '.join(said)}}}")
        return f"size = {dataset.card.size}", f"qualities = [{', '.join(rows)}]"

    def scaled(self) -> tuple[Dataset, tuple[str, ...]]:
        """The dataset, open scales of its card taken from the votes, and what a person should look at in its file."""
        from harness.contract import dataset as contract  # it imports what scores, and a report needs names alone

        dataset, remarks, places = self.read()
        votes = {quality.name: [vote for rating in dataset.ratings if rating.quality == quality.name
                                for vote in rating.votes] for quality in self.card.qualities}
        if empty := next((name for name, given in votes.items() if not given), None):
            here = rated_table.names(self._content()[1] or ())
            raise BadConfig(f"{self.file.name}: holds no vote on {empty!r}; it has "
                            f"{', '.join(here) or 'no ratings'}")
        qualities = tuple(replace(quality, low=min(votes[quality.name]) if quality.low is None else quality.low,
                                  high=max(votes[quality.name]) if quality.high is None else quality.high)
                          for quality in self.card.qualities)
        dataset = replace(dataset, card=replace(dataset.card, qualities=qualities))
        return dataset, (*remarks, *contract.remarks(dataset, places))


def is_path(name: str) -> bool:
    """Whether a dataset is named by a path."""
    return name.endswith(".toml") or bool({"/", "\\"} & set(name))


def card_of(name: str) -> Path | None:
    """The card that a path names, itself or the only one in a folder; None where it is no such path."""
    path = Path(name).expanduser()
    if name.endswith(".toml"):
        return path
    cards = list(_cards(path)) if is_path(name) and not (path / "pyproject.toml").exists() else []
    return cards[0][0] if len(cards) == 1 else None


def _cards(folder: Path) -> Iterator[tuple[Path, str]]:
    """The cards in a folder, and the names of their datasets."""
    for path in sorted(folder.glob("*.toml")):
        with contextlib.suppress(OSError, ValueError):
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            if "name" in table and {"qualities", "quality"} & table.keys():
                yield path, table["name"]


def name_of(name: str) -> str:
    """The name of a dataset that is named by its name or by a path."""
    if card := card_of(name):
        return read_card(card).card.name
    if is_path(name) or name.endswith(rows.ENDINGS):
        raise BadConfig(f"{name}: is neither a card (CARD.toml) nor a folder with one; ratings come with a "
                        "card: `harness new dataset NAME` writes one")
    return name


def read_card(path: Path) -> OwnDataset:
    """Read the card in a file."""
    own = of_table(terms.table(path, str(path)), path.parent, str(path), "own")
    if not is_name(own.card.name):
        raise BadConfig(f"{path}: name should be small letters, digits and hyphens, not {own.card.name!r:.60}")
    if own.card.name in registry.built_in():
        raise BadConfig(f"{path}: the project has a dataset {own.card.name!r}; choose another name")
    return own


def of_table(values: Mapping[str, Any], folder: Path, where: str, split: Split) -> OwnDataset:
    """Read the dataset that a table of settings describes."""
    if isinstance(values.get("qualities"), list):
        named = [{"name": each} if isinstance(each, str) else each for each in values["qualities"]]
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
        raise BadConfig(f"{where}: columns names {unknown[0]!r}, which is none of {', '.join(rated_table.COLUMNS)}")
    unshared = split == "own"  # a quality shares a board only if the card says so
    card = DatasetCard(
        name=table.name, title=table.title or table.name, split=table.split or split, level=table.level,
        language=table.language, size=table.size, licence=table.licence, citation=table.citation, sources=(),
        qualities=tuple(Quality(quality.name, quality.low, quality.high, quality.dimension or (
            alone(quality.name, table.name) if unshared else "")) for quality in qualities))
    votes = {quality.name: quality.columns or (quality.name,) for quality in qualities}
    return OwnDataset(card, folder / table.file, table.columns, votes)


def alone(quality: str, dataset: str) -> str:
    """The dimension of a quality that shares no board."""
    return f"{quality} of {dataset}"


def find(name: str, folder: Path) -> Path | None:
    """The card of a dataset by its name in a folder, or in the folder NAME there."""
    return next((path for path, own in _cards(folder) if own == name), card_of(str(folder.absolute() / name)))


def _plain(number: float) -> float:
    """A whole number without its decimal point."""
    return int(number) if number == int(number) else number


def keep(path: Path, home: Path) -> tuple[Dataset, tuple[str, ...]]:
    """Read a card with its file, and keep both in the home; the registry then has the dataset."""
    dataset, remarks = read_card(path).scaled()
    if store.save_own(dataset, home):
        sys.stderr.write(f"{dataset.card.name} in the home is replaced by what {path} holds now\n")
    registry.know(home)
    return dataset, remarks


def named(names: Iterable[str], home: Path) -> tuple[str, ...]:
    """The names of datasets; one that is named by a path is kept in the home first."""
    cards = {name_of(name): card_of(name) for name in names}
    for card in filter(None, cards.values()):
        keep(card, home)
    return tuple(cards)
