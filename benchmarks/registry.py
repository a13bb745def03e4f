"""The registry of datasets: the cards of the collection, and the cards of the user's datasets in the home.

`load` returns the imported or fetched dataset, else the bundled sample of the same name.
"""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import as_file, files
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard, Split
from benchmarks.errors import UnknownDataset, nearest
from benchmarks.formats import official, records
from benchmarks.storage import store

CARD_DEFAULTS = {"split": "dev", "level": "turn", "licence": "not stated"}

_user_cards: dict[str, DatasetCard] = {}
_scores: dict[str, Path] = {}


def register_home(home: Path) -> None:
    _scores.clear()
    _scores.update((path.stem, path) for path in sorted((home / "scores").glob("*.csv")))
    _user_cards.clear()
    _user_cards.update((card.name, card) for card in store.user_cards(home) if card.name not in built_in())


def cards() -> dict[str, DatasetCard]:
    """Return the cards of the collection, in the order of the challenge, then the user's."""
    return {**built_in(), **_user_cards}


@functools.cache
def built_in() -> dict[str, DatasetCard]:
    tables = tomllib.loads((files("benchmarks") / "sources" / "cards.toml").read_text(encoding="utf-8"))
    return {name: records.value_of(DatasetCard, {**CARD_DEFAULTS, "name": name, **table}, name)
            for name, table in tables.items()}


def names(split: Split | None = None) -> tuple[str, ...]:
    return tuple(name for name, card in cards().items() if split in (None, card.split))


def card(name: str) -> DatasetCard:
    if name not in (all_cards := cards()):
        raise UnknownDataset(f"no dataset {name!r}; {nearest(name, all_cards)}")
    return all_cards[name]


def published_scores(dataset: str = "") -> dict[str, Path]:
    """Return the published score files in the home by name (`mtrag.rl_f`), by default for all datasets."""
    return {name: path for name, path in _scores.items() if not dataset or name.startswith(f"{dataset}.")}


def load(name: str, home: Path) -> Dataset:
    return store.read(home, card(name)) or sample(card(name))


def sample(dataset_card: DatasetCard) -> Dataset:
    data = files("benchmarks") / "sample" / "data"
    for name in file_names(dataset_card.name):
        if (data / name).is_file():
            with as_file(data / name) as path:
                return official.parse(path, dataset_card, origin="sample")
    raise UnknownDataset(f"{dataset_card.name} is not in the home, and the bundled sample has no such dataset")


def file_names(name: str) -> tuple[str, str]:
    """Return the organisers' file names for a dataset; the cleaned file, which the challenge scored, comes first."""
    return f"{name}_clean_eval.json", f"{name}_eval.json"
