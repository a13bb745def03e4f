"""The items, ratings and targets of a challenge.

Private ratings are joined here and go no further: correlations and counts alone are published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset, Item, Quality
from benchmarks.errors import nearest, plural
from benchmarks.formats import private
from benchmarks.formats.scorefile import EVERY, Expected, listed
from harness.challenge import rulebook
from harness.challenge.rulebook import FILE, Rulebook
from harness.errors import BadConfig
from harness.run import correlate
from harness.run.correlate import Judged, TargetData
from harness.run.rank import Target
from harness.statistics.panel import Vector


@dataclass(frozen=True, slots=True)
class RankedDataset:
    """A dataset of a challenge with its ranked qualities; `joined` counts the private votes."""

    dataset: Dataset
    judged: tuple[Judged, ...]
    joined: int = 0

    @property
    def name(self) -> str:
        return self.dataset.card.name

    @property
    def about(self) -> str:
        """The number of items, their languages, and the votes on each quality, in words."""
        languages = ", ".join(sorted({item.language for item in self.dataset.items}))
        parts = [f"{self.name}: {plural(len(self.dataset.items), 'item')}, language {languages}"]
        for judged in self.judged:
            votes = [len(rating.votes) for rating in self.dataset.ratings
                     if rating.votes and rating.quality == judged.quality.name]
            parts.append(f"{judged.quality.name}: {plural(sum(votes), 'vote')} on {plural(len(votes), 'item')}")
        return "; ".join(parts)

    def counted(self, rules: Rulebook) -> RankedDataset:
        """Drop the ratings of outlier systems, and of the other part where a share of the contexts is public."""
        items = self.dataset.items
        contexts = ["\n".join(turn.text for turn in item.context) for item in items]
        seed = f"{rules.seed}{rules.secret}"
        drawn = sorted(set(contexts), key=lambda context: hashlib.sha256(f"{seed} {context}".encode()).digest())
        public = set(drawn[:round(rules.public * len(drawn))])
        dropped = [item.system in rules.outliers or (bool(rules.public) and (context in public) == rules.final)
                   for item, context in zip(items, contexts, strict=True)]
        return replace(self, judged=tuple(replace(
            judged, votes=np.where(np.array(dropped)[:, None], np.nan, judged.votes),
            means=np.where(dropped, np.nan, judged.means)) for judged in self.judged))


@dataclass(frozen=True, slots=True)
class Ground:
    """The datasets of a challenge; `ratings` is the digest of the private file.

    `partial` says which ratings are missing, `elsewhere` names the phase of each item of other phases, `shared` the
    items that are also in another phase. `public` are the ratings that were ranked before the freeze, of a frozen
    phase.
    """

    fields: tuple[RankedDataset, ...]
    ratings: str = ""
    partial: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[str, ...] = ()
    public: tuple[Judged, ...] = ()

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple((field.name, judged.quality.name) for field in self.fields for judged in field.judged)

    def aligned(self, scores: Mapping[Target, Vector]) -> dict[Target, Vector]:
        """Return the scores of a file on each target: for its quality, else for every quality, else NaN."""
        return {(field.name, judged.quality.name): next(
            (scores[field.name, name] for name in (judged.quality.name, EVERY) if (field.name, name) in scores),
            np.full(len(judged.means), np.nan)) for field in self.fields for judged in field.judged}

    def tables(self, names: Sequence[str], rows: Sequence[Mapping[Target, Vector]]) -> tuple[TargetData, ...]:
        """Return every target with the aligned scores of the named submissions."""
        keys, tables = tuple((name, name) for name in names), list[TargetData]()
        for ranked in self.fields:
            points = correlate.item_scores(ranked.dataset, ranked.judged, {})
            for target in correlate.targets(points, ranked.judged):
                scores = np.array([aligned[target.key] for aligned in rows]).reshape(len(rows), len(points.items))
                tables.append(replace(target, names=keys, scores=scores))
        return tuple(tables)

    @property
    def expected(self) -> Expected:
        return Expected({field.name: tuple(item.id for item in field.dataset.items) for field in self.fields},
                        {field.name: tuple(quality.name for quality in field.dataset.card.qualities)
                         for field in self.fields}, elsewhere=self.elsewhere)


def prepared(rules: Rulebook, home: Path, *, rated: bool = True) -> Ground:
    """Load the datasets and join the private ratings; without `rated`, items and qualities only."""
    datasets = loaded(rules, home)
    others = {f"the phase {phase.phase}, open {phase.when or 'on any day'}": loaded(phase, home)
              for phase in rulebook.phases(rules.folder) if phase.phase != rules.phase and phase.ready}
    extra, digest = {}, ""
    if rules.ratings and rated:
        owners = private.Owners()
        by_name = {dataset.card.name: dataset for group in (*others.values(), datasets) for dataset in group}
        for dataset in by_name.values():
            owners.add(dataset)
        extra, digest = private.read(rules.ratings, owners), hashlib.sha256(rules.ratings.read_bytes()).hexdigest()
    whole, partial = list[RankedDataset](), list[str]()
    for dataset in datasets:
        joined, new = private.join(dataset, extra.get(dataset.card.name, ()))
        if qualities := wanted(rules, dataset):
            field = RankedDataset(joined, correlate.judged(joined, qualities), sum(len(rating.votes) for rating in new))
            partial += _partial(field, {rating.quality for rating in new})
            whole.append(field)
    fields = tuple(field.counted(rules) for field in whole)
    problems = [f"{rules.ratings}: {line}" for line in partial if rules.coverage == "whole"]
    if problems:
        problems[-1] += f"; complete the ratings, or accept this with coverage = \"partial\" in {FILE}"
    problems += [f"{field.name}: cannot rank on {judged.quality.name!r}: it has {judged.rated} rated items and "
                 f"needs three with different ratings; add ratings (ratings = \"FILE\" in {FILE}) or omit it from "
                 "qualities" for field in fields for judged in field.judged if rated and not judged.usable]
    if problems:
        raise BadConfig(*problems)
    ids = {item.id for field in fields for item in field.dataset.items}
    elsewhere = {item.id: when for when, group in others.items() for dataset in group for item in dataset.items}
    public = tuple(judged for field in whole for judged in field.counted(replace(rules, final=False)).judged) \
        if rules.final and rules.public else ()
    return Ground(fields, digest, tuple(partial), {name: when for name, when in elsewhere.items() if name not in ids},
                  tuple(sorted(ids & elsewhere.keys())), public)


def _partial(field: RankedDataset, rated: set[str]) -> Iterator[str]:
    """Yield the qualities with private ratings that have items without any."""
    for judged in field.judged:
        if judged.quality.name in rated and judged.rated < len(judged.means):
            lacking = [field.dataset.items[index].id for index in np.flatnonzero(np.isnan(judged.means))]
            yield (f"{judged.rated} of {len(judged.means)} items of {field.name} have votes on "
                   f"{judged.quality.name!r}, not {listed(lacking)}")


def loaded(rules: Rulebook, home: Path) -> list[Dataset]:
    if missing := [dataset.missing for dataset in rules.custom if not dataset.file.is_file()]:
        raise BadConfig(*missing)
    datasets = [part for dataset in (*(registry.load(registry.card(name).name, home) for name in rules.datasets),
                                     *(dataset.read() for dataset in rules.custom))
                for part in _divided(dataset, rules.by)]
    for what, groups in (("kind of data (the bundled sample, or real)", {dataset.kind for dataset in datasets}),
                         ("split (dev or test)", {dataset.card.split for dataset in datasets})):
        if len(groups) > 1:
            names = (f"{dataset.card.name} ({dataset.card.split}, {dataset.kind})" for dataset in datasets)
            raise BadConfig(f"all datasets of a challenge need the same {what}; these differ: {', '.join(names)}")
    known = sorted({name for dataset in datasets for quality in dataset.card.qualities
                    for name in (quality.name, quality.dimension)})
    if unknown := sorted(set(rules.qualities) - set(known)):
        raise BadConfig(f"{rules.folder / FILE}: no quality {unknown[0]!r} in its datasets; "
                        f"{nearest(unknown[0], known)}")
    return datasets


def _divided(dataset: Dataset, by: str) -> Iterator[Dataset]:
    """Yield the items of each language or system as a dataset DATASET-VALUE; the whole if none has such a value."""
    groups: dict[str, list[Item]] = {}
    for item in dataset.items:
        groups.setdefault((getattr(item, by) or "") if by else "", []).append(item)
    for value, items in sorted(groups.items()):
        ids = {item.id for item in items}
        card = replace(dataset.card, name=f"{dataset.card.name}-{value}".removesuffix("-"), size=len(ids))
        yield replace(dataset, card=card, items=tuple(items), fingerprint="", ratings=tuple(
            rating for rating in dataset.ratings if rating.item in ids))


def wanted(rules: Rulebook, dataset: Dataset) -> tuple[Quality, ...]:
    return tuple(quality for quality in dataset.card.qualities
                 if not rules.qualities or {quality.name, quality.dimension} & set(rules.qualities))
