"""Datasets of one's own: a card in TOML, and beside it a file of items and ratings.

    name = "tea-talk"              small letters, digits and hyphens
    file = "tea.csv"               the organisers' JSON, or a table (.csv, .tsv, .jsonl)
    level = "turn"                 or "dialogue"
    title = "Tea talk"
    licence = "CC BY 4.0"
    citation = "Who made it, and where it is described"
    qualities = ["overall"]        or a [[quality]] each: name, low, high, and dimension to share a board with others

A scale that is not given is what the votes span. A quality without a dimension stands alone. Such a dataset is of the
split `own`: its boards are beside those of the challenge, never in their averages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Quality
from benchmarks.errors import nearest
from benchmarks.formats import official, table
from benchmarks.storage import store
from harness.challenge import terms
from harness.errors import BadConfig
from metrics.metric import is_name

CARD: dict[str, terms.Kind] = {
    "name": terms.text, "title": terms.text, "file": terms.text, "split": terms.one_of("dev", "test"),
    "level": terms.one_of("turn", "dialogue"), "qualities": terms.texts_or_tables, "quality": terms.tables,
    "licence": terms.text, "citation": terms.text}
QUALITY: dict[str, terms.Kind] = {"name": terms.text, "low": terms.number, "high": terms.number,
                                  "dimension": terms.text}


@dataclass(frozen=True, slots=True)
class OwnDataset:
    """A card and the file that holds its items and ratings."""

    card: DatasetCard
    path: Path


def is_card(name: str) -> bool:
    """Whether a dataset is named by the path of its card."""
    return name.endswith(".toml")


def read_card(path: Path, file: Path | None = None) -> OwnDataset:
    """The card in a file; `file` is where its data are if it does not say so."""
    values = terms.read(path, CARD, str(path))
    if file is not None:
        values["file"] = str(file.absolute())
    own = of_table(values, path.parent, str(path), "own")
    if not is_name(own.card.name):
        raise BadConfig(f"{path}: name should be small letters, digits and hyphens, not {own.card.name!r:.60}")
    if own.card.name in registry.built_in():
        raise BadConfig(f"{path}: the project has a dataset {own.card.name!r}; choose another name")
    return own


def of_table(values: dict[str, Any], folder: Path, where: str, split: str) -> OwnDataset:
    """The dataset that a table of settings describes."""
    listed = [*values.get("qualities", ()), *values.get("quality", ())]
    qualities = [terms.checked({"name": each} if isinstance(each, str) else each, QUALITY, f"{where}, a quality")
                 for each in listed]
    if not (values.get("file") and values.get("name")):
        raise BadConfig(f"{where}: needs a name and a file")
    if not qualities or not all(quality.get("name") for quality in qualities):
        raise BadConfig(f'{where}: needs its qualities, such as qualities = [{{name = "overall", low = 1, high = 5}}]')
    if twice := [name for name, times in Counter(quality["name"] for quality in qualities).items() if times > 1]:
        raise BadConfig(f"{where}: the quality {twice[0]!r} is named twice")
    plain = {"title": values["name"], "split": split, "level": "turn", "licence": "not stated", "citation": ""}
    known = {name: value for name, value in values.items() if name not in ("file", "qualities", "quality")}
    if split == "own":  # a quality shares a board only if the card says so
        qualities = [{"dimension": f"{quality['name']} of {values['name']}"} | quality for quality in qualities]
    card = DatasetCard(**{**plain, **known}, size=0, sources=(), qualities=tuple(Quality(**one) for one in qualities))
    return OwnDataset(card, folder / values["file"])


def read_file(own: OwnDataset) -> Dataset:
    """The dataset of a card, its size taken from the file."""
    if not own.path.is_file():
        raise BadConfig(f"{own.path}: no such file; it should hold the items and ratings of {own.card.name!r}")
    if own.path.suffix in table.ENDINGS:
        found = table.records(own.path, own.card.level, [quality.name for quality in own.card.qualities])
        dataset = official.dataset(found, own.card, "imported", own.path.name)
    else:
        dataset = official.parse(own.path, own.card)
    return replace(dataset, card=replace(own.card, size=len(dataset.items)))


def load(own: OwnDataset) -> Dataset:
    """The dataset of a card, the scales that the card leaves open taken from the votes."""
    dataset = read_file(own)
    votes = {quality.name: [vote for rating in dataset.ratings if rating.quality == quality.name
                            for vote in rating.votes] for quality in own.card.qualities}
    if empty := next((name for name, given in votes.items() if not given), None):
        raise BadConfig(f"{own.path}: holds no vote on {empty!r}; it has {', '.join(_names(own)) or 'no ratings'}")
    qualities = tuple(replace(quality, low=min(votes[quality.name]) if quality.low is None else quality.low,
                              high=max(votes[quality.name]) if quality.high is None else quality.high)
                      for quality in own.card.qualities)
    return replace(dataset, card=replace(dataset.card, qualities=qualities))


def check(path: Path) -> Iterator[str]:
    """What a card and its file hold, a line each."""
    own = read_card(path)
    dataset = load(own)
    names = [quality.name for quality in own.card.qualities]
    yield from about(dataset, tuple(table.remarks(own.path, names)) if own.path.suffix in table.ENDINGS else ())


def keep(path: Path, home: Path, file: Path | None = None) -> Dataset:
    """Read a card with its file, and keep both in the home; the registry then has the dataset."""
    dataset = load(read_card(path, file))
    store.save_own(dataset, home)
    registry.know(home)
    return dataset


def named(names: tuple[str, ...], home: Path) -> tuple[str, ...]:
    """The names of datasets; one that is named by the path of its card is kept in the home first."""
    if card := next((name for name in names if name.endswith(table.ENDINGS)), None):
        raise BadConfig(f"{card}: ratings come with a card: `harness new dataset NAME` writes one")
    return tuple(sorted({keep(Path(name), home).card.name if is_card(name) else name for name in names}))


def about(dataset: Dataset, more: Sequence[str] = ()) -> Iterator[str]:
    """What was read, a line each: the items, each quality with its scale and votes, and what to look at."""
    card = dataset.card
    yield f"{card.name}: {len(dataset.items)} items of the level {card.level}; licence: {card.licence}"
    boards = {known.dimension for one in registry.built_in().values() for known in one.qualities}
    for quality in card.qualities:
        votes = sum(len(rating.votes) for rating in dataset.ratings if rating.quality == quality.name)
        yield f"{quality.name}: {votes} votes, {quality.low:g} to {quality.high:g}, on the board {quality.dimension!r}"
        if quality.dimension not in boards and quality.dimension != f"{quality.name} of {card.name}":
            known = nearest(quality.dimension, sorted(boards))
            yield f"look at this: no other dataset has the board {quality.dimension!r}; {known}"
    yield from (f"look at this: {remark}" for remark in (*more, *remarks(dataset)))


def remarks(dataset: Dataset) -> Iterator[str]:
    """What a person should look at before believing a correlation on the dataset."""
    items, said = {item.id: item for item in dataset.items}, Counter(item.utterances for item in dataset.items)
    rated = {rating.item for rating in dataset.ratings if rating.votes}
    for count, text in (
            (len(items) - len(rated), "items have no vote"),
            (sum(not item.response.text for item in dataset.items if item.response), "responses are empty"),
            (sum(times - 1 for times in said.values()), "items repeat the dialogue and response of another one")):
        if count:
            yield f"{count} {text}"
    for quality in dataset.card.qualities:
        votes = [rating.votes for rating in dataset.ratings if rating.quality == quality.name and rating.votes]
        if outside := sum(not quality.takes(vote) for own in votes for vote in own):
            yield f"{quality.name}: {outside} votes outside the scale {quality.low:g} to {quality.high:g}"
        if quality.low == quality.high or len({sum(own) / len(own) for own in votes}) == 1:
            yield f"{quality.name}: every item has the same rating, so nothing can correlate with it"
        if all(len(own) == 1 for own in votes):
            yield f"{quality.name}: one vote per item, so how far raters agree is not known"


def _names(own: OwnDataset) -> tuple[str, ...]:
    return table.columns(own.path) if own.path.suffix in table.ENDINGS else ()
