"""Differences between two results of the same run: tables row by row, and the causes of changed numbers.

Item scores are compared by column: the scores of one metric, or the ratings, for all items of a dataset. The
causes of a change are looked up in its dataset, in the signature of its metric and in the options that affect every
score. Differences of the whole run, such as package versions, may affect any number.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from harness.results.entries import DatasetEntry
from harness.results.rows import Results, Run, tables_by
from harness.statistics.panel import Vector
from metrics.metric import Signature

COMPARED = tuple(name for name in tables_by("dataset", "board") if name != "timings")
"""The tables of numbers; equal runs differ in their timings."""
Key: TypeAlias = tuple[str, ...]
Table: TypeAlias = Mapping[Key, Mapping[str, Any]]

Kind: TypeAlias = Literal["data", "code", "weights", "options", "environment"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SCORE_OPTIONS: dict[str, Kind] = {"limit": "options", "sample": "options", "ratings sha256": "data"}
"""Run options that affect every score or rating."""
PARTS: dict[str, Kind] = {
    "revision": "code", "code": "code", "evaluate": "environment", "sentence-transformers": "environment",
    "environment": "environment", "prompt": "options", "sha256": "data", "wordnet": "data", "conceptnet": "data"}
"""Kinds of signature parts; any other part is weights if only its digest differs, else options."""
DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{12}(?:\.[0-9a-f]{6})?(?:\+[0-9a-f]{6})?(?![0-9a-f])")
DIRTY = "-dirty"
"""The end of a commit with uncommitted changes."""


class Difference(NamedTuple):
    """A field that differs by `size`, which is infinite if a value is missing or not a number.

    For a column of item scores, only the item that differs most is kept.
    """

    key: Key
    field: str
    before: Any
    after: Any
    size: float


@dataclass(frozen=True, slots=True)
class TableDifference:
    """Differences of a table: number of common rows, fields that differ, and rows in one of the results only."""

    table: str
    common: int
    fields: tuple[Difference, ...]
    gone: tuple[Key, ...]
    new: tuple[Key, ...]

    @property
    def equal(self) -> bool:
        return not (self.fields or self.gone or self.new)


def compare(before: Results, after: Results, names: Collection[str] = COMPARED, tolerance: float = 0.0,
            ) -> tuple[TableDifference, ...]:
    """Compare tables of two results; differences up to the tolerance are ignored."""
    return tuple(_compared(name, _table(before, name), _table(after, name), tolerance) for name in names)


def key_of(row: Any) -> Key:
    return tuple(getattr(row, name) for name in row.KEY)


def distance(old: Any, new: Any) -> float:
    """Return the difference between two values; infinite if one is missing or not a number."""
    if old == new or (old != old and new != new):
        return 0.0
    numbers = isinstance(old, int | float) and isinstance(new, int | float)
    return abs(old - new) if numbers and math.isfinite(old - new) else math.inf


def _table(results: Results, name: str) -> Table:
    """Return the compared fields of a table's rows by key; a comparison with swapped columns has another key."""
    if name == "points":
        return {(rows.dataset, *column): {"items": rows.items, "values": values} for rows in results.points
                for column, values in (*((("people", name), ratings) for name, ratings in rows.human.items()),
                                       *rows.scores.items())}
    rows = getattr(results, name)
    return {key_of(row): {field: getattr(row, field) for field in row.__slots__ if field not in row.KEY}
            for row in (itertools.chain.from_iterable(rows) if name == "comparisons" else rows)}


def _compared(name: str, old: Table, new: Table, tolerance: float) -> TableDifference:
    fields = (difference for key in old if key in new for difference in _fields(key, old[key], new[key]))
    return TableDifference(
        name, len(old.keys() & new.keys()), tuple(difference for difference in fields if difference.size > tolerance),
        tuple(key for key in old if key not in new), tuple(key for key in new if key not in old))


def _fields(key: Key, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for field, value in old.items():
        if isinstance(value, np.ndarray) and old["items"] == new["items"]:
            yield from _largest_difference(key, old["items"], value, new[field])
        elif not isinstance(value, np.ndarray):
            yield Difference(key, field, value, new[field], distance(value, new[field]))


def _largest_difference(key: Key, items: Sequence[str], before: Vector, after: Vector) -> Iterator[Difference]:
    """Yield the item whose scores differ most; scores beyond 1 are compared relative to their size."""
    with np.errstate(invalid="ignore"):  # the difference of two infinities is NaN
        sizes = np.nan_to_num(np.abs(before - after) / np.maximum(1, np.abs(after)), nan=0.0)
    sizes[np.isnan(before) != np.isnan(after)] = math.inf
    if len(sizes):
        row = int(sizes.argmax())
        yield Difference((*key, items[row]), "score", float(before[row]), float(after[row]), float(sizes[row]))


@dataclass(frozen=True, slots=True)
class Cause:
    """A difference that may change a number: a short name and both values, "" if one is missing."""

    kind: Kind
    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Causes:
    """Causes by dataset and by metric, causes that affect every score, and causes of the run as a whole."""

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
        for name, causes_of_owner in (*self.datasets.items(), *self.metrics.items()):
            yield from ((f"{name}, ", cause) for cause in causes_of_owner)
        yield from (("", cause) for cause in (*self.shared, *self.run))

    @property
    def likely(self) -> str:
        """The likely causes in a few words; causes of the run as a whole only if there are no others."""
        specific = itertools.chain(*self.datasets.values(), *self.metrics.values(), self.shared)
        return summary(specific) or summary(self.run) or (
            "uncommitted code" if self.unsure else "unknown; perhaps the hardware")


def causes(before: Results, results: Results) -> Causes:
    """Find all differences between two results that may change a number."""
    old, new = before.run, results.run
    old_datasets = {entry.name: entry for entry in before.datasets}
    signatures = {entry.name: entry.signature for entry in before.metrics}
    return Causes(
        datasets={entry.name: tuple(_dataset(old_datasets[entry.name], entry))
                  for entry in results.datasets if entry.name in old_datasets},
        metrics={entry.name: signature_causes(signatures[entry.name], entry.signature)
                 for entry in results.metrics if entry.name in signatures},
        shared=tuple(_options(old, new, scores=True)),
        run=(*_environment(old, new), *_options(old, new, scores=False)),
        unsure=(old.version, old.commit) == (new.version, new.commit) and (
            old.commit is None or old.commit.endswith(DIRTY)))


def signature_causes(old: Signature, new: Signature) -> tuple[Cause, ...]:
    """List the parts in which two signatures of a metric differ."""
    pairs = {name: (old.get(name, ""), new.get(name, "")) for name in {**old, **new}}
    return tuple(Cause(_kind(name, *values), name, *values) for name, values in pairs.items()
                 if old.get(name) != new.get(name))


def summary(causes: Iterable[Cause]) -> str:
    """Sum up causes in a few words: 'data: items; weights: deb, usr'."""
    names: dict[Kind, dict[str, None]] = {}
    for cause in sorted(causes, key=lambda cause: KINDS.index(cause.kind)):
        names.setdefault(cause.kind, {})[cause.name.rpartition(": ")[2].removeprefix("weights ")] = None
    return "; ".join(kind if list(of_kind) == [kind] else f"{kind}: {', '.join(of_kind)}"
                     for kind, of_kind in names.items())


def _kind(name: str, old: str, new: str) -> Kind:
    part_name = name.rpartition(": ")[2]
    if part_name in PARTS:
        return PARTS[part_name]
    same_name = part_name.startswith("weights ") or DIGEST.sub("", old) == DIGEST.sub("", new)
    return "weights" if same_name else "options"


def _dataset(old: DatasetEntry, new: DatasetEntry) -> Iterator[Cause]:
    before, after = ({"items": f"{entry.items} ({entry.fingerprint[:12]})",
                      "ratings": f"{entry.ratings} ({entry.ratings_fingerprint[:12]})"} for entry in (old, new))
    return _changed("data", before, after)


def _environment(old: Run, new: Run) -> Iterator[Cause]:
    def fields(run: Run, names: Mapping[str, str]) -> dict[str, str]:
        return {name: getattr(run, field) or "unknown" for name, field in names.items()}

    code = {"version of the harness": "version", "commit of the harness": "commit"}
    machine = {name: name for name in ("python", "platform", "device")}
    yield from _changed("code", fields(old, code), fields(new, code))
    yield from _changed("environment", old.packages, new.packages, "not installed")
    yield from _changed("environment", fields(old, machine), fields(new, machine))


def _options(old: Run, new: Run, *, scores: bool) -> Iterator[Cause]:
    """Yield the options that differ: either the options that affect every score, or the others and the seed."""
    def texts(run: Run) -> dict[str, str]:
        values = {name: value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
                  for name, value in run.options.items() if (name in SCORE_OPTIONS) == scores}
        return values if scores else {"seed": str(run.seed), **values}

    for cause in _changed("options", texts(old), texts(new), "not set"):
        yield replace(cause, kind=SCORE_OPTIONS.get(cause.name, cause.kind))


def _changed(kind: Kind, old: Mapping[str, str], new: Mapping[str, str], unset: str = "") -> Iterator[Cause]:
    for name in sorted({**old, **new}):
        if old.get(name, unset) != new.get(name, unset):
            yield Cause(kind, name, old.get(name, unset), new.get(name, unset))
