"""What challenge.toml says: on which data, by which rule, and what counts.

The organisers' historic treatments of sign, of missing scores and of empty responses are settings of this file, and off
unless it says so.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks.dataset import DatasetCard, Level, Quality, Split
from benchmarks.errors import nearest
from harness.challenge import terms
from harness.errors import BadConfig
from harness.run.rank import BY_NAME, RULES

FILE = "challenge.toml"
NAMES = ("title", "datasets", "dataset", "qualities", "ratings", "rule", "submissions", "counts", "missing", "sign",
         "empty", "baselines", "opens", "closes", "draws", "seed", "published")
OWN = ("name", "title", "file", "split", "level", "qualities", "licence", "citation")


@dataclass(frozen=True, slots=True)
class OwnDataset:
    """A dataset that comes with the challenge: its card and its file in the organisers' JSON."""

    card: DatasetCard
    path: Path


@dataclass(frozen=True, slots=True)
class Rulebook:
    """A challenge as its organiser set it up; `digest` is that of the file.

    `missing` is refuse, leave-out or zero; `sign` is keep or absolute; `empty` is keep or drop.
    """

    folder: Path
    title: str
    datasets: tuple[str, ...] = ()
    own: tuple[OwnDataset, ...] = ()
    qualities: tuple[str, ...] = ()
    ratings: Path | None = None
    rule: str = "test"
    submissions: int = 0
    counts: str = "best"
    missing: str = "refuse"
    sign: str = "keep"
    empty: str = "keep"
    baselines: tuple[str, ...] = ()
    opens: datetime.date | None = None
    closes: datetime.date | None = None
    draws: int = 1000
    seed: int = 0
    published: str = ""

    @property
    def dated(self) -> bool:
        """Whether a submission must say when it was made."""
        return self.opens is not None or self.closes is not None


def read(folder: Path) -> Rulebook:
    """The rules of the challenge in a folder, or what is wrong with them."""
    shown = str(folder / FILE)
    table = terms.read(folder / FILE, shown)
    terms.known(table, NAMES, shown)
    rules = Rulebook(
        folder=folder,
        title=terms.take(table, "title", terms.text, folder.resolve().name, shown),
        datasets=terms.take(table, "datasets", terms.texts, (), shown),
        own=tuple(_own(table, folder, shown)),
        qualities=terms.take(table, "qualities", terms.texts, (), shown),
        ratings=_path(table, folder, shown),
        rule=_rule(table, shown),
        submissions=terms.take(table, "submissions", terms.count, 0, shown),
        counts=terms.take(table, "counts", terms.one_of("best", "last"), "best", shown),
        missing=terms.take(table, "missing", terms.one_of("refuse", "leave-out", "zero"), "refuse", shown),
        sign=terms.take(table, "sign", terms.one_of("keep", "absolute"), "keep", shown),
        empty=terms.take(table, "empty", terms.one_of("keep", "drop"), "keep", shown),
        baselines=terms.take(table, "baselines", terms.texts, (), shown),
        opens=terms.day(table["opens"]) if _dated(table, "opens", shown) else None,
        closes=terms.day(table["closes"]) if _dated(table, "closes", shown) else None,
        draws=terms.take(table, "draws", terms.count, 1000, shown),
        seed=terms.take(table, "seed", terms.count, 0, shown),
        published=terms.take(table, "published", terms.text, "", shown))
    _check(rules, shown)
    return rules


def _check(rules: Rulebook, shown: str) -> None:
    if not (rules.datasets or rules.own or rules.published):
        raise BadConfig(f"{shown}: names no data; say datasets = [\"...\"] or give a [[dataset]] of its own")
    names = [*rules.datasets, *(own.card.name for own in rules.own)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadConfig(f"{shown}: the dataset {twice!r} is named twice")
    if rules.opens and rules.closes and rules.opens > rules.closes:
        raise BadConfig(f"{shown}: closes on {rules.closes}, before it opens on {rules.opens}")


def _rule(table: dict[str, Any], shown: str) -> str:
    name = terms.take(table, "rule", terms.text, "test", shown)
    if name not in BY_NAME:
        raise BadConfig(f"{shown}: no ranking rule {name!r}; {nearest(name, BY_NAME)}")
    return next(own for own, rule in RULES.items() if rule is BY_NAME[name])


def _dated(table: dict[str, Any], name: str, shown: str) -> bool:
    if name in table and terms.day(table[name]) is None:
        raise BadConfig(f"{shown}: {name} should be a date such as 2026-03-31, not {terms.said(table[name])}")
    return name in table


def _path(table: dict[str, Any], folder: Path, shown: str) -> Path | None:
    name = terms.take(table, "ratings", terms.text, "", shown)
    return folder / name if name else None


def _own(table: dict[str, Any], folder: Path, shown: str) -> Iterator[OwnDataset]:
    datasets = table.get("dataset", [])
    if not isinstance(datasets, list) or not all(isinstance(dataset, dict) for dataset in datasets):
        raise BadConfig(f"{shown}: a dataset of its own stands under [[dataset]]")
    for place, dataset in enumerate(datasets, start=1):
        where = f"{shown}: [[dataset]] {place}"
        terms.known(dataset, OWN, where)
        name, file = (terms.take(dataset, key, terms.text, "", where) for key in ("name", "file"))
        if not name or not file:
            raise BadConfig(f"{where}: needs a name and a file")
        yield OwnDataset(_card(dataset, name, where), folder / file)


def _card(dataset: dict[str, Any], name: str, where: str) -> DatasetCard:
    return DatasetCard(
        name=name, title=terms.take(dataset, "title", terms.text, name, where),
        split=cast("Split", terms.take(dataset, "split", terms.one_of("dev", "test"), "test", where)),
        level=cast("Level", terms.take(dataset, "level", terms.one_of("turn", "dialogue"), "turn", where)),
        qualities=tuple(_qualities(dataset, where)), size=0, sources=(),
        licence=terms.take(dataset, "licence", terms.text, "not stated", where),
        citation=terms.take(dataset, "citation", terms.text, "", where))


def _qualities(dataset: dict[str, Any], where: str) -> Iterator[Quality]:
    qualities = dataset.get("qualities")
    if not isinstance(qualities, list) or not qualities or not all(isinstance(each, dict) for each in qualities):
        raise BadConfig(f'{where}: needs its qualities, such as qualities = [{{name = "overall", low = 1, high = 5}}]')
    for each in qualities:
        terms.known(each, ("name", "low", "high", "dimension"), f"{where}, a quality")
        name = terms.take(each, "name", terms.text, "", where)
        if not name:
            raise BadConfig(f"{where}: a quality needs a name")
        low, high = (terms.take(each, key, _limit, None, where) for key in ("low", "high"))
        yield Quality(name, low, high, terms.take(each, "dimension", terms.text, "", where))


def _limit(value: Any) -> float | None:
    """A number."""
    return terms.number(value)
