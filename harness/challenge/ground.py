"""The items, ratings and targets of a challenge.

Private ratings are joined here. They are never published, only correlations and counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset, Item, Quality
from benchmarks.errors import nearest, plural
from benchmarks.formats.scorefile import Expected, listed
from benchmarks.tables import private
from harness.challenge import rulebook
from harness.challenge.rulebook import FILE, Rulebook
from harness.errors import BadConfig
from harness.run import correlate
from harness.run.correlate import Judged, TargetData
from harness.run.rank import Target
from harness.statistics.panel import Vector


@dataclass(frozen=True, slots=True)
class RankedDataset:
    """A dataset of a challenge with its ranked qualities."""

    dataset: Dataset
    judged: tuple[Judged, ...]

    @property
    def name(self) -> str:
        return self.dataset.card.name

    @property
    def description(self) -> str:
        """A sentence with the number of items, their languages, and the votes on each quality."""
        languages = ", ".join(sorted({item.language for item in self.dataset.items}))
        parts = [f"{self.name}: {plural(len(self.dataset.items), 'item')}, language {languages}"]
        for name in (judged.quality.name for judged in self.judged):
            votes = [len(rating.votes) for rating in self.dataset.ratings if rating.votes and rating.quality == name]
            parts.append(f"{name}: {plural(sum(votes), 'vote')} on {plural(len(votes), 'item')}")
        return "; ".join(parts)

    def filtered(self, rules: Rulebook) -> RankedDataset:
        """Drop the ratings of outlier systems and, if there is a public part, of the part that is not ranked now."""
        items, seed = self.dataset.items, f"{rules.seed}{rules.secret}"
        first_contexts = dict[int, str]()  # the first context of each conversation
        conversations = correlate.conversations(items).tolist()
        for conversation, item in zip(conversations, items, strict=True):
            context = "\n".join(turn.text for turn in item.context) or item.id
            first_contexts[conversation] = min(context, first_contexts.get(conversation, context))
        shuffled = sorted(set(first_contexts.values()),
                          key=lambda text: hashlib.sha256(f"{seed} {text}".encode()).digest())
        public = set(shuffled[:round(rules.public * len(shuffled))])
        dropped = np.array([
            item.system in rules.outliers
            or (bool(rules.public) and (first_contexts[conversation] in public) == rules.final)
            for item, conversation in zip(items, conversations, strict=True)])
        return replace(self, judged=tuple(replace(
            judged, votes=np.where(dropped[:, None], np.nan, judged.votes),
            means=np.where(dropped, np.nan, judged.means)) for judged in self.judged))


@dataclass(frozen=True)  # without slots, for the cached property
class Ground:
    """The datasets of a challenge; `ratings` is the digest of the private file.

    `partial` lists missing ratings, `elsewhere` maps the items of other phases to their phase, and `shared` lists items
    that are also in another phase. For a frozen phase, `public` holds the ratings used for ranking before the freeze.
    """

    datasets: tuple[RankedDataset, ...]
    ratings: str = ""
    partial: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    public: tuple[Judged, ...] = ()

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple((ranked.name, judged.quality.name) for ranked in self.datasets for judged in ranked.judged)

    def tables(self, names: Sequence[str], rows: Sequence[Mapping[Target, Vector]]) -> tuple[TargetData, ...]:
        keys, tables = tuple((name, name) for name in names), list[TargetData]()
        for ranked in self.datasets:
            points = correlate.item_scores(ranked.dataset, ranked.judged, {})
            for target in correlate.targets(points, ranked.judged):
                scores = np.array([row[target.key] for row in rows]).reshape(len(rows), len(points.items))
                tables.append(replace(target, names=keys, scores=scores))
        return tuple(tables)

    @cached_property
    def expected(self) -> Expected:
        return Expected({ranked.name: tuple(item.id for item in ranked.dataset.items) for ranked in self.datasets},
                        {ranked.name: tuple(quality.name for quality in ranked.dataset.card.qualities)
                         for ranked in self.datasets}, elsewhere=self.elsewhere)


def prepare(rules: Rulebook, home: Path, *, rated: bool = True) -> Ground:
    """Load the datasets and join the private ratings; if not `rated`, load items and qualities only."""
    datasets = load_datasets(rules, home)
    if rated and rules.blind and not rules.final and (files := with_ratings(rules)):
        raise BadConfig(*(f"{file}: contains ratings, which participants of a blind phase would see; move them to the "
                          "file of `ratings`" for file in files))
    phases = rulebook.phases(rules.folder)
    others = [(phase, load_datasets(phase, home)) for phase in phases if phase.phase != rules.phase and phase.ready]
    everything = [dataset for _, group in (*others, (rules, datasets)) for dataset in group]
    if rated:
        _check_names(rules, [*others, (rules, datasets)], [phase for phase in phases if not phase.ready])
    private_ratings, digest = {}, ""
    if rules.ratings and rated:
        owners = private.ItemIndex()
        for dataset in {dataset.card.name: dataset for dataset in everything}.values():
            owners.add(dataset)
        private_ratings = private.read(rules.ratings, owners)
        digest = hashlib.sha256(rules.ratings.read_bytes()).hexdigest()
    unfiltered, partial = list[RankedDataset](), list[str]()
    for dataset in datasets:
        joined, joined_ratings = private.join(dataset, private_ratings.get(dataset.card.name, ()))
        if qualities := ranked_qualities(rules, dataset):
            ranked = RankedDataset(joined, correlate.judged(joined, qualities))
            partial += _partial(ranked, {rating.quality for rating in joined_ratings})
            unfiltered.append(ranked)
    ranked_datasets = tuple(ranked.filtered(rules) for ranked in unfiltered)
    problems = [f"{rules.ratings}: {line}" for line in partial if rules.coverage == "whole"]
    if problems:
        problems[-1] += f"; complete the ratings, or allow missing ones with coverage = \"partial\" in {FILE}"
    problems += [f"{ranked.name}: cannot rank on {judged.quality.name!r}: it has {judged.rated} rated items, but "
                 f"needs three with different ratings; add ratings (ratings = \"FILE\" in {FILE}) or omit it from "
                 "`qualities`" for ranked in ranked_datasets for judged in ranked.judged if rated and not judged.usable]
    if problems:
        raise BadConfig(*problems)
    ids = {item.id for ranked in ranked_datasets for item in ranked.dataset.items}
    elsewhere = {item.id: f"the phase {phase.phase}, open {phase.when or 'on any day'}"
                 for phase, group in others for dataset in group for item in dataset.items}
    public = tuple(judged for ranked in unfiltered for judged in ranked.filtered(replace(rules, final=False)).judged) \
        if rules.final and rules.public else ()
    shared = tuple(sorted(ids & elsewhere.keys()))
    elsewhere = {name: phase for name, phase in elsewhere.items() if name not in ids}
    return Ground(ranked_datasets, digest, tuple(partial), elsewhere, shared, public)


def _check_names(rules: Rulebook, phases: Sequence[tuple[Rulebook, Sequence[Dataset]]], later: Sequence[Rulebook],
                 ) -> None:
    """Raise BadConfig for outliers or weights that no phase has, or if all weights of this phase are 0.

    Phases whose data do not exist yet (`later`) may have any outliers, and any target of their datasets.
    """
    file = rules.folder / FILE
    systems = {item.system for _, group in phases for dataset in group for item in dataset.items}
    if not later and (unknown := sorted(set(rules.outliers) - systems)):
        raise BadConfig(f"{file}: outliers: no item has the system {unknown[0]!r}; "
                        f"{nearest(unknown[0], sorted(filter(None, systems)))}")
    targets = [(phase.phase, dataset.card.name, quality.name) for phase, group in phases for dataset in group
               for quality in ranked_qualities(phase, dataset)]
    known = dict.fromkeys(name for _, dataset, quality in targets for name in (dataset, f"{dataset}|{quality}"))
    expected = [name for phase in later for name in (*phase.datasets, *(own.card.name for own in phase.custom))]
    if unknown := [name for name in rules.weights if name not in known and not any(
            name == dataset or name.startswith((f"{dataset}|", *([f"{dataset}-"] if rules.by else ())))
            for dataset in expected)]:
        raise BadConfig(f"{file}: weights: unknown target {unknown[0]!r}; {nearest(unknown[0], known)}")
    if rules.weights and not any(rules.weight(*target) for phase, *target in targets if phase == rules.phase):
        raise BadConfig(f"{file}: weights: every target of {rules.phase or 'the challenge'} has the weight 0")


def with_ratings(rules: Rulebook) -> list[Path]:
    """Return the files of items that also contain ratings, or must do so once they exist."""
    return [dataset.file for dataset in rules.custom if (
        any(rating.votes for rating in dataset.read().ratings) if dataset.file.is_file() else not rules.ratings)]


def _partial(ranked: RankedDataset, rated: set[str]) -> Iterator[str]:
    for judged in ranked.judged:
        if judged.quality.name in rated and judged.rated < len(judged.means):
            unrated = [ranked.dataset.items[index].id for index in np.flatnonzero(np.isnan(judged.means))]
            yield (f"{judged.rated} of {len(judged.means)} items of {ranked.name} have votes on "
                   f"{judged.quality.name!r}; missing: {listed(unrated)}")


def missing(rules: Rulebook) -> list[str]:
    """Return a message for each missing file of items."""
    return [dataset.missing(rated=not rules.ratings) for dataset in rules.custom if not dataset.file.is_file()]


def load_datasets(rules: Rulebook, home: Path) -> list[Dataset]:
    if lines := missing(rules):
        raise BadConfig(*lines)
    datasets = [part for dataset in (*(registry.load(registry.card(name).name, home) for name in rules.datasets),
                                     *(dataset.read() for dataset in rules.custom))
                for part in split(dataset, rules.by)]
    for aspect, groups in (("kind of data (the bundled sample, or real)", {dataset.kind for dataset in datasets}),
                           ("split (dev or test)", {dataset.card.split for dataset in datasets})):
        if len(groups) > 1:
            names = (f"{dataset.card.name} ({dataset.card.split}, {dataset.kind})" for dataset in datasets)
            raise BadConfig(f"all datasets of a challenge must have the same {aspect}; found {', '.join(names)}")
    known = sorted({name for dataset in datasets for quality in dataset.card.qualities
                    for name in (quality.name, quality.dimension)})
    if unknown := sorted(set(rules.qualities) - set(known)):
        raise BadConfig(f"{rules.folder / FILE}: qualities: none of the datasets has a quality {unknown[0]!r}; "
                        f"{nearest(unknown[0], known)}")
    return datasets


def split(dataset: Dataset, by: str) -> Iterator[Dataset]:
    """Yield a dataset DATASET-VALUE per language or system; items without a value keep the name DATASET."""
    groups: dict[str, list[Item]] = {}
    for item in dataset.items:
        groups.setdefault((getattr(item, by) or "") if by else "", []).append(item)
    for value, items in sorted(groups.items()):
        ids = {item.id for item in items}
        card = replace(dataset.card, name=f"{dataset.card.name}-{value}".removesuffix("-"), size=len(ids))
        yield replace(dataset, card=card, items=tuple(items), fingerprint="", ratings=tuple(
            rating for rating in dataset.ratings if rating.item in ids))


def ranked_qualities(rules: Rulebook, dataset: Dataset) -> tuple[Quality, ...]:
    return tuple(quality for quality in dataset.card.qualities
                 if not rules.qualities or {quality.name, quality.dimension} & set(rules.qualities))
