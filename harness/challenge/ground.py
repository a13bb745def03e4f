"""What submissions are held against: the items of each dataset, the ratings, and the targets that are ranked on.

Private ratings are joined here and go no further: what is published holds correlations and counts alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset, Quality, Rating
from benchmarks.errors import nearest
from benchmarks.formats import private
from benchmarks.formats.scorefile import Expected, listed
from harness.challenge import rulebook
from harness.challenge.rulebook import FILE, Rulebook
from harness.errors import BadConfig
from harness.run import correlate
from harness.run.correlate import Judged, TargetData
from harness.run.rank import Target
from harness.statistics.panel import Array, Vector, codes


@dataclass(frozen=True, slots=True)
class RankedDataset:
    """One dataset of a challenge with the qualities it is ranked on; `joined` counts the private votes."""

    dataset: Dataset
    judged: tuple[Judged, ...]
    joined: int = 0

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.dataset.card.name

    @property
    def about(self) -> str:
        """How many items it holds, of which language, and how many votes on each quality, in words."""
        languages = ", ".join(sorted({item.language for item in self.dataset.items}))
        said = [f"{self.name}: {len(self.dataset.items)} items, language {languages}"]
        for name in (judged.quality.name for judged in self.judged):
            votes = [len(own.votes) for own in self.dataset.ratings if own.quality == name and own.votes]
            said.append(f"{name}: {sum(votes)} votes on {len(votes)} items")
        return "; ".join(said)

    def without(self, places: Collection[int]) -> RankedDataset:
        """The same with no ratings of some items, by their places."""
        gone = frozenset(places)
        return replace(self, judged=tuple(replace(
            judged, votes=tuple(() if place in gone else votes for place, votes in enumerate(judged.votes)),
            means=np.where(np.isin(np.arange(len(judged.means)), list(gone)), np.nan, judged.means))
            for judged in self.judged))

    def public(self, share: float, seed: str) -> frozenset[int]:
        """The places of items in the public part: a share of the contexts, drawn by the seed."""
        contexts = ["\n".join(turn.text for turn in item.context) for item in self.dataset.items]
        drawn = sorted(set(contexts), key=lambda context: hashlib.sha256(f"{seed} {context}".encode()).digest())
        chosen = set(drawn[:round(share * len(drawn))])
        return frozenset(place for place, context in enumerate(contexts) if context in chosen)


@dataclass(frozen=True, slots=True)
class Ground:
    """The datasets of a challenge, of one split and one kind of data; `ratings` is the digest of the private file."""

    fields: tuple[RankedDataset, ...]
    ratings: str = ""
    partial: tuple[str, ...] = ()
    """What the private ratings leave out, in words."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """The items of other phases, each with its phase in words."""
    shared: tuple[str, ...] = ()
    """The items that another phase has too."""
    public: Ground | None = None
    """The part that was ranked on before the freeze, of a frozen phase."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """Every dataset and quality that is ranked on, in order."""
        return tuple((field.name, judged.quality.name) for field in self.fields for judged in field.judged)

    @property
    def ratings_by_target(self) -> dict[Target, Vector]:
        """The mean rating of each item by target; NaN where there is none."""
        return {(field.name, judged.quality.name): judged.means for field in self.fields for judged in field.judged}

    def tables(self, names: Sequence[str], scores: Mapping[Target, Array]) -> Iterator[TargetData]:
        """Every target with the scores (submissions, items) of the submissions of these names."""
        for ranked in self.fields:
            items = ranked.dataset.items
            groups = codes(item.system or "" for item in items), codes(item.context for item in items)
            words, conversation = correlate.lengths(items).astype(np.float64), correlate.conversations(items)
            for judged in ranked.judged:
                yield TargetData(ranked.name, judged, tuple((name, name) for name in names),
                                 scores[ranked.name, judged.quality.name], *groups, words, conversation)

    @property
    def expected(self) -> Expected:
        """What a score file should hold."""
        return Expected({field.name: tuple(item.id for item in field.dataset.items) for field in self.fields},
                        {field.name: tuple(quality.name for quality in field.dataset.card.qualities)
                         for field in self.fields}, elsewhere=self.elsewhere)


def prepared(rules: Rulebook, home: Path, *, rated: bool = True) -> Ground:
    """Load the datasets, join the private ratings, choose the qualities; items and qualities alone if not `rated`."""
    datasets = loaded(rules, home)
    phases = [phase for phase in rulebook.phases(rules.folder) if phase.phase != rules.phase and phase.ready]
    others = {f"the phase {phase.phase}, open {phase.when or 'on any day'}": loaded(phase, home) for phase in phases}
    every = {each.card.name: each for own in (*others.values(), datasets) for each in own}
    extra, digest = _private(rules.ratings, every.values()) if rules.ratings and rated else ({}, "")
    whole, partial = list[RankedDataset](), list[str]()
    for dataset in datasets:
        joined, new = private.join(dataset, extra.get(dataset.card.name, ()))
        if qualities := wanted(rules, dataset):
            votes = sum(len(rating.votes) for rating in new)
            field = RankedDataset(joined, correlate.judged(joined, qualities), votes)
            partial += _partial(field, {rating.quality for rating in new})
            whole.append(field)
    fields = _part(rules, whole)
    problems = [f"{rules.ratings}: {line}" for line in partial if rules.coverage == "whole"]
    if problems:
        problems.append(f"complete the ratings, or accept that by coverage = \"partial\" in {FILE}")
    problems += [f"{name}: nobody can be ranked on {judged.quality.name!r}: it has {judged.rated} rated items, and "
                 f"needs three that differ; add its ratings (ratings = \"FILE\" in {FILE}) or leave it out by qualities"
                 for name, judged in ((each.name, judged) for each in fields for judged in each.judged)
                 if rated and not judged.usable]
    if problems:
        raise BadConfig(*problems)
    own = {item.id for field in fields for item in field.dataset.items}
    elsewhere = {item.id: when for when, theirs in others.items() for dataset in theirs for item in dataset.items}
    public = Ground(_part(replace(rules, final=False), whole)) if rules.final and rules.public else None
    return Ground(fields, digest, tuple(partial), {name: when for name, when in elsewhere.items() if name not in own},
                  tuple(sorted(own & elsewhere.keys())), public)


def _private(file: Path, datasets: Iterable[Dataset]) -> tuple[dict[str, tuple[Rating, ...]], str]:
    """The private ratings by dataset, and the digest of their file."""
    owners = private.Owners()
    for dataset in datasets:
        owners.add(dataset)
    return private.read(file, owners), hashlib.sha256(file.read_bytes()).hexdigest()


def _partial(field: RankedDataset, rated: set[str]) -> Iterator[str]:
    """Which of the qualities with private ratings have items without any."""
    for judged in field.judged:
        if judged.quality.name in rated and judged.rated < len(judged.means):
            lacking = [field.dataset.items[place].id for place in np.flatnonzero(np.isnan(judged.means))]
            yield (f"{judged.rated} of {len(judged.means)} items of {field.name} have votes on "
                   f"{judged.quality.name!r}, not {listed(lacking)}")


def _part(rules: Rulebook, fields: Iterable[RankedDataset]) -> tuple[RankedDataset, ...]:
    """The datasets without the items that do not count."""
    return tuple(field.without(_left_out(rules, field)) for field in fields)


def _left_out(rules: Rulebook, field: RankedDataset) -> set[int]:
    """The places of items that do not count: those of outlier systems and of the other part of the ratings."""
    dropped = {place for place, item in enumerate(field.dataset.items) if item.system in rules.outliers}
    if not rules.public:
        return dropped
    public = field.public(rules.public, f"{rules.seed}{rules.secret}")
    return dropped | (public if rules.final else set(range(len(field.dataset.items))) - public)


def loaded(rules: Rulebook, home: Path) -> list[Dataset]:
    """The datasets of a challenge, without its private ratings."""
    datasets = [*(registry.load(registry.card(name).name, home) for name in rules.datasets),
                *(own.read()[0] for own in rules.own)]
    for what, groups in (("kind of data (the bundled sample, or real)", {dataset.kind for dataset in datasets}),
                         ("split (dev or test)", {dataset.card.split for dataset in datasets})):
        if len(groups) > 1:
            names = (f"{dataset.card.name} ({dataset.card.split}, {dataset.kind})" for dataset in datasets)
            raise BadConfig(f"the datasets of a challenge are of one {what}, and these are of {len(groups)}: "
                            f"{', '.join(names)}")
    known = sorted({name for dataset in datasets for quality in dataset.card.qualities
                    for name in (quality.name, quality.dimension)})
    if unknown := sorted(set(rules.qualities) - set(known)):
        raise BadConfig(f"{rules.folder / FILE}: no quality {unknown[0]!r} in its datasets; "
                        f"{nearest(unknown[0], known)}")
    return datasets


def wanted(rules: Rulebook, dataset: Dataset) -> tuple[Quality, ...]:
    """The qualities of a dataset that a challenge ranks on."""
    return tuple(quality for quality in dataset.card.qualities
                 if not rules.qualities or {quality.name, quality.dimension} & set(rules.qualities))
