"""What challenge.toml says: on which data, by which rule, and what counts."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.errors import nearest
from harness import terms
from harness.errors import BadConfig
from harness.own import CARD, OwnDataset, card_of, is_path, of_table, read_card
from harness.run.rank import BY_NAME, RULES
from harness.run.settings import plain_name
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES
from metrics.metric import is_name

FILE = "challenge.toml"
SETTINGS: dict[str, terms.Kind] = {
    "title": terms.text, "datasets": terms.texts, "dataset": terms.tables, "qualities": terms.texts,
    "ratings": terms.text, "rule": terms.text, "statistic": terms.one_of(*STATISTIC_NAMES, "kendall-b"),
    "level": terms.one_of(*LEVEL_NAMES), "submissions": terms.count, "counts": terms.one_of("best", "last", "primary"),
    "clusters": terms.one_of("every", "wmt"), "weights": terms.numbers_by_name, "outliers": terms.texts,
    "baselines": terms.texts, "opens": terms.day, "closes": terms.day, "draws": terms.count, "seed": terms.count,
    "column": terms.text, "coverage": terms.one_of("whole", "partial"), "public": terms.share, "per_day": terms.count,
    "phase": terms.tables, "published": terms.one_of("dstc10")}
PHASE = {name: kind for name, kind in SETTINGS.items() if name not in ("dataset", "phase", "published", "title")} | {
    "name": terms.text}
"""What a phase may set anew, and its name."""
FOLDER = "submissions"
DRAWN_BY = "private/seed"

@dataclass(frozen=True, slots=True)
class Rulebook:
    """A challenge, or a phase of it, as its organiser set it up.

    `counts` is best, last or primary; `clusters` every or wmt; `weights` are of targets, by dataset or dataset|quality;
    `outliers` are systems whose items do not count. `final` is a phase that is frozen: it is ranked on the ratings
    that are not `public`, a share of the contexts, where there are such; `changed` names what is other than when it
    was frozen.
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
    clusters: str = "every"
    weights: Mapping[str, float] = field(default_factory=dict)
    outliers: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    opens: datetime.date | None = None
    closes: datetime.date | None = None
    draws: int = 1000
    seed: int = 0
    column: str = ""
    coverage: str = "whole"
    public: float = 0.0
    per_day: int = 0
    phase: str = ""
    final: bool = False
    changed: tuple[str, ...] = ()
    published: str = ""

    @property
    def inbox(self) -> Path:
        """Where the submissions lie."""
        return self.folder / FOLDER / self.phase

    @property
    def secret(self) -> str:
        """What else than `seed` the public part is drawn by, so that nobody knows it who reads the rules."""
        file = self.folder / DRAWN_BY
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""

    @property
    def data(self) -> list[str]:
        """The names of the datasets."""
        return [*self.datasets, *(dataset.card.name for dataset in self.own)]

    @property
    def name(self) -> str:
        """The title, with the phase."""
        return f"{self.title}: {self.phase}" if self.phase else self.title

    @property
    def ready(self) -> bool:
        """Whether the files of its own datasets are there; those of a phase to come may be kept elsewhere."""
        return all(own.file.exists() for own in self.own)

    @property
    def when(self) -> str:
        """The days of receipt, in words."""
        return " ".join(f"{word} {day}" for word, day in (("from", self.opens), ("up to", self.closes)) if day)

    @property
    def dated(self) -> bool:
        """Whether a submission must say when it was made."""
        return self.opens is not None or self.closes is not None


def read(folder: Path, phase: str = "") -> Rulebook:
    """The rules of the challenge in a folder, or of one of its phases, or what is wrong with them."""
    every = phases(folder)
    named = [rules for rules in every if rules.phase == phase]
    if not named and phase:
        names = ", ".join(rules.phase for rules in every)
        raise BadConfig(f"{phase!r:.60} is no phase: {names}" if names else "there are no phases: leave out --phase")
    return (named or every)[0]


def phases(folder: Path) -> tuple[Rulebook, ...]:
    """The rules of every phase of the challenge in a folder; of a challenge without phases its only ones."""
    shown = str(folder / FILE)
    values = {"title": folder.resolve().name, "rule": "test"} | terms.read(folder / FILE, SETTINGS, shown)
    own = tuple(of_table(terms.checked(table, CARD, where), folder, where, "test") for where, table in (
        (f"{shown}: [[dataset]] {place}", table) for place, table in enumerate(values.pop("dataset", ()), start=1)))
    tables = [terms.checked(table, PHASE, f"{shown}: [[phase]] {place}")
              for place, table in enumerate(values.pop("phase", ()), start=1)]
    names = [table.setdefault("phase", table.pop("name", "")) for table in tables]
    if wrong := next((name for name in names if not is_name(name) or names.count(name) > 1), None):
        raise BadConfig(f"{shown}: each [[phase]] has a name of its own, of small letters, digits and hyphens, "
                        f"not {wrong!r:.60}")
    return tuple(_rules(folder, shown, values | table, tuple(  # a phase that names no datasets takes all
        each for each in own if each.card.name in table.get("datasets", (each.card.name,))))
        for table in tables or [{}])


def _rules(folder: Path, shown: str, values: dict[str, Any], own: tuple[OwnDataset, ...]) -> Rulebook:
    """The rules that settings make."""
    if (name := values["rule"]) not in BY_NAME:
        raise BadConfig(f"{shown}: no ranking rule {name!r}; {nearest(name, BY_NAME)}")
    cards = {name: folder / name for name in values.get("datasets", ()) if is_path(name)}
    ours = {*cards, *(dataset.card.name for dataset in own if values.get("phase"))}
    own += tuple(read_card(card_of(str(path)) or path) for path in cards.values())
    rules = Rulebook(folder, own=own, **values | {
        "rule": next(own for own, rule in RULES.items() if rule is BY_NAME[name]),
        "statistic": plain_name(values.get("statistic", "spearman")),
        "ratings": folder / values["ratings"] if values.get("ratings") else None,
        "datasets": tuple(name for name in values.get("datasets", ()) if name not in ours)})
    if not (rules.datasets or rules.own or rules.published):
        raise BadConfig(f"{shown}: names no data; say datasets = [\"...\"] or give a [[dataset]] of its own")
    if twice := next((name for name in rules.data if rules.data.count(name) > 1), None):
        raise BadConfig(f"{shown}: the dataset {twice!r} is named twice")
    if rules.opens and rules.closes and rules.opens > rules.closes:
        raise BadConfig(f"{shown}: closes on {rules.closes}, before it opens on {rules.opens}")
    return rules
