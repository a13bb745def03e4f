"""What a metric is: a frozen dataclass whose fields are its options, a card, and `score`.

The signature says everything a score depends on besides the items: name, revision, options and the digests of
its models, its resources and, for a plug-in, its file. That one string is cache key, provenance and report line.
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
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast, get_args, runtime_checkable
from weakref import WeakKeyDictionary

from benchmarks.dataset import Item, Level
from metrics.column import Column as Column  # what a metric gives, and what its author imports from here
from metrics.column import Columns as Columns
from metrics.errors import MetricError, MissingResource

if TYPE_CHECKING:
    from metrics.models.service import Models

NEEDS = ("references", "context", "facts")
"""What a metric can need of an item."""

KINDS = ("encoder", "lm", "vectors")
"""The kinds of model that a metric can take."""

GROUP = "harness.metrics"
"""The group of entry points by which packages bring metrics."""

System = Literal["as published", "same method, smaller model", "another method", "baseline", ""]
"""How a metric stands to its paper's system; a plug-in need not say."""

FittedOn = Literal["", "dialogues", "ratings"]
"""What weights were fitted on."""

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class MetricCard:
    """What is known of a metric without running it.

    `needs` names what an item must have (references, context, facts), `resources` the data to be fetched; `models` the
    kinds of model it takes (encoder, lm, vectors), each an option of that name, empty for the model of the run;
    `checkpoints` the trained weights it reads, for the encoder it takes.
    `scope` is "dataset" where an item's score depends on the other items. `unsigned` names the options that change
    speed or place but no score. `departures` says in one line each where the
    metric differs from its paper's `system`.
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


@runtime_checkable
class Metric(Protocol):
    """A frozen dataclass with a card; its fields are its options."""

    card: ClassVar[MetricCard]

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Score each item: one column per promised name, as long as `items`, NaN where not scorable."""


@runtime_checkable
class Dependent(Protocol):
    """A metric whose scores depend on more than options and models, such as the versions of a library."""

    def depends(self, models: Models) -> tuple[str, ...]:
        """Return further parts of the signature."""


@runtime_checkable
class Adaptive(Protocol):
    """A metric class whose card depends on the options."""

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> Any:
        """Return the class to use with these options."""


class Trained:
    """Base class of metrics with trained weights; the options decide which."""

    __slots__ = ()
    card: ClassVar[MetricCard]

    @property
    def weights_name(self) -> str:
        """Name of the checkpoint trained with these options."""
        return self.card.checkpoints[0]

    @classmethod
    def implied(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options that these options imply."""
        del values
        return {}


class File(str):
    """An option's value that is the path of a file: in a signature stand its name and the digest of its content."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The path, with ~ made plain."""
        return Path(self).expanduser()

    @property
    def identity(self) -> str:
        """NAME@DIGEST, or nothing where no file is named."""
        return f"{self.path.name}@{hashlib.sha256(self.content()).hexdigest()[:12]}" if self else ""

    def content(self) -> bytes:
        """What the file holds, or MissingResource."""
        try:
            return self.path.read_bytes()
        except OSError as error:
            raise MissingResource(f"{self.path}: {error.strerror}") from error


NO_FILE = File()


def is_name(text: str) -> bool:
    """Whether a metric can have that name: small letters and digits, with hyphens between."""
    return _NAME.fullmatch(text) is not None


def as_metric(kind: Any) -> type[Metric]:
    """The class itself, where it is a metric; MetricError with what it lacks."""
    own = getattr(kind, "card", None)
    scores = callable(getattr(kind, "score", None))
    if not (dataclasses.is_dataclass(kind) and scores and isinstance(own, MetricCard)):
        raise MetricError(f"{kind.__qualname__} is no dataclass with a card and a method score")
    if not is_name(own.name) or set(own.needs) - set(NEEDS) or not own.columns:
        raise MetricError(f"{own.name!r}: a card has a name of small letters, digits and hyphens, one column or more, "
                          f"and needs among {', '.join(NEEDS)}")
    if not own.levels or (unknown := set(own.levels) - set(get_args(Level))):
        raise MetricError(f"{own.name!r}: the levels of a card are {' and '.join(get_args(Level))}, one or both, not "
                          f"{', '.join(map(repr, sorted(unknown))) if own.levels else 'none'}")
    named = {field.name for field in dataclasses.fields(kind)} & set(KINDS)
    if named != set(own.models):
        raise MetricError(f"{own.name!r}: its card has models={own.models!r} and its options for models are "
                          f"{', '.join(sorted(named)) or 'none'}; each of {', '.join(KINDS)} stands in both or neither")
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise MetricError(f"{own.name!r}: the option {field.name!r} has no default, and every option has one")
    return cast("type[Metric]", kind)


def variant(kind: type[Any], options: Iterable[tuple[str, Any, Any]] = (), **attributes: Any) -> type[Metric]:
    """The class of a metric with another card or other attributes, and more options: name, type and default of each."""
    fields = [(name, type_, dataclasses.field(default=default)) for name, type_, default in options]
    namespace = {"__module__": kind.__module__, "__doc__": kind.__doc__, **attributes}
    return cast("type[Metric]", dataclasses.make_dataclass(kind.__name__, fields, bases=(kind,), namespace=namespace,
                                                           frozen=True, slots=True))


def options(metric: Metric) -> dict[str, Any]:
    """The options of a metric, as they are set."""
    return {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}  # type: ignore[arg-type]


def signature(metric: Metric, models: Models) -> str:
    """Everything the scores depend on besides the items, as one line: `bleu|r1|references=standard|...`."""
    parts = [metric.card.name.partition(":")[0], f"r{metric.card.revision}"]  # of judge:PROMPT the first part is judge
    for name, value in options(metric).items():
        if name in metric.card.unsigned:
            continue
        if name in metric.card.models:
            value = models.identity(name, value)
        parts.append(f"{name}={value.identity if isinstance(value, File) else value}")
    parts += [f"{name}={models.resource(name).digest[:12]}" for name in metric.card.resources]
    parts += [f"weights={models.checkpoint(name, getattr(metric, 'encoder', '')).identity}"
              for name in checkpoints(metric)]
    if isinstance(metric, Dependent):
        parts += metric.depends(models)
    parts += _code(type(metric))
    return "|".join(parts)


def checkpoints(metric: Metric) -> tuple[str, ...]:
    """Return the names of the weights that a metric reads with its options."""
    names = metric.card.checkpoints
    return (metric.weights_name, *names[1:]) if isinstance(metric, Trained) and names else names


_READ: WeakKeyDictionary[type, str] = WeakKeyDictionary()


def made_from(kind: type, digest: str) -> None:
    """Note the digest of the files that a plug-in was read from."""
    _READ[kind] = digest


@functools.cache
def _code(kind: type) -> tuple[str, ...]:
    """The digest of a plug-in's file, because its author edits it more often than its revision."""
    if kind in _READ:  # the file may have been edited since
        return (f"code={_READ[kind][:12]}",)
    if kind.__module__.partition(".")[0] == __package__:
        return ()
    try:
        source = inspect.getsource(inspect.getmodule(kind) or kind)
    except (OSError, TypeError):  # typed in, or compiled
        return ()
    return (f"code={hashlib.sha256(source.encode()).hexdigest()[:12]}",)


def class_in(module: Any, name: str) -> type[Metric]:
    """The metric of that name that a module holds."""
    for value in vars(module).values() if inspect.ismodule(module) else ():
        own = getattr(value, "card", None)
        if inspect.isclass(value) and isinstance(own, MetricCard) and own.name == name:
            return as_metric(value)
    raise MetricError(f"{getattr(module, '__name__', module)} holds no class whose card is named {name!r}")
