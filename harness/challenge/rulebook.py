"""Read challenge.toml: the data, rules and phases of a challenge."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from benchmarks.errors import nearest
from benchmarks.formats import records
from benchmarks.formats.records import Rule
from harness import terms
from harness.cards import OwnDataset, of_table, read_card
from harness.errors import BadConfig
from harness.own import card_of, is_path
from harness.run.rank import RULES
from harness.run.settings import plain_name
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES
from harness.statistics.permutation import MIN_EXTREME
from harness.statistics.pooled import ALPHA
from harness.terms import Count, Line, Share, Weights, one_of
from metrics.metric import is_name

FILE = "challenge.toml"
SHIPPED = Path(str(files("benchmarks"))) / "challenges"
FOLDER = "submissions"
SEED_FILE = "private/seed"
NAMES = {**dict(zip(RULES, RULES, strict=True)), "macro": "dev", "micro": "test"}
"""The ranking rules, by their names in DSTC10's challenge and in the field."""
MIN_DRAWS = round(MIN_EXTREME / ALPHA)
"""With fewer draws, too few are extreme at ALPHA to be counted, and the test depends on their spread alone."""
Draws = Annotated[int, Rule(f"0, or {MIN_DRAWS} or more", lambda draws: not draws or draws >= MIN_DRAWS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a challenge that a phase may override.

    `by` splits each dataset by language or system; `ratings` is a file; `weights` are per target, by dataset or
    dataset|quality; items of the systems in `outliers` are left out. Until a `blind` phase is frozen, only its receipts
    are published.
    """

    datasets: tuple[Line, ...] = ()
    qualities: tuple[Line, ...] = ()
    by: Literal["", "language", "system"] = ""
    ratings: Path | None = None
    rule: Line = "test"
    statistic: Annotated[str, one_of(*STATISTIC_NAMES, "kendall-b")] = "spearman"
    level: Annotated[str, one_of(*LEVEL_NAMES)] = "items"
    submissions: Count = 0
    counts: Literal["best", "last", "primary"] = "best"
    clusters: Literal["every", "wmt"] = "every"
    weights: Weights = field(default_factory=dict)
    outliers: tuple[Line, ...] = ()
    baselines: tuple[Line, ...] = ()
    opens: datetime.date | None = None
    closes: datetime.date | None = None
    draws: Draws = 1000
    seed: Count = 0
    column: Line = ""
    coverage: Literal["whole", "partial"] = "whole"
    public: Share = 0.0
    per_day: Count = 0
    blind: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase(Settings):
    """A [[phase]] of challenge.toml."""

    name: Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge(Settings):
    """The file challenge.toml."""

    title: Line = ""
    published: Literal["", "dstc10", "dstc11", "dstc12"] = ""
    dataset: tuple[Mapping[str, Any], ...] = ()
    phase: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulebook(Settings):
    """The rules of a challenge, or of one of its phases.

    A `final` phase is frozen: if a share of the conversations is `public`, it is ranked on the others. `changed` names
    the settings and inputs that have changed since the freeze.
    """

    folder: Path
    title: str
    custom: tuple[OwnDataset, ...] = ()
    phase: str = ""
    final: bool = False
    changed: tuple[str, ...] = ()
    published: str = ""

    @property
    def inbox(self) -> Path:
        return self.folder / FOLDER / self.phase

    @property
    def secret(self) -> str:
        """A secret seed of the public part, used together with `seed`; "" if there is none."""
        file = self.folder / SEED_FILE
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""

    @property
    def name(self) -> str:
        return f"{self.title}: {self.phase}" if self.phase else self.title

    @property
    def published_only(self) -> bool:
        """True if there are published results and no submissions."""
        return bool(self.published) and not self.inbox.is_dir()

    @property
    def accepts_submissions(self) -> bool:
        return bool(self.custom) or not self.published_only

    @property
    def ready(self) -> bool:
        """True if the files of its custom datasets exist; those of a future phase may be kept elsewhere."""
        return all(dataset.file.exists() for dataset in self.custom)

    def weight(self, dataset: str, quality: str) -> float:
        """Return the organiser's weight of a target, else of its dataset, else 1."""
        return self.weights.get(f"{dataset}|{quality}", self.weights.get(dataset, 1.0))

    @property
    def when(self) -> str:
        return " ".join(f"{word} {day}" for word, day in (("from", self.opens), ("to", self.closes)) if day)


def read(folder: Path, phase: str = "") -> Rulebook:
    """Read the rules of a phase, by default the first; a challenge without phases counts as a single phase."""
    all_rules = phases(folder)
    names = [rules.phase for rules in all_rules]
    if phase and phase not in names:
        raise BadConfig(f"no phase {phase!r:.60}; the phases are {', '.join(names)}" if any(names) else
                        "the challenge has no phases; omit --phase")
    return all_rules[names.index(phase) if phase else 0]


def phases(folder: Path) -> tuple[Rulebook, ...]:
    """Read the rules of every phase; a challenge without phases has a single, unnamed one."""
    file = str(folder / FILE)
    with records.refused_as(BadConfig):
        values = records.fields_of(Challenge, terms.table(folder / FILE, file), file)
        tables = [records.fields_of(Phase, phase, f"{file}: [[phase]] {number}")
                  for number, phase in enumerate(values.pop("phase", ()), start=1)]
    custom = tuple(of_table(dataset, folder, f"{file}: [[dataset]] {number}", "test")
                for number, dataset in enumerate(values.pop("dataset", ()), start=1))
    names = [phase.setdefault("phase", phase.pop("name", "")) for phase in tables]
    values.setdefault("title", folder.resolve().name)
    if invalid := [name for name in names if not is_name(name)]:
        raise BadConfig(f"{file}: each [[phase]] needs a name of lower-case letters, digits and hyphens, "
                        f"not {invalid[0]!r:.60}")
    if taken := [name for name in names if names.count(name) > 1]:
        raise BadConfig(f"{file}: the name {taken[0]!r:.60} is taken by another [[phase]]; choose a different one")
    return tuple(_rules(folder, file, values | phase, tuple(  # a phase without datasets uses all
        dataset for dataset in custom if dataset.card.name in phase.get("datasets", (dataset.card.name,))))
        for phase in tables or [{}])


def _rules(folder: Path, file: str, values: dict[str, Any], custom: tuple[OwnDataset, ...]) -> Rulebook:
    if (rule := values.get("rule", "test")) not in NAMES:
        raise BadConfig(f"{file}: unknown ranking rule {rule!r}; {nearest(rule, NAMES)}")
    cards = {name: folder / name for name in values.get("datasets", ()) if is_path(name)}
    known = {*cards, *(dataset.card.name for dataset in custom if values.get("phase"))}
    custom += tuple(read_card(card_of(str(path)) or path) for path in cards.values())
    rules = Rulebook(folder=folder, custom=custom, **values | {
        "rule": NAMES[rule],
        "statistic": plain_name(values.get("statistic", "spearman")),
        "ratings": folder / values["ratings"] if values.get("ratings", Path()) != Path() else None,
        "datasets": tuple(name for name in values.get("datasets", ()) if name not in known)})
    if rules.statistic == "soft-pairwise-accuracy" and rules.level.endswith("systems"):
        raise BadConfig(f'{file}: {rules.statistic} compares systems by their rows; use level = "items"')
    if not (rules.datasets or rules.custom or rules.published):
        raise BadConfig(f"{file}: no datasets; add datasets = [\"...\"] or a [[dataset]]")
    data = [*rules.datasets, *(dataset.card.name for dataset in rules.custom)]
    if duplicate := next((name for name in data if data.count(name) > 1), None):
        raise BadConfig(f"{file}: the dataset {duplicate!r} is listed twice")
    if rules.opens and rules.closes and rules.opens > rules.closes:
        raise BadConfig(f"{file}: closes on {rules.closes}, but opens later, on {rules.opens}")
    return rules
