"""The interface of a metric: a frozen dataclass whose fields are its options, with a card and a method `score`.

`signature` names everything that its scores depend on besides the items: name, revision, options, the digests of models
and resources and, for a plug-in, of its file. It serves as cache key and as provenance.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias, cast, get_args, runtime_checkable
from weakref import WeakKeyDictionary

from benchmarks.dataset import Item, Level, Quality
from metrics.column import Column as Column  # authors of metrics import both from here
from metrics.column import Columns as Columns
from metrics.column import split_aggregate, split_quality
from metrics.errors import MetricError, MissingResource

if TYPE_CHECKING:
    from metrics.models.service import Models

NEEDS = ("references", "context", "facts")
KINDS = ("encoder", "lm", "vectors")
"""Kinds of model that a metric can use."""
Signature: TypeAlias = Mapping[str, str]
"""Everything that scores depend on besides the items, by name: see `signature`."""
RESERVED = frozenset({"metric", "revision", "code"})
"""Parts of every signature, whose names no option can have."""
GROUP = "harness.metrics"
"""Entry point group of plug-ins."""

System = Literal["as published", "same method, smaller model", "another method", "baseline", "control", ""]
FittedOn = Literal["", "dialogues", "ratings"]


@dataclass(frozen=True, slots=True)
class MetricCard:
    """Description of a metric, available without running it.

    needs        what an item must have: references, context, facts
    models       kinds of model (encoder, lm, vectors); each is also an option, empty for the run's model
    resources    data that must be fetched, such as wordnet
    checkpoints  trained weights that the metric loads
    scope        "dataset" if an item's score depends on the other items
    system       relation to the system of the paper; `departures` lists the differences, one line each
    unsigned     options that do not affect scores, such as concurrency; left out of the signature
    later        options added in a later version; in the signature only if not at their default, so that scores
                 stored before stay valid
    """

    name: str
    title: str
    columns: tuple[str, ...]
    family: str
    levels: tuple[Level, ...] = ("turn",)
    needs: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    paper: str = ""
    scope: Literal["item", "dataset"] = "item"
    trained_on: str = ""
    notes: str = ""
    revision: int = 1
    system: System = ""
    departures: tuple[str, ...] = ()
    fitted_on: FittedOn = ""
    unsigned: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


@runtime_checkable
class Metric(Protocol):
    """A frozen dataclass with a card; its fields are its options."""

    card: ClassVar[MetricCard]

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a score per item for each column of the card, higher is better; NaN if an item has none."""


@runtime_checkable
class Dependent(Protocol):
    """A metric whose scores depend on more than options and models, such as the version of a library."""

    def depends(self, models: Models) -> Mapping[str, str]:
        """Return further parts of the signature."""


@runtime_checkable
class Adaptive(Protocol):
    """A metric class whose card depends on the options."""

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> Any:
        """Return the class to use with these options."""


@runtime_checkable
class Narrowing(Protocol):
    """A metric that scores only some qualities of a dataset, each in a column of its own."""

    def about(self, qualities: Sequence[Quality]) -> Metric:
        """Return the metric for a dataset with these qualities."""


@runtime_checkable
class Combining(Protocol):
    """A metric made of columns of others; metrics/composition.py has the base class."""

    def made_of(self) -> Sequence[Any]:
        """Return the columns and the metrics that they belong to."""


class Trained:
    """Base class of metrics with trained weights; the options select the checkpoint.

    A field `encoder` names the encoder that feeds the weights, empty for the run's; without the field, none does.
    """

    __slots__ = ()
    card: ClassVar[MetricCard]
    encoder: str | None = None

    @property
    def weights_name(self) -> str:
        """Name of the checkpoint trained with these options."""
        return self.card.checkpoints[0]


class File(str):
    """A file path as an option's value; the signature records the file's name and digest."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        return Path(self).expanduser()

    @property
    def identity(self) -> str:
        """NAME@DIGEST; empty without a file."""
        return f"{self.path.name}@{hashlib.sha256(self.content()).hexdigest()[:12]}" if self else ""

    def content(self) -> bytes:
        """Return the content; raise MissingResource if the file cannot be read."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise MissingResource(f"{self.path}: {error.strerror}") from error


NO_FILE = File()


def is_name(text: str) -> bool:
    """Return True if `text` is lower-case letters and digits, with single hyphens between them."""
    return re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text) is not None


def _check_card(card: MetricCard) -> None:
    if not is_name(card.name):
        raise MetricError(f"the card's name {card.name!r} must be lower-case letters and digits, with hyphens "
                          "between them, such as green-tea")
    for field in dataclasses.fields(card):
        value = getattr(card, field.name)
        if str(field.type).startswith("tuple") and isinstance(value, str):
            raise MetricError(f"{card.name!r}: {field.name} is a string; write ({value!r},)")
    if not card.columns:
        raise MetricError(f"{card.name!r}: the card lists no columns")
    if clashing := [name for name in card.columns if split_quality(name, card.columns)[1]
                 or split_aggregate(name, card.columns)[0] != name]:
        raise MetricError(f"{card.name!r}: the column {clashing[0]!r} is named like one for a quality (COLUMN@QUALITY) "
                          "or an aggregation (COLUMN:sum) of another; rename it")
    if unknown := sorted(set(card.needs) - set(NEEDS)):
        raise MetricError(f"{card.name!r}: unknown need {unknown[0]!r} in the card; known: {', '.join(NEEDS)}")
    if not card.levels or set(card.levels) - set(get_args(Level)):
        raise MetricError(f"{card.name!r}: the card's levels must be {', '.join(get_args(Level))} or both, not "
                          f"{', '.join(map(repr, card.levels)) or 'none'}")


def as_metric(kind: Any) -> type[Metric]:
    """Return the class if it is a metric; raise MetricError if a part is missing or invalid."""
    card, name = getattr(kind, "card", None), kind.__qualname__
    no_card = MetricError(f"{name} has no card: write `card: ClassVar[MetricCard] = MetricCard(...)` in the class")
    if not isinstance(card, MetricCard):
        raise no_card
    if not dataclasses.is_dataclass(kind):
        raise MetricError(f"{name} is not a dataclass: add @dataclass(frozen=True, slots=True) above `class {name}`")
    try:
        inspect.signature(getattr(kind, "score", None)).bind(None, None, None)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise MetricError(f"{name} needs a method `score(self, items, models)`") from None
    _check_card(card)
    fields = dataclasses.fields(kind)
    models = {field.name for field in fields} & set(KINDS)
    if models != set(card.models):
        raise MetricError(f"{card.name!r}: its card has models={card.models!r}, but its options for models are "
                          f"{', '.join(sorted(models)) or 'none'}; the two must agree")
    for field in fields:
        if field.name == "card":  # annotated without ClassVar
            raise no_card
        if field.name in RESERVED:
            raise MetricError(f"{card.name!r}: {field.name!r} is reserved for signatures; rename the option")
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise MetricError(f"{card.name!r}: the option {field.name!r} needs a default")
    return cast("type[Metric]", kind)


def class_in(module: Any, name: str) -> type[Metric]:
    for value in vars(module).values() if inspect.ismodule(module) else ():
        card = getattr(value, "card", None)
        if inspect.isclass(value) and isinstance(card, MetricCard) and card.name == name:
            return as_metric(value)
    raise MetricError(f"{getattr(module, '__name__', module)} has no class whose card is named {name!r}")


def variant(kind: type[Any], options: Iterable[tuple[str, Any, Any]] = (), **attributes: Any) -> type[Metric]:
    """Return a subclass with additional options (name, type, default) and other class attributes, such as the card."""
    fields = [(name, type_, dataclasses.field(default=default)) for name, type_, default in options]
    namespace = {"__module__": kind.__module__, "__doc__": kind.__doc__, **attributes}
    return cast("type[Metric]", dataclasses.make_dataclass(kind.__name__, fields, bases=(kind,), namespace=namespace,
                                                           frozen=True, slots=True))


def options(metric: Metric) -> dict[str, Any]:
    return {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}  # type: ignore[arg-type]


def checkpoints(metric: Metric) -> tuple[str, ...]:
    """Return the names of the checkpoints that a metric loads with its options."""
    names = metric.card.checkpoints
    return (metric.weights_name, *names[1:]) if isinstance(metric, Trained) and names else names


def encoder_of(metric: Metric) -> str:
    """Return the name of the encoder that a metric's weights belong to, by default the run's."""
    return str(options(metric).get("encoder", ""))


def signature(metric: Metric, models: Models) -> Signature:
    """Return everything that the scores depend on besides the items, by name.

        {"metric": "deb", "revision": "1", "encoder": "all-MiniLM-L6-v2@53aa51172d14.a9d2b0", "negatives": "random",
         "weights deb": "deb@ac5ec123f754"}

    A composite also has the parts of its inputs' signatures, prefixed by their names: `usr-dr-c: revision`.
    """
    card = metric.card
    parts = {"metric": card.name.partition(":")[0], "revision": str(card.revision)}  # `judge` of judge:PROMPT
    defaults = {field.name: field.default for field in dataclasses.fields(metric)}  # type: ignore[arg-type]
    for name, value in options(metric).items():
        if name in card.models:
            value = models.identity(name, value)
        if name not in card.unsigned and not (name in card.later and value == defaults[name]):
            parts[name] = value.identity if isinstance(value, File) else str(value)
    parts |= {name: models.resource(name).digest[:12] for name in card.resources}
    parts |= {f"weights {name}": models.checkpoint(name, encoder_of(metric)).identity for name in checkpoints(metric)}
    if isinstance(metric, Dependent):
        parts |= metric.depends(models)
    return parts | _code_digest(type(metric))


def line(signature: Signature) -> str:
    """Format a signature as one line, the key of stored scores: `bleu|revision=1|references=standard`."""
    return "|".join(value if name == "metric" else f"{name}={value}" for name, value in signature.items())


_digests: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def made_from(kind: type, digest: str) -> None:
    """Record the digest of a plug-in's files."""
    _digests[kind] = digest


@functools.cache
def _code_digest(kind: type) -> dict[str, str]:
    """Return the digest of a plug-in's code, since authors edit it without raising the revision."""
    if kind in _digests:  # the file may have changed since the import
        return {"code": _digests[kind][:12]}
    if kind.__module__.partition(".")[0] == __package__:
        return {}
    try:
        source = inspect.getsource(inspect.getmodule(kind) or kind)
    except (OSError, TypeError):  # entered interactively, or compiled
        return {}
    return {"code": hashlib.sha256(source.encode()).hexdigest()[:12]}
