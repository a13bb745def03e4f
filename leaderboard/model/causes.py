"""Why a number differs between two results: data, code, weights, options, environment.

A correlation's own causes are in its dataset, in the metric's signature and in the options that affect every score.
What differs in the whole run, such as a package, may be the cause of any change; it is named for one that has no cause
of its own. A signature names what the scores of a metric depend on, part by part:

    deb|r1|encoder=all-MiniLM-L6-v2@53aa51172d14.a9d2b0|negatives=random|weights=deb@ac5ec123f754

A composition names its inputs, each with its own signature behind `input=`; their parts carry the input's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from harness.results.rows import DatasetEntry, Results, Run

Kind: TypeAlias = Literal["data", "code", "weights", "options", "environment"]
"""What a cause is about; weights are those of models, and other files that scores are made with."""

KINDS: tuple[Kind, ...] = ("data", "code", "weights", "options", "environment")
SCORE_OPTIONS: dict[str, Kind] = {"limit": "options", "sample": "options", "ratings sha256": "data"}
"""The options of a run that affect every score or rating, with what they are about."""

DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{12}(?:\.[0-9a-f]{6})?(?:\+[0-9a-f]{6})?(?![0-9a-f])")
REVISION = re.compile(r"r\d+")
LIBRARIES = frozenset({"evaluate", "sentence-transformers"})
"""Names that a signature has with the version of a library."""

DIRTY = "-dirty"
UNSET = "not set"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that differs: `name` in a few words, and both values, empty where it is missing."""

    kind: Kind
    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Causes:
    """Everything that differs between two runs, by what it is about."""

    datasets: Mapping[str, tuple[Cause, ...]]
    metrics: Mapping[str, tuple[Cause, ...]]
    every: tuple[Cause, ...]
    """What affects every score."""
    run: tuple[Cause, ...]
    """What differs in the whole run and may affect any number."""
    unsure: bool
    """Whether code that no commit names may differ."""

    def own(self, dataset: str, metric: str) -> tuple[Cause, ...]:
        """Return the causes of a metric on a dataset."""
        return (*self.datasets.get(dataset, ()), *self.metrics.get(metric, ()), *self.every)


def causes(before: Results, results: Results) -> Causes:
    """Find everything that differs between two results and may change a number."""
    old_data = {entry.name: entry for entry in before.datasets}
    signatures = {entry.name: entry.signature for entry in before.metrics}
    same = (before.run.version, before.run.commit) == (results.run.version, results.run.commit)
    return Causes(
        datasets={entry.name: differ for entry in results.datasets if entry.name in old_data
                  and (differ := tuple(_dataset(old_data[entry.name], entry)))},
        metrics={entry.name: tuple(sorted(differ, key=lambda cause: KINDS.index(cause.kind)))
                 for entry in results.metrics if entry.name in signatures
                 and (differ := signature_causes(signatures[entry.name], entry.signature))},
        every=tuple(_options(before.run, results.run, scores=True)),
        run=(*environment(before.run, results.run), *_options(before.run, results.run, scores=False)),
        unsure=same and (before.run.commit is None or before.run.commit.endswith(DIRTY)))


def _dataset(old: DatasetEntry, new: DatasetEntry) -> Iterator[Cause]:
    """List what differs in a dataset: its items, the votes."""
    if old.fingerprint != new.fingerprint:
        yield _versions("items", old.items, old.fingerprint, new.items, new.fingerprint)
    if old.ratings_fingerprint != new.ratings_fingerprint:
        yield _versions("ratings", old.ratings, old.ratings_fingerprint, new.ratings, new.ratings_fingerprint)


def signature_causes(old: str, new: str) -> tuple[Cause, ...]:
    """List the parts in which two signatures of a metric differ."""
    before, after = parts(old), parts(new)
    names = (name for name in {**before, **after} if before.get(name) != after.get(name))
    return tuple(Cause(_kind(name, before.get(name, ""), after.get(name, "")), name,
                       before.get(name, ""), after.get(name, "")) for name in names)


def parts(signature: str) -> dict[str, str]:
    """Split a signature: `revision`, options and `weights NAME` by name, those of inputs behind the input's."""
    named: dict[str, str] = {}
    owner = ""
    tokens = list(_tokens(signature))
    for place, token in enumerate(tokens):
        name, equals, value = token.partition("=")
        if name == "input" and equals:
            owner, _, metric = value.partition("|")
            named[f"{owner}: metric"] = metric
            continue
        if name == "weights" and owner and place == len(tokens) - 1:
            owner = ""  # after the inputs of a composition come its own weights
        if place == 0:
            name, value = "metric", token
        elif not equals:
            name, value = "revision" if REVISION.fullmatch(token) else "remark", token
        elif name == "weights":
            name = f"weights {value.partition('@')[0]}"
        named[f"{owner}: {name}" if owner else name] = value
    return named


def kinds(listed: Iterable[Cause]) -> tuple[Kind, ...]:
    """List the kinds among causes, always in the same order."""
    present = {cause.kind for cause in listed}
    return tuple(kind for kind in KINDS if kind in present)


def summary(listed: Iterable[Cause]) -> str:
    """Sum up causes in a few words: 'data: items; weights: deb, usr'."""
    every = list(listed)
    named = {kind: dict.fromkeys(cause.name.rpartition(": ")[2].removeprefix("weights ") for cause in every
                                 if cause.kind == kind) for kind in kinds(every)}
    return "; ".join(kind if list(names) == [kind] else f"{kind}: {', '.join(names)}" for kind, names in named.items())


def environment(old: Run, new: Run) -> Iterable[Cause]:
    """List what differs around two runs: the harness itself, the packages, the machine."""
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


def _tokens(signature: str) -> Iterator[str]:
    """Split at the bars; `input=NAME` keeps the name of its metric behind it."""
    pieces = iter(signature.split("|"))
    for piece in pieces:
        yield f"{piece}|{next(pieces, '')}" if piece.startswith("input=") else piece


def _kind(name: str, old: str, new: str) -> Kind:
    own = name.rpartition(": ")[2]
    if own in ("revision", "code"):
        return "code"
    if own in LIBRARIES:
        return "environment"
    same = own.startswith("weights ") or DIGEST.sub("", old) == DIGEST.sub("", new)
    return "weights" if same else "options"


def _versions(name: str, old: int, old_digest: str, new: int, new_digest: str) -> Cause:
    return Cause("data", name, f"{old} ({old_digest[:12]})", f"{new} ({new_digest[:12]})")


def _options(old: Run, new: Run, *, scores: bool) -> Iterable[Cause]:
    """List the options that differ: those that affect every score, or the others, the seed among them."""
    if not scores and old.seed != new.seed:
        yield Cause("options", "seed", str(old.seed), str(new.seed))
    for name in sorted({**old.options, **new.options}):
        first, second = _both(old.options.get(name, UNSET), new.options.get(name, UNSET))
        if first != second and (name in SCORE_OPTIONS) == scores:
            yield Cause(SCORE_OPTIONS.get(name, "options"), name, first, second)


def _both(old: object, new: object) -> tuple[str, str]:
    """Write two values of an option; of two lists only what the other lacks."""
    if isinstance(old, list) and isinstance(new, list):
        return _more(old, new), _more(new, old)
    first, second = (value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
                     for value in (old, new))
    return first, second


def _more(own: list[object], other: list[object]) -> str:
    if own == other:
        return ""
    if more := [str(value) for value in own if value not in other]:
        return f"also {', '.join(more)}"
    return "the same, in another order" if len(own) == len(other) else "nothing more"
