"""The registry: every metric by name, imported when it is first needed.

A built-in metric is a file in a family's folder, or a package there with a `metric.py`; its name is the file's name
with hyphens. Installed packages add metrics through entry points in the group `harness.metrics`.

A metric is requested as `NAME` or `NAME[option=value,...]`, or as `TITLE=NAME[...]` with a title for display. Two
further kinds of name are not listed: `PREFIX:NAME` (`judge:PROMPT`, see metrics/external) and the path of a file or
folder (metrics/external/files.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from benchmarks.errors import did_you_mean, nearest
from metrics import paths
from metrics.errors import BadOption, BrokenPlugin, MetricError, UnknownMetric
from metrics.metric import GROUP, Adaptive, Metric, MetricCard, as_metric, class_in

FAMILIES = ("lexical", "embedding", "likelihood", "control", "composite", "trained", "graph")
OPTIONS = (int, float, str, Path)
"""Types of options, besides Literal."""
TITLED = re.compile(r"([^=\[:/\\]+)=(.+)")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A metric with its options; `suffix` shows options that differ from their defaults, `title` is for display."""

    metric: Metric
    suffix: str = ""
    requested: str = ""
    title: str = ""

    @property
    def label(self) -> str:
        return self.metric.card.name + self.suffix


@functools.cache
def _built_in() -> dict[str, str]:
    modules = {}
    for family in FAMILIES:
        for path in (Path(__file__).parent / family).iterdir():
            name, module = path.stem.replace("_", "-"), f"metrics.{family}.{path.stem}"
            if (path / "metric.py").is_file():
                modules[name] = f"{module}.metric"
            elif path.suffix == ".py" and not path.name.startswith("_"):
                modules[name] = module
    return dict(sorted(modules.items()))


@functools.cache
def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP)) if point.name not in _built_in()}


def names() -> tuple[str, ...]:
    return (*_built_in(), *_plugins())


def card(name: str) -> MetricCard:
    return _kind(name).card


def is_built_in(name: str) -> bool:
    return name in _built_in()


def is_known(requested: str) -> bool:
    """Return True for a listed name, a path, or a name with a prefix."""
    name = split(requested)[0]
    return ":" in name or is_path(name) or name in names()


def is_path(name: str) -> bool:
    """Return True for a path such as ./my_metric.py or ../my-metric/, but not for METRIC/COLUMN."""
    if ":" in name or ".py/" in name:
        return False
    return name.endswith(".py") or "\\" in name or ("/" in name and name.partition("/")[0] not in names())


def metric_of_column(column: str) -> str:
    """Return the built-in metric that has this column; "" if there is none or a metric has the name."""
    return "" if column in names() else next((metric for metric in _built_in() if column in card(metric).columns), "")


def plugin_package(name: str) -> str:
    """Return package and version of a plug-in; empty for a built-in metric."""
    return _package(_plugins()[name]).strip(" ,") if name in _plugins() else ""


def ignored_plugins() -> tuple[str, ...]:
    """Describe the plug-ins that are ignored because a built-in metric has their name."""
    return tuple(f"{point.name} ({point.value}{_package(point)}) is ignored: a built-in metric has that name"
                 for point in entry_points(group=GROUP) if point.name in _built_in())


def without_folders(requested: str) -> str:
    """Return the name of a metric without this machine's folders: ./my_metric.py for /home/me/my_metric.py."""
    return with_paths(requested, lambda path: paths.HERE + paths.last_component(path))


def with_paths(requested: str, change: Callable[[str], str]) -> str:
    """Return the name of a metric with its paths changed, also those in options; `change` must be idempotent."""
    title, requested = titled(requested)
    name, options = split(requested)
    prefix, _, path = name.partition(":")
    if is_path(name):
        name = change(name)
    elif prefix == "scores" and path.casefold().endswith((".csv", ".tsv")):
        name = f"scores:{change(path)}"
    changed = paths.PATH.sub(lambda match: change(match[0]), f"{name}[{options}]" if options else name)
    return f"{title}={changed}" if title else changed


def titled(requested: str) -> tuple[str, str]:
    """Split `TITLE=METRIC` into title and metric; the title is empty if there is none."""
    parts = TITLED.fullmatch(requested)
    return (parts[1].strip(), parts[2].strip()) if parts else ("", requested)


def choose(requested: str, **defaults: Any) -> Chosen:
    """Return the metric for `NAME[option=value,...]`; `defaults` apply to options of these names that are not set."""
    title, requested = titled(requested)
    name, text = split(requested)
    kind = _kind(name)
    values = option_values(kind, name, requested, text)
    if issubclass(kind, Adaptive):
        kind = kind.for_options(values)
    default_values: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    changed = [f"{key}={value}" for key, value in sorted(values.items())
               if value != default_values[key] and key not in kind.card.unsigned]
    suffix = f"[{paths.bare(','.join(changed))}]" if changed else ""
    arguments = {key: value for key, value in defaults.items() if key in default_values} | values
    return Chosen(kind(**arguments), suffix, requested, title)


def split(requested: str) -> tuple[str, str]:
    """Split off the options in brackets; a name with a colon may itself contain brackets."""
    if not requested.isprintable():
        raise BadOption(f"{requested!r:.80}: a metric's name must be one line of printable characters")
    partition = requested.rpartition if ":" in requested.partition("[")[0] else requested.partition
    name, bracket, rest = partition("[")
    if not bracket or (":" in name and "]" in rest[:-1]):
        return requested.strip(), ""
    if not rest.endswith("]"):
        raise BadOption(f"{requested!r}: options must be written as NAME[option=value,...]")
    return name.strip(), rest.removesuffix("]")


def option_values(kind: type[Any], name: str, requested: str, text: str) -> dict[str, Any]:
    """Parse `option=value,...` by the types of the class's fields."""
    fields = {field.name for field in dataclasses.fields(kind)}
    hints = {key: hint for key, hint in typing.get_type_hints(kind).items() if key in fields}
    for key, hint in hints.items():
        if not (hint is Any or get_origin(hint) is Literal or (isinstance(hint, type) and issubclass(hint, OPTIONS))):
            raise BrokenPlugin(f"{name}: the option {key!r} must be of type int, float, str, bool, File or Literal, "
                               f"not {getattr(hint, '__name__', hint) if isinstance(hint, type) else hint}")
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in re.split(r",(?![^\[]*\])", text))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in hints:
            remedy = f"; {nearest(key, hints)}" if hints else "; it takes no options"
            raise BadOption(f"{requested!r}: {name} has no option {key!r}{remedy}")
        try:
            values[key] = _value(hints[key], value)
        except ValueError as error:
            raise BadOption(f"{requested!r}: {key} must be {error}") from None
    return values


def _value(hint: Any, text: str) -> Any:
    """Convert the text of an option to its type; the message of a ValueError says what is expected."""
    if hint is Any:
        for kind in (int, float):
            with contextlib.suppress(ValueError):
                return kind(text)
        return {"true": True, "false": False}.get(text.casefold(), text)
    if hint is bool or get_origin(hint) is Literal:
        choices = {str(choice).casefold(): choice for choice in get_args(hint) or (True, False)}
        if text.casefold() not in choices:
            suggestion = f"; {did_you_mean(text, choices)}".removesuffix("; ")
            raise ValueError(f"one of {', '.join(choices)}, not {text!r}{suggestion}")
        return choices[text.casefold()]
    try:
        return hint(text)
    except ValueError:
        raise ValueError(f"of type {hint.__name__}, not {text!r}") from None


def _kind(name: str) -> type[Metric]:
    """Return the class of a name; not cached for a path or a prefix, since the file may have changed."""
    if is_path(name):
        from metrics.external import files

        kind = files.metric_class(name)
        if is_built_in(kind.card.name):
            raise BrokenPlugin(f"{name}: a built-in metric is named {kind.card.name!r}; give the card another name")
        return kind
    if ":" in name:
        from metrics import external

        return external.metric_class(name)
    return metric_class(name)


@functools.cache
def metric_class(name: str) -> type[Metric]:
    if name in _built_in():
        return class_in(importlib.import_module(_built_in()[name]), name)
    if name in _plugins():
        return _load(_plugins()[name])
    for path in (f"./{name}", f"./{name}.py"):
        if Path(path).exists():
            raise UnknownMetric(f"no metric {name!r}; for the path write {path}")
    metric = metric_of_column(name)
    hint = f"it is a column of {metric!r}: use --metric {metric}" if metric else nearest(name, names())
    raise UnknownMetric(f"no metric {name!r}; {hint}")


def _load(point: EntryPoint) -> type[Metric]:
    where = f"{point.name} ({point.value}{_package(point)})"
    try:
        loaded = point.load()
        kind = as_metric(loaded) if inspect.isclass(loaded) else class_in(loaded, point.name)
    except MetricError as error:
        raise BrokenPlugin(f"{where}: {error}") from error
    except (Exception, SystemExit) as error:
        raise BrokenPlugin(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    if kind.card.name != point.name:
        raise BrokenPlugin(f"{where}: its card is named {kind.card.name!r}, but its entry point {point.name!r}; "
                           "give both the same name")
    from metrics.external import files

    files.sign(kind, point.module)  # as if it were loaded from its folder
    return kind


def _package(point: EntryPoint) -> str:
    return f", {point.dist.name} {point.dist.version}" if point.dist else ""
