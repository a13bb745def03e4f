"""Private ratings of an organiser, joined to the items of real datasets at evaluation.

Either the organisers' JSON (`dialogue_id` and `annotations` of each record), or a table, .csv or .tsv, with the columns
item (or dialogue_id), quality and vote (or score), read as any table (rows.py). Several rows for one item and quality
are several votes.
The bundled sample takes none: its test items bear the same ids as the challenge's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from benchmarks.dataset import Dataset, DatasetCard, Rating
from benchmarks.errors import BadRecord, BenchmarkError, nearest, raise_if_any
from benchmarks.formats import official, rows
from benchmarks.formats.scorefile import listed

COLUMNS = {"item": "item", "dialogue_id": "item", "quality": "quality", "vote": "vote", "score": "vote"}
Bad: TypeAlias = Callable[[str, str], BadRecord]
"""Says where a rating stands, given a field and its problem."""


@dataclass(slots=True)
class Owners:
    """The dataset of each item, and which of its qualities have votes already."""

    cards: dict[str, DatasetCard] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    rated: set[tuple[str, str]] = field(default_factory=set)

    def add(self, dataset: Dataset) -> None:
        """Take note of the items of a real dataset; the sample has no part in this."""
        if dataset.origin != "sample":
            self.shared.update(item.id for item in dataset.items if item.id in self.cards)
            self.cards.update((item.id, dataset.card) for item in dataset.items)
            self.rated.update((rating.item, rating.quality) for rating in dataset.ratings if rating.votes)

    def problem(self, rating: Rating) -> tuple[str, str] | None:
        """Return the field and problem of an invalid rating, else None."""
        if rating.item not in self.cards:
            names = sorted({card.name for card in self.cards.values()})
            return "item", f"{rating.item!r:.60} is no item of the datasets {listed(names)}"
        card = self.cards[rating.item]
        quality = card.quality(rating.quality)
        if rating.item in self.shared:
            return "item", (f"{rating.item!r:.60} is an item of more than one dataset; choose one with --dataset, or "
                            "give it another id in one of them")
        if quality is None:
            known = nearest(rating.quality, (entry.name for entry in card.qualities))
            return "quality", f"{rating.quality!r:.60} is no quality of {card.name}; {known}"
        if (rating.item, rating.quality) in self.rated:
            return "quality", f"{rating.item} of {card.name} has votes on {rating.quality!r} already"
        for vote in rating.votes:
            if wrong := quality.off_scale(vote):
                return "vote", wrong
        return None


def read(path: Path, owners: Owners) -> dict[str, tuple[Rating, ...]]:
    """Read ratings, by dataset; anything in the file that `owners` does not know is an error."""
    ending = path.suffix.casefold()
    if ending not in {".json", ".csv", ".tsv"}:
        raise BenchmarkError(f"{path}: ratings come as .json, .csv or .tsv")
    if not path.is_file():
        raise BenchmarkError(f"{path}: no such file")
    if not owners.cards:
        raise BenchmarkError(f"{path}: no dataset of this run was imported or fetched; the sample takes no ratings")
    votes: dict[tuple[str, str], tuple[float, ...]] = defaultdict(tuple)
    problems = list[BadRecord]()
    for bad, rating in _from_json(path, owners) if ending == ".json" else _from_table(path, problems):
        if wrong := owners.problem(rating):
            problems.append(bad(*wrong))
        else:
            votes[rating.item, rating.quality] += rating.votes
    raise_if_any(problems)
    if not any(votes.values()):
        raise BenchmarkError(f"{path}: holds no votes")
    by_dataset: dict[str, tuple[Rating, ...]] = defaultdict(tuple)
    for (item, quality), numbers in votes.items():
        by_dataset[owners.cards[item].name] += (Rating(item, quality, numbers),)
    return dict(by_dataset)


def join(dataset: Dataset, ratings: Iterable[Rating]) -> tuple[Dataset, tuple[Rating, ...]]:
    """The dataset with the further ratings of its items, each in the place of one that had no votes; and those."""
    own = {item.id for item in dataset.items}
    new = tuple(rating for rating in ratings if rating.item in own)
    fresh = {(rating.item, rating.quality) for rating in new}
    unchanged = tuple(rating for rating in dataset.ratings if (rating.item, rating.quality) not in fresh)
    return replace(dataset, ratings=unchanged + new), new


def _from_json(path: Path, owners: Owners) -> Iterator[tuple[Bad, Rating]]:
    for record in official.records(path):
        card = owners.cards.get(record.id)
        if card is None:
            yield record.bad, Rating(record.id, "", ())
        elif "annotations" not in record.values and card.rated_by not in record.values:
            raise record.bad("annotations", "is missing")
        else:
            if "annotations" in record.values:
                card = replace(card, rated_by="annotations")
            yield from ((record.bad, rating) for rating in official.votes(record, card))


def _from_table(path: Path, problems: list[BadRecord]) -> Iterator[tuple[Bad, Rating]]:
    """Return the vote of each row; rows without a number are reported."""
    for place, row in rows.read(path, {}):
        values = {COLUMNS.get(name.strip().casefold(), name): value for name, value in row.items()}
        if len(values) < len(row):
            raise BadRecord(path.name, None, "", "names a column twice")
        if missing := {"item", "quality", "vote"} - values.keys():
            raise BadRecord(path.name, None, "", f"has no column {', '.join(sorted(missing))}")
        vote = official.number(values["vote"])
        if vote is None or not abs(vote) <= official.LARGEST:
            problems.append(BadRecord(place, None, "vote", f"{values['vote']!r:.60} is not a finite number"))
        else:
            yield partial(BadRecord, place, None), Rating(values["item"], values["quality"], (vote,))
