"""The registry: every dataset by name, from the cards in benchmarks/sources and those of one's own in the home.

`load` takes what was imported or fetched into the home, else the bundled sample of the same name and shape.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from importlib.resources import as_file, files
from pathlib import Path

from benchmarks import sources
from benchmarks.dataset import Dataset, DatasetCard, Split
from benchmarks.errors import UnknownDataset, nearest
from benchmarks.formats import official
from benchmarks.storage import store

CHALLENGE_ORDER = (
    "dstc6", "dstc7", "persona-see", "persona-usr", "topical-usr", "fed-turn", "fed-dial", "dailydialog-gupta",
    "dailydialog-zhao", "persona-zhao", "dailydialog-grade", "empathetic-grade", "convai2-grade", "humod",
    "jsalt", "esl", "ncm", "dstc10-topical", "dstc10-persona",
)
"""The order of the challenge's own tables. No list to extend: every other dataset follows by name."""

_own: dict[str, DatasetCard] = {}


def know(home: Path) -> None:
    """Register the user's datasets in this home."""
    _own.clear()
    _own.update((card.name, card) for card in store.own_cards(home) if card.name not in built_in())


def cards() -> dict[str, DatasetCard]:
    """Return every card by name, in the order of the challenge, then the user's."""
    return {**built_in(), **_own}


@functools.cache
def built_in() -> dict[str, DatasetCard]:
    """Return the built-in cards."""
    by_name: dict[str, DatasetCard] = {}
    for module in pkgutil.iter_modules(sources.__path__):
        for card in getattr(importlib.import_module(f"{sources.__name__}.{module.name}"), "CARDS", ()):
            by_name[card.name] = card
    rank = {name: place for place, name in enumerate(CHALLENGE_ORDER)}
    return dict(sorted(by_name.items(), key=lambda entry: (rank.get(entry[0], len(rank)), entry[0])))


def names(split: Split | None = None) -> tuple[str, ...]:
    """Return the names of all datasets, or of one split."""
    return tuple(name for name, card in cards().items() if split in (None, card.split))


def card(name: str) -> DatasetCard:
    """Return the card of a dataset; UnknownDataset names the nearest."""
    try:
        return cards()[name]
    except KeyError:
        raise UnknownDataset(f"no dataset {name!r}; {nearest(name, cards())}") from None


def load(name: str, home: Path) -> Dataset:
    """Load a dataset from the home, else from the bundled sample."""
    chosen = card(name)
    return store.read(home, chosen) or sample(chosen)


def sample(chosen: DatasetCard) -> Dataset:
    """Return the bundled sample of a dataset, with simulated raters."""
    data = files("benchmarks") / "sample" / "data"
    for stem in stems(chosen.name):
        if (data / f"{stem}.json").is_file():
            with as_file(data / f"{stem}.json") as path:
                return official.parse(path, chosen, origin="sample")
    raise UnknownDataset(f"{chosen.name} is not in the home, and the bundled sample has no such dataset")


def stems(name: str) -> tuple[str, str]:
    """Return the organisers' file names for a dataset, best first: the cleaned one was scored."""
    return f"{name}_clean_eval", f"{name}_eval"
