"""Remarks on a dataset of your own, to check before trusting its correlations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import registry
from benchmarks.corpora.overlap import overlaps_by_corpus
from benchmarks.dataset import Dataset, Item, Utterance, primary_language
from benchmarks.errors import nearest, plural

LAST_LATIN = "\u024f"
"""Last code point of the European Latin alphabets."""
MAX_LOCATIONS = 5
"""Maximum number of locations named in a remark."""


def check(dataset: Dataset, remark_lines: Sequence[str], home: Path) -> Iterator[str]:
    """Describe a dataset and its overlap with the corpora in the home, line by line."""
    yield from describe(dataset, remark_lines)
    corpora = dict(overlaps_by_corpus(dataset, home))
    for name, count in corpora.items():
        if count:
            yield (f"please check: the corpus {name} overlaps the context of {count} of {len(dataset.items)} items "
                   f"({100 * count / len(dataset.items):.0f} %), so trained metrics may have seen them; once the "
                   "dataset is imported, `harness train` leaves out the overlapping dialogues")
    yield (f"compared with {plural(len(corpora), 'training corpus', 'training corpora')} in the home" if corpora else
           "no training corpus is in the home to compare it with (`harness fetch --corpora`)")


def describe(dataset: Dataset, remark_lines: Sequence[str] = ()) -> Iterator[str]:
    """Describe the items, each quality with its scale and votes, and the remarks."""
    card = dataset.card
    yield (f"{card.name}: {plural(len(dataset.items), 'item')} at {card.level} level, language {card.language}; "
           f"licence: {card.licence}")
    boards = {quality.dimension for built_in in registry.built_in().values() for quality in built_in.qualities}
    for quality in card.qualities:
        votes = sum(len(rating.votes) for rating in dataset.ratings if rating.quality == quality.name)
        yield f"{quality.name}: {plural(votes, 'vote')}, {quality.scale}, on the board {quality.dimension!r}"
        if quality.dimension not in boards and quality.dimension != f"{quality.name} of {card.name}":
            nearest_board = nearest(quality.dimension, sorted(boards))
            yield f"please check: no other dataset is on the board {quality.dimension!r}; {nearest_board}"
    yield from (f"please check: {remark}" for remark in remark_lines)


def remarks(dataset: Dataset, locations: Mapping[str, str]) -> Iterator[str]:
    """Yield remarks for a person to check; `locations` has each item's line in the file."""
    items = {item.id: item for item in dataset.items}
    first_ids: dict[tuple[Utterance, ...], str] = {}
    rated_ids = {rating.item for rating in dataset.ratings if rating.votes}
    unrated = [name for name in items if name not in rated_ids]
    empty = [item.id for item in dataset.items if item.response and not item.response.text]
    foreign = [item.id for item in dataset.items if primary_language(item.language) == "en" and _foreign(item)]
    repeated = [item.id for item in dataset.items if item.id != first_ids.setdefault(item.utterances, item.id)]
    latin = "mostly in non-Latin letters, but the language is en; set `language`"
    repeat = "the dialogue and response of another"
    for names, singular, plural_form in (
            (foreign, f"item is {latin}", f"items are {latin}"), (unrated, "item has no vote", "items have no vote"),
            (empty, "response is empty", "responses are empty"),
            (repeated, f"item repeats {repeat}", f"items repeat {repeat}")):
        if names:
            yield f"{plural(len(names), singular, plural_form)}{listed([locations.get(name, name) for name in names])}"
    for quality in dataset.card.qualities:
        ratings = [rating for rating in dataset.ratings if rating.quality == quality.name and rating.votes]
        without_vote = rated_ids - {rating.item for rating in ratings}
        if without_vote_at := [locations.get(name, name) for name in items if name in without_vote]:
            count = plural(len(without_vote_at), "item has no vote", "items have no vote")
            yield f"{quality.name}: {count} on it, but votes on other qualities{listed(without_vote_at)}"
        votes = [rating.votes for rating in ratings]
        constant = len({sum(values) / len(values) for values in votes}) == 1
        if constant or (quality.low is not None and quality.low == quality.high):
            yield f"{quality.name}: every item has the same rating, so nothing can correlate with it"
        if all(len(values) == 1 for values in votes):
            yield f"{quality.name}: one vote per item, so the agreement of raters is unknown"


def _foreign(item: Item) -> bool:
    """Return True if most letters of an item are not Latin."""
    letters = [letter for turn in item.utterances for letter in turn.text if letter.isalpha()]
    return 2 * sum(letter > LAST_LATIN for letter in letters) > len(letters)


def listed(locations: Sequence[str]) -> str:
    return f" ({'; '.join(locations[:MAX_LOCATIONS])}{'; ...' if len(locations) > MAX_LOCATIONS else ''})"
