"""Private ratings of an organiser, joined to the items of real datasets at evaluation.

They are in the organisers' JSON (`dialogue_id` and `annotations`), or in a table with the columns item (or
dialogue_id), quality and vote (or score), one row per vote. They are never joined to the bundled sample, whose test
items have the same ids as the challenge's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard, Rating
from benchmarks.errors import BadRecord, BenchmarkError, nearest, raise_if_any
from benchmarks.formats import official
from benchmarks.formats.scorefile import listed
from benchmarks.tables import sheet

COLUMNS = {"item": "item", "dialogue_id": "item", "quality": "quality", "vote": "vote", "score": "vote"}
Located = tuple[Rating, Callable[[str, str], BadRecord]]
"""A rating, and a function that returns the error for a field and its problem."""


@dataclass(slots=True)
class ItemIndex:
    """The dataset of each item, two datasets of each shared item, and the pairs of item and quality with votes."""

    cards: dict[str, DatasetCard] = field(default_factory=dict)
    shared: dict[str, str] = field(default_factory=dict)
    rated_pairs: set[tuple[str, str]] = field(default_factory=set)

    def add(self, dataset: Dataset) -> None:
        if dataset.origin != "sample":
            self.shared.update((item.id, f"{self.cards[item.id].name} and {dataset.card.name}")
                               for item in dataset.items if item.id in self.cards)
            self.cards.update((item.id, dataset.card) for item in dataset.items)
            self.rated_pairs.update((rating.item, rating.quality) for rating in dataset.ratings if rating.votes)

    def problem(self, rating: Rating) -> tuple[str, str] | None:
        card = self.cards.get(rating.item)
        if card is None:
            names = sorted({card.name for card in self.cards.values()})
            return "item", f"{rating.item!r:.60} is not an item of the datasets {listed(names)}"
        if rating.item in self.shared:
            return "item", (f"an item of both {self.shared[rating.item]}; leave out one of these datasets, or give the "
                            "item another id in one of them")
        quality = card.quality(rating.quality)
        if quality is None:
            suggestion = nearest(rating.quality, (entry.name for entry in card.qualities))
            return "quality", f"{rating.quality!r:.60} is not a quality of {card.name}; {suggestion}"
        if (rating.item, rating.quality) in self.rated_pairs:
            return "quality", (f"this item of {card.name} already has votes on {rating.quality!r}; delete them from "
                               "its data, or from this file")
        problem = next(filter(None, map(quality.scale_problem, rating.votes)), "")
        return ("vote", problem) if problem else None


def read(path: Path, item_index: ItemIndex) -> dict[str, tuple[Rating, ...]]:
    """Read ratings by dataset; raise BenchmarkError for ratings that do not fit the datasets of `item_index`."""
    if not path.name.casefold().removesuffix(".gz").endswith(sheet.ENDINGS):
        raise BenchmarkError(f"{path}: ratings must be the organisers' .json or a table ({', '.join(sheet.ENDINGS)})")
    if not path.is_file():
        raise BenchmarkError(f"{path}: no such file")
    if not item_index.cards:
        raise BenchmarkError(f"{path}: no dataset of this run was imported or fetched; the sample accepts no ratings")
    votes: dict[tuple[str, str], tuple[float, ...]] = defaultdict(tuple)
    problems: list[BadRecord] = []
    is_json = path.suffix.casefold() == ".json"
    for rating, error in _from_json(path, item_index) if is_json else _from_table(path, problems):
        if problem := item_index.problem(rating):
            problems.append(error(*problem))
        else:
            votes[rating.item, rating.quality] += rating.votes
    raise_if_any(problems)
    if not any(votes.values()):
        raise BenchmarkError(f"{path}: contains no votes")
    by_dataset: dict[str, tuple[Rating, ...]] = defaultdict(tuple)
    for (item, quality), item_votes in votes.items():
        by_dataset[item_index.cards[item].name] += (Rating(item, quality, item_votes),)
    return dict(by_dataset)


def join(dataset: Dataset, ratings: Iterable[Rating]) -> tuple[Dataset, tuple[Rating, ...]]:
    """Add ratings to a dataset, replacing ratings without votes; return the dataset and the added ratings."""
    ids = {item.id for item in dataset.items}
    added = tuple(rating for rating in ratings if rating.item in ids)
    replaced = {(rating.item, rating.quality) for rating in added}
    unchanged = tuple(rating for rating in dataset.ratings if (rating.item, rating.quality) not in replaced)
    return replace(dataset, ratings=unchanged + added), added


def _from_json(path: Path, item_index: ItemIndex) -> Iterator[Located]:
    for record in official.records(path):
        card = item_index.cards.get(record.id)
        if card is None:
            yield Rating(record.id, "", ()), record.bad
        elif "annotations" in record.values or card.rated_by in record.values:
            rated_by = "annotations" if "annotations" in record.values else card.rated_by
            for rating in official.record_ratings(record, replace(card, rated_by=rated_by)):
                yield rating, record.bad
        else:
            raise record.bad("annotations", "is missing")


def _from_table(path: Path, problems: list[BadRecord]) -> Iterator[Located]:
    table = sheet.read(path)
    columns = [COLUMNS.get(name.strip().casefold(), name) for name in table.columns]
    if missing := {"item", "quality", "vote"} - set(columns):
        raise BadRecord(path.name, None, "", f"has no column {', '.join(sorted(missing))}")
    if len(set(columns)) < len(columns):
        raise BadRecord(path.name, None, "", "has a duplicate column")
    for number, row in table.rows():
        values, where = dict(zip(columns, row, strict=True)), table.where(number)
        vote = official.parsed_number(values["vote"])
        if vote is None or not abs(vote) <= official.MAX_VOTE:
            problems.append(BadRecord(where, None, "vote", f"{values['vote'] or ''!r:.60} is not a finite number"))
        else:
            yield Rating(str(values["item"]), str(values["quality"]), (vote,)), partial(BadRecord, where, None)
