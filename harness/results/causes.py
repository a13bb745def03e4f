"""Differences between two results that may change a number: data, code, weights, options, environment.

The causes of a change are looked up in its dataset, in the signature of its metric and in the options that affect every
score. Differences of the whole run, such as package versions, may affect any number.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from harness.results.entries import DatasetEntry
from harness.results.rows import Results, Run
from metrics.metric import Signature

Kind: TypeAlias = Literal["data", "code", "weights", "options", "environment"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SCORE_OPTIONS: dict[str, Kind] = {"limit": "options", "sample": "options", "ratings sha256": "data"}
"""Run options that affect every score or rating."""

DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{12}(?:\.[0-9a-f]{6})?(?:\+[0-9a-f]{6})?(?![0-9a-f])")
PARTS: dict[str, Kind] = {
    "revision": "code", "code": "code", "evaluate": "environment", "sentence-transformers": "environment",
    "environment": "environment", "prompt": "options", "sha256": "data", "wordnet": "data", "conceptnet": "data"}
"""Kinds of signature parts; others are weights if only their digest differs, else options."""

DIRTY = "-dirty"
UNSET = "not set"
CODE = {"version of the harness": "version", "commit of the harness": "commit"}
MACHINE = {name: name for name in ("python", "platform", "device")}


@dataclass(frozen=True, slots=True)
class Cause:
    """A difference: a short name and both values, "" if one is missing."""

    kind: Kind
    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Causes:
    """Differences between two runs: by dataset, by metric, of every score, and of the run as a whole."""

    datasets: Mapping[str, tuple[Cause, ...]]
    metrics: Mapping[str, tuple[Cause, ...]]
    shared: tuple[Cause, ...]
    run: tuple[Cause, ...]
    unsure: bool
    """True if the code may differ although version and commit are equal: uncommitted changes or no known commit."""

    def affecting(self, dataset: str, metric: str) -> tuple[Cause, ...]:
        """Return the causes that affect the scores of a metric on a dataset."""
        return (*self.datasets.get(dataset, ()), *self.metrics.get(metric, ()), *self.shared)

    def with_owners(self) -> Iterator[tuple[str, Cause]]:
        """Yield every cause with its dataset or metric as the prefix `NAME, `, or with "" if it has none."""
        for name, listed in (*self.datasets.items(), *self.metrics.items()):
            yield from ((f"{name}, ", cause) for cause in listed)
        yield from (("", cause) for cause in (*self.shared, *self.run))

    @property
    def likely(self) -> str:
        """Name the likely causes; those of the run as a whole only if there are no others."""
        single = itertools.chain(*self.datasets.values(), *self.metrics.values(), self.shared)
        return summary(single) or summary(self.run) or (
            "uncommitted code" if self.unsure else "unknown; perhaps the hardware")


def causes(before: Results, results: Results) -> Causes:
    """Find all differences between two results that may change a number."""
    old_datasets = {entry.name: entry for entry in before.datasets}
    signatures = {entry.name: entry.signature for entry in before.metrics}
    same_code = (before.run.version, before.run.commit) == (results.run.version, results.run.commit)
    return Causes(
        datasets={entry.name: tuple(_dataset(old_datasets[entry.name], entry))
                  for entry in results.datasets if entry.name in old_datasets},
        metrics={entry.name: signature_causes(signatures[entry.name], entry.signature)
                 for entry in results.metrics if entry.name in signatures},
        shared=tuple(_options(before.run, results.run, scores=True)),
        run=(*environment(before.run, results.run), *_options(before.run, results.run, scores=False)),
        unsure=same_code and (before.run.commit is None or before.run.commit.endswith(DIRTY)))


def _dataset(old: DatasetEntry, new: DatasetEntry) -> Iterator[Cause]:
    def texts(entry: DatasetEntry) -> dict[str, str]:
        return {"items": f"{entry.items} ({entry.fingerprint[:12]})",
                "ratings": f"{entry.ratings} ({entry.ratings_fingerprint[:12]})"}

    return _differences("data", texts(old), texts(new))


def signature_causes(old: Signature, new: Signature) -> tuple[Cause, ...]:
    """List the parts in which two signatures of a metric differ."""
    pairs = {name: (old.get(name, ""), new.get(name, "")) for name in {**old, **new}}
    return tuple(Cause(_kind(name, *values), name, *values) for name, values in pairs.items()
                 if old.get(name) != new.get(name))


def summary(listed: Iterable[Cause]) -> str:
    """Sum up causes in a few words: 'data: items; weights: deb, usr'."""
    names: dict[Kind, dict[str, None]] = {}
    for cause in sorted(listed, key=lambda cause: KINDS.index(cause.kind)):
        names.setdefault(cause.kind, {})[cause.name.rpartition(": ")[2].removeprefix("weights ")] = None
    return "; ".join(kind if list(of_kind) == [kind] else f"{kind}: {', '.join(of_kind)}"
                     for kind, of_kind in names.items())


def environment(old: Run, new: Run) -> Iterator[Cause]:
    """List the differences in the harness, the packages and the machine."""
    def fields(run: Run, names: Mapping[str, str]) -> dict[str, str]:
        return {name: getattr(run, field) or "unknown" for name, field in names.items()}

    yield from _differences("code", fields(old, CODE), fields(new, CODE))
    yield from _differences("environment", old.packages, new.packages, "not installed")
    yield from _differences("environment", fields(old, MACHINE), fields(new, MACHINE))


def _differences(kind: Kind, old: Mapping[str, str], new: Mapping[str, str], unset: str = "") -> Iterator[Cause]:
    for name in sorted({**old, **new}):
        if old.get(name, unset) != new.get(name, unset):
            yield Cause(kind, name, old.get(name, unset), new.get(name, unset))


def _kind(name: str, old: str, new: str) -> Kind:
    part = name.rpartition(": ")[2]
    if part in PARTS:
        return PARTS[part]
    same_name = part.startswith("weights ") or DIGEST.sub("", old) == DIGEST.sub("", new)
    return "weights" if same_name else "options"


def _options(old: Run, new: Run, *, scores: bool) -> Iterator[Cause]:
    """List the options that differ: either those that affect every score, or the others and the seed."""
    def texts(run: Run) -> dict[str, str]:
        values = {name: value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
                  for name, value in run.options.items() if (name in SCORE_OPTIONS) == scores}
        return values if scores else {"seed": str(run.seed), **values}

    for cause in _differences("options", texts(old), texts(new), UNSET):
        yield replace(cause, kind=SCORE_OPTIONS.get(cause.name, cause.kind))
