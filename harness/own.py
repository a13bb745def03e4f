"""Datasets of your own by name or path: tables of ratings and cards, stored in the home when they are first used."""

from __future__ import annotations

import contextlib
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import registry
from benchmarks.dataset import Dataset
from benchmarks.storage import store
from benchmarks.tables import ratings, sheet
from benchmarks.tables.cells import parse_scale
from harness.cards import is_table, read_card
from harness.errors import BadConfig


def is_path(name: str) -> bool:
    return name.endswith(".toml") or bool({"/", "\\"} & set(name))


def card_of(name: str) -> Path | None:
    """Return the path of a card: `name` itself, or the only card in the folder `name`; else None."""
    path = Path(name).expanduser()
    if name.endswith(".toml"):
        return path
    cards = list(_cards(path)) if is_path(name) and not (path / "pyproject.toml").exists() else []
    return cards[0][0] if len(cards) == 1 else None


def _cards(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.glob("*.toml")):
        with contextlib.suppress(OSError, ValueError):
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            if "name" in table and {"qualities", "quality"} & table.keys():
                yield path, table["name"]


def name_of(name: str) -> str:
    """Return the name of a dataset, given its name or the path of its card or table."""
    if card := card_of(name):
        return read_card(card).card.name
    if table := table_of(name):
        return ratings.slug(table.name)
    if is_path(name) or name.casefold().endswith(sheet.ENDINGS):
        if not Path(name).expanduser().exists():
            raise BadConfig(f"{name}: no such file or folder")
        raise BadConfig(f"{name}: is not a table of ratings ({', '.join(sheet.ENDINGS)}), a card (CARD.toml) "
                        "or a folder with a card")
    return name


def table_of(name: str) -> Path | None:
    """Return the path of a table of ratings; None for other names."""
    path = Path(name).expanduser()
    return path if is_table(name) and path.is_file() else None


def find(name: str, folder: Path) -> Path | None:
    """Return the path of a dataset's card in a folder or in its subfolder NAME."""
    return next((path for path, dataset in _cards(folder) if dataset == name), card_of(str(folder.absolute() / name)))


def import_card(path: Path, home: Path) -> tuple[Dataset, tuple[str, ...]]:
    """Import a card and its file into the home, and register the dataset."""
    dataset, remarks = read_card(path).scaled()
    _store(dataset, home, str(path))
    return dataset, remarks


def _store(dataset: Dataset, home: Path, source: str) -> None:
    """Store and register a dataset; print whether it replaces a stored one or has the same items as another."""
    name = dataset.card.name
    duplicates = [card.name for card in store.user_cards(home) if card.name != name
                  and (stored := store.stored_record(home, card.name)) and stored.items == dataset.fingerprint]
    is_new = store.stored_record(home, name) is None
    if store.save_user_dataset(dataset, home):
        sys.stderr.write(f"{name}: replaced in the home by the current content of {source}\n")
    elif is_new:
        sys.stderr.write(f"{name}: stored; `harness run --all` includes it until `harness import {name} --remove`\n")
    if duplicates:
        sys.stderr.write(f"{name}: has the same items as {', '.join(duplicates)}; boards of your own data average over "
                         f"all of them unless you name one by --dataset\n")
    registry.register_home(home)


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of tables without a card: columns by role (`response=answer`), scales of labels, lowest first."""

    columns: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()

    def table(self, source: sheet.Sheet) -> ratings.Table:
        stated: dict[str, str] = {}
        for pair in self.columns:
            role, equals, column = pair.partition("=")
            if not equals:
                raise BadConfig(f"--columns {pair}: expected ROLE=COLUMN, such as response=answer")
            stated[role] = f"{stated[role]}+{column}" if role in stated else column
        try:
            scales = tuple(map(parse_scale, self.scales))
        except ValueError as error:
            raise BadConfig(f"--scale: {error}") from error
        return ratings.of_sheet(source, stated, scales)


def import_table(source: sheet.Sheet, home: Path, reading: Reading) -> Dataset:
    """Read a table without a card, report how it was read, and store it in the home."""
    table = reading.table(source)
    name = table.dataset.card.name
    if name in registry.built_in():
        raise BadConfig(f"{source.file}: {name!r} is a built-in dataset; choose another name")
    sys.stderr.write("\n".join(table.report) + "\n")
    _store(table.dataset, home, source.file)
    return table.dataset


def import_paths(names: Iterable[str], home: Path, reading: Reading | None = None) -> tuple[str, ...]:
    """Return the names of datasets; cards and tables given by path are imported first."""
    sources = [(name_of(name), card_of(name) or table_of(name)) for name in names]
    check_distinct((name, path.resolve()) for name, path in sources if path)
    paths = dict(sources) | {name: path for name, path in sources if path}
    if reading and (reading.columns or reading.scales) and not any(path and is_table(path.name)
                                                                   for path in paths.values()):
        raise BadConfig("--columns and --scale are for tables of ratings; cards and registered datasets "
                        f"({', '.join(paths) or 'all datasets of this run'}) define their own")
    for path in filter(None, paths.values()):
        if is_table(path.name):
            import_table(sheet.read(path), home, reading or Reading())
        else:
            import_card(path, home)
    return tuple(paths)


def check_distinct(sources: Iterable[tuple[str, Path | str]]) -> None:
    """Raise BadConfig if two different sources have the same dataset name; `sources` yields names with sources."""
    source_of: dict[str, Path | str] = {}
    for name, source in sources:
        if (earlier := source_of.setdefault(name, source)) != source:
            raise BadConfig(f"{earlier} and {source} would both be the dataset {name!r}; rename one, or give a table "
                            "another name on a card (`harness new dataset NAME --from TABLE`)")
