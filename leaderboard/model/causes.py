"""Why a number of a report is not what it was in an earlier one: data, code, weights, options, environment.

What is a cell's own stands in the dataset, in the metric's signature and in the options that touch every score. What
is the whole run's, such as a package, may be a cause for any cell; it is held against a cell that has none of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.results.rows import DatasetEntry, MetricEntry, Reliability, Results, Run, TrainingEntry
from leaderboard.model.signatures import Difference, Kind, differences

KINDS: tuple[Kind, ...] = ("data", "code", "weights", "options", "environment")
TOUCHING: dict[str, Kind] = {"limit": "options", "ratings sha256": "data"}
"""The options of a run that touch every score or rating, with what they are about."""

DIRTY = "-dirty"
UNSET = "not set"
DRAWN = frozenset({"split-half"})


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is not as it was: `name` in a few words, and both values."""

    kind: Kind
    name: str
    old: str
    new: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Causes:
    """All that differs between two runs, by what it is about."""

    datasets: Mapping[str, tuple[Cause, ...]]
    metrics: Mapping[str, tuple[Cause, ...]]
    every: tuple[Cause, ...]
    """What touches every score."""
    run: tuple[Cause, ...]
    """What differs in the whole run and may touch any number."""
    unsure: bool
    """Whether code that no commit names may differ."""

    def own(self, dataset: str, metric: str) -> tuple[Cause, ...]:
        """The causes that a cell has of its own."""
        return (*self.datasets.get(dataset, ()), *self.metrics.get(metric, ()), *self.every)


def causes(before: Results, results: Results) -> Causes:
    """Find all that differs between two reports and may move a number."""
    old_data = {entry.name: entry for entry in before.datasets}
    old_metrics = {entry.name: entry for entry in before.metrics}
    reliability = _reliability(before.reliability), _reliability(results.reliability)
    return Causes(
        datasets={entry.name: found for entry in results.datasets if entry.name in old_data
                  and (found := of_dataset(old_data[entry.name], entry, *reliability))},
        metrics={entry.name: found for entry in results.metrics if entry.name in old_metrics
                 and (found := of_metric(old_metrics[entry.name], entry, before.trainings, results.trainings))},
        every=tuple(_options(before.run, results.run, touching=True)),
        run=(*surroundings(before.run, results.run), *_options(before.run, results.run, touching=False)),
        unsure=_unsure(before.run, results.run))


def of_dataset(old: DatasetEntry, new: DatasetEntry, before: Mapping[tuple[str, str, str], float],
               after: Mapping[tuple[str, str, str], float]) -> tuple[Cause, ...]:
    """Tell what of a dataset differs: its items, the ratings, how a quality is rated."""
    found = []
    if old.fingerprint != new.fingerprint:
        found.append(Cause("data", "items", f"{old.items} ({old.fingerprint[:12]})",
                           f"{new.items} ({new.fingerprint[:12]})"))
    if told := _ratings(old, new):
        found.append(told)
    elif not (old.ratings_fingerprint and new.ratings_fingerprint):
        moved = sorted({quality for name, quality, method in before.keys() & after.keys()
                        if name == new.name and before[name, quality, method] != after[name, quality, method]})
        if moved and not found:
            found.append(Cause("data", "ratings", "", "", f"people agree to another degree on {', '.join(moved)}"))
    return tuple(found)


def of_metric(old: MetricEntry, new: MetricEntry, before: Iterable[TrainingEntry],
              after: Iterable[TrainingEntry]) -> tuple[Cause, ...]:
    """Tell what of a metric differs, by its signature; of weights also how their training differed."""
    found = [Cause(row.kind, row.name, row.old, row.new, _training(row, before, after))
             for row in differences(old.signature, new.signature)]
    return tuple(sorted(found, key=lambda cause: KINDS.index(cause.kind)))


def kinds(found: Iterable[Cause]) -> tuple[Kind, ...]:
    """List the kinds among causes, in the order in which they are always named."""
    there = {cause.kind for cause in found}
    return tuple(kind for kind in KINDS if kind in there)


def told(found: Iterable[Cause]) -> str:
    """Say causes in a few words: 'data: items; weights: deb, usr'."""
    listed = list(found)
    named = {kind: dict.fromkeys(cause.name.rpartition(": ")[2].removeprefix("weights ") for cause in listed
                                 if cause.kind == kind) for kind in kinds(listed)}
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in named.items())


def _ratings(old: DatasetEntry, new: DatasetEntry) -> Cause | None:
    """Tell whether the votes differ: by their fingerprint where both have one, else by how many there are."""
    if old.ratings_fingerprint and new.ratings_fingerprint:
        if old.ratings_fingerprint == new.ratings_fingerprint:
            return None
        return Cause("data", "ratings", f"{old.ratings} ({old.ratings_fingerprint[:12]})",
                     f"{new.ratings} ({new.ratings_fingerprint[:12]})")
    rated = ({one.name: one.rated for one in entry.qualities} for entry in (old, new))
    first, second = rated
    differ = sorted(name for name in first.keys() & second.keys() if first[name] != second[name])
    if old.ratings == new.ratings and not differ:
        return None
    detail = f"other numbers of rated items for {', '.join(differ)}" if differ else ""
    return Cause("data", "ratings", str(old.ratings), str(new.ratings), detail)


def _reliability(rows: Iterable[Reliability]) -> dict[tuple[str, str, str], float]:
    """How far people agree: of the votes alone, but for halves that are drawn; rounded, as machines do."""
    return {(row.dataset, row.quality, row.method): round(row.value, 6) for row in rows
            if math.isfinite(row.value) and row.method not in DRAWN}


def surroundings(old: Run, new: Run) -> Iterable[Cause]:
    """Tell what the runs differ in: the harness itself, the packages, the machine."""
    if old.version != new.version:
        yield Cause("code", "version of the harness", old.version, new.version)
    if old.commit != new.commit:
        yield Cause("code", "commit of the harness", old.commit or "not known", new.commit or "not known")
    for name in sorted({**old.packages, **new.packages}):
        first, second = old.packages.get(name, "not installed"), new.packages.get(name, "not installed")
        if first != second:
            yield Cause("environment", name, first, second)
    for name in ("python", "platform", "device"):
        if getattr(old, name) != getattr(new, name):
            yield Cause("environment", name, getattr(old, name), getattr(new, name))


def _options(old: Run, new: Run, *, touching: bool) -> Iterable[Cause]:
    """The options that differ: those that touch every score, or the others, the seed among them."""
    if not touching and old.seed != new.seed:
        yield Cause("options", "seed", str(old.seed), str(new.seed))
    for name in sorted({**old.options, **new.options}):
        first, second = _apart(old.options.get(name, UNSET), new.options.get(name, UNSET))
        if first != second and (name in TOUCHING) == touching:
            yield Cause(TOUCHING.get(name, "options"), name, first, second)


def _apart(old: object, new: object) -> tuple[str, str]:
    """Write two values of an option; of two lists only what the other has not."""
    if isinstance(old, list) and isinstance(new, list):
        return _more(old, new), _more(new, old)
    return _json(old), _json(new)


def _more(mine: list[object], other: list[object]) -> str:
    more = [str(one) for one in mine if one not in other]
    return f"also {', '.join(more)}" if more else "the same, in another order" if mine != other and \
        len(mine) == len(other) else "nothing more" if mine != other else ""


def _unsure(old: Run, new: Run) -> bool:
    """Whether the same commit need not be the same code: unknown, or with changes that were not committed."""
    same = (old.version, old.commit) == (new.version, new.commit)
    return same and (old.commit is None or old.commit.endswith(DIRTY))


def _training(row: Difference, before: Iterable[TrainingEntry], after: Iterable[TrainingEntry]) -> str:
    """Say how weights that differ were made differently, where both trainings are known."""
    old, new = _trained(row.old, before), _trained(row.new, after)
    if old is None or new is None:
        return ""
    pairs = (("seed", old.seed, new.seed), ("steps", old.steps, new.steps), ("kept step", old.kept, new.kept),
             ("encoder", old.encoder, new.encoder), ("corpora", ", ".join(old.corpora), ", ".join(new.corpora)),
             ("commit", (old.commit or "not known")[:12], (new.commit or "not known")[:12]))
    differ = [f"{name} {first} → {second}" for name, first, second in pairs if first != second]
    return f"trained with {', '.join(differ)}" if differ else "trained anew, alike"


def _trained(identity: str, trainings: Iterable[TrainingEntry]) -> TrainingEntry | None:
    """The training of the weights NAME@DIGEST."""
    name, _, digest = identity.partition("@")
    return next((entry for entry in trainings if digest and entry.name == name
                 and entry.digest.startswith(digest[:12])), None)


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
