"""The plan of a run: metrics and datasets, decided before anything is loaded or scored."""

from __future__ import annotations

import dataclasses
import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset, DatasetCard, Item, Quality, Rating
from benchmarks.errors import UnknownDataset, nearest
from benchmarks.tables import private
from harness.errors import BadConfig
from harness.run.reuse import Reused
from harness.run.settings import Settings, additional_statistics
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES
from harness.statistics.estimates import full_name
from metrics import registry as metrics
from metrics.errors import BrokenPlugin
from metrics.registry import Chosen

RECORDED = {"metrics": "metric", "beside": "with_", "datasets": "dataset", "split": "split", "languages": "language",
            "qualities": "quality", "limit": "limit", "sample": "sample", "aggregations": "aggregate", "data": "data"}
"""Settings by their names in the results; the seed and the environment are recorded separately."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A run: every metric on every dataset, and the statistics of their scores.

    `broken` lists plug-ins that cannot be loaded and were not named in the settings, with the reason. `command` is the
    command that repeats the run, `reused` has scores from a bundle. A `quick` run computes correlations only: no
    intervals, comparisons, reliability, decisions or examples.
    """

    settings: Settings
    cards: tuple[DatasetCard, ...]
    chosen: tuple[Chosen, ...]
    broken: tuple[tuple[str, str], ...] = ()
    command: str = ""
    reused: Reused = field(default_factory=Reused)
    quick: bool = False

    def qualities(self, card: DatasetCard) -> tuple[Quality, ...]:
        return _matching(card.qualities, self.settings.quality)

    @property
    def targets(self) -> int:
        return sum(len(self.qualities(card)) for card in self.cards)

    @property
    def draws(self) -> int:
        """The number of resamples for rank intervals."""
        return 0 if self.quick else self.settings.draws

    @property
    def examples(self) -> int:
        """The number of items per dataset to show with their texts and ratings; none if ratings are private."""
        return 0 if self.quick or self.settings.ratings else self.settings.examples

    def options(self) -> dict[str, Any]:
        """Return all options that affect the results, except seed and environment, as recorded in the results."""
        settings = self.settings
        values = {name: getattr(settings, setting) for name, setting in RECORDED.items()}
        values |= {name: tuple(map(metrics.without_folders, values[name])) for name in ("metrics", "beside")}
        options = {name: list(value) if isinstance(value, tuple) else value
                   for name, value in values.items() if value not in ((), None)}
        options |= {"draws": self.draws, "permutations": settings.permutations, "epsilon": settings.epsilon,
                    "examples": self.examples}
        if statistics := additional_statistics(settings.statistic, settings.level):
            options["statistics"] = [full_name(*statistic) for statistic in statistics]
        if self.reused.name:
            options["reused"] = f"{self.reused.name}, sha256 {self.reused.digest}"
        if settings.ratings:
            options["ratings sha256"] = hashlib.sha256(settings.ratings.read_bytes()).hexdigest()
        return options


def statistics(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the additional statistics in the recorded options of a run, each with its level."""
    recorded = options.get("statistics")
    return [pair for pair in additional_statistics(STATISTIC_NAMES, LEVEL_NAMES)
            if isinstance(recorded, list) and full_name(*pair) in recorded]


def make(settings: Settings, command: str = "", *, quick: bool = False) -> Plan:
    """Choose datasets and metrics; raise BadConfig for an unknown name, suggesting the nearest known one."""
    requested = {datasets.card(name.casefold()).name for name in settings.dataset or datasets.names()}
    cards = [card for card in datasets.cards().values()
             if card.name in requested and settings.split in (None, card.split)]
    if not cards:
        if settings.dataset:
            raise BadConfig(f"nothing to run: none of {', '.join(settings.dataset)} is in the split {settings.split}")
        raise BadConfig(f"nothing to run: no dataset of the split {settings.split} is known; run `harness import`")
    cards = [card for card in cards if _in_language(card, settings)]
    if not cards:
        available = sorted({card.language for card in datasets.cards().values()})
        raise BadConfig(f"no dataset is in the language {' or '.join(settings.language)}; available languages: "
                        f"{', '.join(available)} (`harness import` accepts translations)")
    quality_names = sorted({name for card in cards for quality in card.qualities
                            for name in (quality.name.casefold(), quality.dimension)})
    for name in settings.quality:
        if name.casefold() not in quality_names:
            raise BadConfig(f"no quality {name!r} in these datasets; {nearest(name, quality_names)}")
    cards = [card for card in cards if _matching(card.qualities, settings.quality)]
    chosen, broken = choose(settings.metric, settings.with_, settings.seed)
    return Plan(settings, tuple(cards), chosen, broken, command, quick=quick)


def _in_language(card: DatasetCard, settings: Settings) -> bool:
    """Return True for a selected language; "all" selects the split "more", unless datasets or a split are named."""
    if "all" in settings.language:
        return bool(settings.dataset or settings.split) or card.split == "more"
    return not settings.language or card.language in settings.language


def choose(names: Sequence[str], additional: Sequence[str], seed: int,
           ) -> tuple[tuple[Chosen, ...], tuple[tuple[str, str], ...]]:
    """Return the named metrics, by default all, and the plug-ins that cannot be loaded, with reasons."""
    chosen: dict[str, Chosen] = {}
    sources: dict[str, str] = {}
    broken = []
    for name in (*(names or metrics.names()), *additional):
        try:
            pick = metrics.choose(name, seed=seed)
        except BrokenPlugin as error:
            if name in (*names, *additional):
                raise
            broken.append((name, str(error)))
            continue
        metric, source = pick.metric.card.name, metrics.split(metrics.titled(name)[1])[0]
        source = str(Path(source).expanduser().resolve()) if metrics.is_path(source) else source
        if sources.setdefault(metric, source) != source:
            raise BadConfig(f"two different metrics are named {metric!r} (one is {name}); rename one of them")
        if chosen.setdefault(pick.label, pick).metric != pick.metric:
            raise BadConfig(f"{name}: another metric of this run is also called {pick.label!r}; rename the folder "
                            "or file that it reads")
        if pick.title:
            chosen[pick.label] = pick
    titles = Counter(title for pick in chosen.values() for title in {pick.title, pick.label})
    if clash := next((pick for pick in chosen.values() if pick.title and titles[pick.title] > 1), None):
        raise BadConfig(f"{clash.title}={clash.label}: another metric of this run is called {clash.title!r}; choose "
                        "another title")
    return tuple(chosen[label] for label in sorted(chosen)), tuple(broken)


def load(card: DatasetCard, home: Path, settings: Settings) -> Dataset | None:
    """Load the selected items of a dataset; None if it has no data of the selected kind."""
    try:
        dataset = datasets.sample(card) if settings.data == "sample" else datasets.load(card.name, home)
    except UnknownDataset:  # a user's dataset that has not been imported
        return None
    if settings.data == "real" and dataset.origin == "sample":
        return None
    items = dataset.items[: settings.limit]
    if settings.sample:
        items = draw_sample(items, settings.sample, f"{settings.seed} {card.name}")
    if len(items) == len(dataset.items):
        return dataset
    ids = {item.id for item in items}
    return Dataset(card, items, tuple(rating for rating in dataset.ratings if rating.item in ids), dataset.origin)


def private_ratings(plan: Plan, home: Path) -> Mapping[str, tuple[Rating, ...]]:
    if plan.settings.ratings is None:
        return {}
    owners = private.ItemIndex()
    for card in plan.cards:
        dataset = load(card, home, dataclasses.replace(plan.settings, limit=None, sample=None))
        if dataset is not None:
            owners.add(dataset)
    return private.read(plan.settings.ratings, owners)


def with_ratings(dataset: Dataset, ratings: Sequence[Rating]) -> tuple[Dataset, str]:
    """Join private ratings to a dataset; return it and the note added to its card, empty if no rating was joined."""
    dataset, joined = private.join(dataset, ratings)
    if not joined:
        return dataset, ""
    votes, items = sum(len(rating.votes) for rating in joined), len({rating.item for rating in joined})
    note = f"Private ratings joined: {votes} votes on {items} of {len(dataset.items)} items."
    card = dataclasses.replace(dataset.card, notes=f"{dataset.card.notes} {note}".strip())
    return dataclasses.replace(dataset, card=card), note


def load_named(name: str, home: Path, settings: Settings) -> Dataset | None:
    """Load a dataset by name, also in a process in which the home is not registered yet."""
    datasets.register_home(home)
    return load(datasets.card(name), home, settings)


def draw_sample(items: Sequence[Item], size: int, seed: str) -> tuple[Item, ...]:
    """Draw whole contexts at random, at least one, up to `size` items; return the items in their original order.

    The next context always belongs to the system with the fewest items so far. Smaller samples are subsets of larger
    ones. An item without context counts as a context of its own.
    """
    contexts: dict[object, list[int]] = defaultdict(list)
    for index, item in enumerate(items):
        contexts[item.context or item.id].append(index)
    shuffled = list(contexts.values())
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - not for security
    by_system: dict[str, list[list[int]]] = defaultdict(list)
    for context in shuffled:
        for system in {items[index].system or "" for index in context}:
            by_system[system].append(context)
    chosen, counts = set[int](), Counter[str]()
    while systems := [system for system, contexts_left in by_system.items() if contexts_left]:
        context = by_system[min(systems, key=lambda system: (counts[system], system))].pop()
        if context[0] not in chosen:
            if chosen and len(chosen) + len(context) > size:
                break
            chosen.update(context)
            counts.update(items[index].system or "" for index in context)
    return tuple(items[index] for index in sorted(chosen))


def _matching(qualities: Sequence[Quality], selected: Sequence[str]) -> tuple[Quality, ...]:
    names = {name.casefold() for name in selected}
    return tuple(quality for quality in qualities
                 if not names or quality.name.casefold() in names or quality.dimension in names)
