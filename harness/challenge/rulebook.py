"""What challenge.toml says: on which data, by which rule, and what counts.

The organisers' historic treatments of sign, of missing scores and of empty responses are settings of this file, and off
unless it says so.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import nearest
from harness import terms
from harness.errors import BadConfig
from harness.own import CARD, OwnDataset, card_of, is_path, of_table, read_card
from harness.run.rank import BY_NAME, RULES
from harness.run.settings import plain_name
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES

FILE = "challenge.toml"
SETTINGS: dict[str, terms.Kind] = {
    "title": terms.text, "datasets": terms.texts, "dataset": terms.tables, "qualities": terms.texts,
    "ratings": terms.text, "rule": terms.text, "statistic": terms.one_of(*STATISTIC_NAMES, "kendall-b"),
    "level": terms.one_of(*LEVEL_NAMES), "submissions": terms.count, "counts": terms.one_of("best", "last"),
    "missing": terms.one_of("refuse", "leave-out", "zero"), "sign": terms.one_of("keep", "absolute"),
    "empty": terms.one_of("keep", "drop"), "baselines": terms.texts, "opens": terms.day, "closes": terms.day,
    "draws": terms.count, "seed": terms.count, "published": terms.text}

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
    statistic: str = "spearman"
    level: str = "items"
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
    values = {"title": folder.resolve().name, "rule": "test"} | terms.read(folder / FILE, SETTINGS, shown)
    if (name := values["rule"]) not in BY_NAME:
        raise BadConfig(f"{shown}: no ranking rule {name!r}; {nearest(name, BY_NAME)}")
    values["rule"] = next(own for own, rule in RULES.items() if rule is BY_NAME[name])
    values["statistic"] = plain_name(values.get("statistic", "spearman"))
    values["ratings"] = folder / values["ratings"] if values.get("ratings") else None
    own = tuple(of_table(terms.checked(table, CARD, where), folder, where, "test") for where, table in (
        (f"{shown}: [[dataset]] {place}", table) for place, table in enumerate(values.pop("dataset", ()), start=1)))
    cards = {name: folder / name for name in values.get("datasets", ()) if is_path(name)}
    own += tuple(read_card(card_of(str(path)) or path) for path in cards.values())
    values["datasets"] = tuple(name for name in values.get("datasets", ()) if name not in cards)
    rules = Rulebook(folder, own=own, **values)
    if not (rules.datasets or rules.own or rules.published):
        raise BadConfig(f"{shown}: names no data; say datasets = [\"...\"] or give a [[dataset]] of its own")
    names = [*rules.datasets, *(dataset.card.name for dataset in rules.own)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise BadConfig(f"{shown}: the dataset {twice!r} is named twice")
    if rules.opens and rules.closes and rules.opens > rules.closes:
        raise BadConfig(f"{shown}: closes on {rules.closes}, before it opens on {rules.opens}")
    return rules
