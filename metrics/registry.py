"""The registry: every metric by name, imported when it is first needed.

A metric is one file in a family's folder, or the file `metric.py` of a package there; the name of the file or the
package, with hyphens, is the metric's. Other packages add
theirs by an entry point in the group `harness.metrics`, whose name is the metric's.

A metric is named `NAME` or `NAME[option=value,...]`. A name with a colon is one of another library
(metrics/external/libraries), such as `judge:PROMPT`; a path, such as `./my_metric.py`, is a metric that is not
installed (metrics/external/files.py). Neither is listed, for there is no end to them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import re
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import metrics as package
from benchmarks.errors import nearest
from metrics import paths
from metrics.errors import BadOption, BrokenPlugin, MetricError, UnknownMetric
from metrics.metric import GROUP, Adaptive, Metric, MetricCard, Trained, as_metric, class_in

FAMILIES = ("lexical", "embedding", "likelihood", "control", "composite", "trained", "graph")
"""The folders of metrics."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A metric with its options; `label` names it in a report, `suffix` its columns, `requested` is its full name."""

    metric: Metric
    suffix: str = ""
    requested: str = ""

    @property
    def label(self) -> str:
        """The name of the metric with the options that were set."""
        return self.metric.card.name + self.suffix


@functools.cache
def _built_in() -> dict[str, str]:
    modules = {}
    for root in package.__path__:
        for family in FAMILIES:
            for module in pkgutil.iter_modules([str(Path(root) / family)]):
                own = f"{package.__name__}.{family}.{module.name}"
                if (Path(root) / family / module.name / "metric.py").is_file():
                    modules[module.name.replace("_", "-")] = f"{own}.metric"
                elif not module.ispkg and not module.name.startswith("_"):
                    modules[module.name.replace("_", "-")] = own
    return dict(sorted(modules.items()))


@functools.cache
def _plugged_in() -> dict[str, EntryPoint]:
    return {point.name: point for point in sorted(entry_points(group=GROUP)) if point.name not in _built_in()}


def shadowing() -> tuple[str, ...]:
    """The plug-ins that are left out because they take the name of a built-in metric."""
    return tuple(f"{point.name} ({point.value}{_package(point)}) is left out: a built-in metric has that name"
                 for point in entry_points(group=GROUP) if point.name in _built_in())


def names() -> tuple[str, ...]:
    """Every metric: the built-in ones, then the plug-ins."""
    return (*_built_in(), *_plugged_in())


@functools.cache
def metric_class(name: str) -> type[Metric]:
    """The class behind a name; an unknown name is answered with the nearest."""
    if name in _built_in():
        return class_in(importlib.import_module(_built_in()[name]), name)
    if name in _plugged_in():
        return _load(_plugged_in()[name])
    raise UnknownMetric(f"no metric {name!r}; {_hint(name)}")


def card(name: str) -> MetricCard:
    """The card of a metric."""
    return _kind(name).card


def is_known(requested: str) -> bool:
    """Whether `NAME` or `NAME[...]` is the name of a metric, or has a colon as those of other libraries do."""
    name = split(requested)[0]
    return ":" in name or is_path(name) or name in names()


def is_path(name: str) -> bool:
    """Whether a name is the path of a file or folder: ./my_metric.py, ../my-metric/; METRIC/COLUMN is none."""
    if ":" in name or ".py/" in name:
        return False
    return name.endswith(".py") or "\\" in name or ("/" in name and name.partition("/")[0] not in names())


def is_built_in(name: str) -> bool:
    """Whether the project comes with a metric of that name."""
    return name in _built_in()


def without_folders(requested: str) -> str:
    """The name of a metric without the folders of this machine: ./my_metric.py for /home/me/my_metric.py."""
    name, options = split(requested)
    prefix, _, path = name.partition(":")
    if is_path(name):
        name = paths.HERE + paths.last(name)
    elif prefix == "scores":
        name = f"scores:{paths.HERE}{paths.last(path)}"
    return paths.bare(f"{name}[{options}]" if options else name, paths.HERE)


def _kind(name: str) -> type[Metric]:
    """The class behind a name; one of another library, or of a file, is made anew, since that can have changed."""
    if is_path(name):
        from metrics.external import files

        kind = files.metric_class(name)
        if is_built_in(kind.card.name):
            raise BrokenPlugin(f"{name}: a built-in metric is named {kind.card.name!r}; give the card another name")
        return kind
    if ":" not in name:
        return metric_class(name)
    from metrics.external import libraries

    return libraries.metric_class(name)


def origin(name: str) -> str:
    """The package that brings a plug-in; empty for a built-in metric."""
    return _package(_plugged_in()[name]).strip(" ,") if name in _plugged_in() else ""


def _load(point: EntryPoint) -> type[Metric]:
    """The class of a plug-in. It is foreign code: whatever its import raises becomes a BrokenPlugin."""
    try:
        loaded = point.load()
        kind = as_metric(loaded) if inspect.isclass(loaded) else class_in(loaded, point.name)
    except MetricError as error:
        raise BrokenPlugin(f"{point.name}{_package(point)}: {error}") from error
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BrokenPlugin(f"{point.name} ({point.value}{_package(point)}) cannot be loaded: {reason}") from error
    if kind.card.name != point.name:
        raise BrokenPlugin(f"{point.name} ({point.value}{_package(point)}): its card is named {kind.card.name!r}")
    from metrics.external import files

    files.sign(kind, point.module)  # as the same package from its folder
    return kind


def _package(point: EntryPoint) -> str:
    return f", {point.dist.name} {point.dist.version}" if point.dist else ""


def _hint(name: str) -> str:
    """What an unknown name may mean: a folder or file here, or a column of a built-in metric; else the nearest name."""
    for path in (f"./{name}", f"./{name}.py"):
        if Path(path).exists():
            return f"a path is asked for with its folder: {path}"
    holder = next((metric for metric in _built_in() if name in card(metric).columns), "")
    return f"it is a column of {holder!r}" if holder else nearest(name, names())


def choose(requested: str, **defaults: Any) -> Chosen:
    """The metric for `NAME` or `NAME[option=value,...]`; `defaults` reach the options of that name."""
    name, rest = split(requested)
    kind = _kind(name)
    values = option_values(kind, name, requested, rest)
    if issubclass(kind, Adaptive):
        kind = kind.for_options(values)
    implied = kind.implied(values) if issubclass(kind, Trained) else {}
    known = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    set_ = {key: value for key, value in values.items()
            if value != implied.get(key, known[key].default) and key not in kind.card.unsigned}
    shown = ",".join(f"{key}={value}" for key, value in sorted(set_.items()))
    suffix = f"[{paths.bare(shown)}]" if set_ else ""
    arguments = {key: value for key, value in defaults.items() if key in known} | values
    return Chosen(kind(**arguments), suffix, requested)


def split(requested: str) -> tuple[str, str]:
    """The name, and what stands in brackets behind it; a name with a colon may hold brackets itself."""
    if not requested.isprintable():
        raise BadOption(f"{requested!r:.80}: a metric is asked for in one line of printable signs")
    cut = requested.rpartition if ":" in requested.partition("[")[0] else requested.partition
    before, bracket, rest = cut("[")
    if not bracket or (":" in before and "]" in rest[:-1]):
        return requested.strip(), ""
    if not rest.endswith("]"):
        raise BadOption(f"{requested!r}: options are written NAME[option=value,...]")
    return before.strip(), rest.removesuffix("]")


def option_values(kind: type[Any], name: str, requested: str, text: str) -> dict[str, Any]:
    """The values of the options that a text `option=value,...` sets."""
    fields = {field.name for field in dataclasses.fields(kind)}
    hints = {key: hint for key, hint in typing.get_type_hints(kind).items() if key in fields}
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in re.split(r",(?![^\[]*\])", text))):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or key not in hints:
            known = f"; {nearest(key, hints)}" if hints else "; it has none"
            raise BadOption(f"{requested!r}: {name} has no option {key!r}{known}")
        values[key] = _read(requested, key, value, hints)
    return values


def _read(requested: str, key: str, value: str, hints: Mapping[str, Any]) -> Any:
    hint = hints[key]
    if hint is Any:
        return _plain(value)
    if get_origin(hint) is Literal:
        choices = {str(choice): choice for choice in get_args(hint)}
    elif hint is bool:
        choices = {"true": True, "false": False}
    else:
        try:
            return hint(value)
        except ValueError:
            raise BadOption(f"{requested!r}: {key} should be of type {hint.__name__}, not {value!r}") from None
    if value.casefold() not in choices:
        raise BadOption(f"{requested!r}: {key} should be one of {', '.join(choices)}, not {value!r}")
    return choices[value.casefold()]


def _plain(value: str) -> Any:
    """A value whose type is not known: a number, true, false or a text."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return {"true": True, "false": False}.get(value.casefold(), value)
