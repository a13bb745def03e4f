"""A metric in a file or folder that is not installed: `--metric ./my_metric.py`, `--metric ./my-metric`.

A file holds one metric. A folder is a package: its pyproject.toml names the metric as an entry point, as it would be
installed. One that asks for an environment of its own runs there (metrics/isolation), any other is imported.

The files are compiled as they are at that moment, never from cached bytecode, and their digest is in the signature.
Unchanged files are not imported again. It is foreign code: whatever its import raises becomes a BrokenPlugin with file
and line.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import tomllib
from dataclasses import dataclass
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from metrics.errors import BrokenPlugin, MetricError
from metrics.external import importing
from metrics.external.importing import Files, Source, guarded
from metrics.metric import GROUP, Metric, MetricCard, as_metric, made_from

OWN = ("benchmarks", "metrics", "harness", "leaderboard")
"""The packages of this project, which no plug-in may take the place of."""

_IMPORTED: dict[tuple[Path, str], type[Metric]] = {}


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """What a folder says of its metric: the name, and the class in a module."""

    name: str
    module: str
    attribute: str


def metric_class(name: str) -> type[Metric]:
    """The class in a file, or in the package of a folder; BrokenPlugin where there is none."""
    path = Path(name).expanduser()
    if path.is_dir():
        return _in_folder(name, path.resolve())
    if path.suffix == ".py" and path.is_file():
        return _in_file(name, path.resolve())
    raise BrokenPlugin(f"{name}: no such file, nor a folder with a pyproject.toml")


def _in_file(shown: str, path: Path) -> type[Metric]:
    content = _read(shown, path)
    digest = hashlib.sha256(content).hexdigest()
    if (path, digest) not in _IMPORTED:
        module_name = f"_metric_of_{hashlib.sha256(str(path).encode() + content).hexdigest()[:16]}"
        source = Source(path, content)
        module = module_from_spec(source.spec(module_name))
        sys.modules[module_name] = module  # where a dataclass looks its annotations up
        try:
            with guarded(shown, path):
                source.exec_module(module)
            _IMPORTED[path, digest] = _noted(_only(shown, module, content), digest)
        except BrokenPlugin:
            del sys.modules[module_name]
            raise
    return _IMPORTED[path, digest]


def _only(shown: str, module: Any, content: bytes) -> type[Metric]:
    """The one metric that a file defines."""
    own = [kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == module.__name__
           and isinstance(vars(kind).get("card"), MetricCard)]
    kinds = list({id(kind): kind for kind in own}.values())
    lines = importing.classes(content)
    if len(kinds) != 1:
        held = " and ".join(f"{kind.__name__} in line {lines.get(kind.__name__, 0)}" for kind in kinds)
        problem = f"holds {len(kinds)} metrics, {held}; a file has one" if kinds else (
            "holds no metric: no class of it has a card")
        raise BrokenPlugin(f"{shown}: {problem}")
    return _checked(f"{shown}, line {lines.get(kinds[0].__name__, 0)}", kinds[0])


def _in_folder(shown: str, folder: Path) -> type[Metric]:
    from metrics.external import isolation

    if isolation.runs_apart(folder):
        return _checked(shown, isolation.metric_class(folder))
    point = _entry_point(shown, folder)
    top = point.module.partition(".")[0]
    root = folder / "src" if (folder / "src").is_dir() else folder
    files = Files.under(root, top)
    if (folder, files.digest) not in _IMPORTED:
        _make_room(shown, top, folder)
        with guarded(shown, root), files.importable():
            module = importing.imported(point.module)
        kind = getattr(module, point.attribute, None)
        if kind is None:
            raise BrokenPlugin(f"{shown}: {point.module} has no {point.attribute!r}, which its pyproject.toml names")
        metric = _checked(f"{shown}: {point.module}", kind)
        if metric.card.name != point.name:
            raise BrokenPlugin(f"{shown}: its pyproject.toml names {point.name!r}, its card {metric.card.name!r}")
        _IMPORTED[folder, files.digest] = _noted(metric, files.digest)
    return _IMPORTED[folder, files.digest]


def _entry_point(shown: str, folder: Path) -> EntryPoint:
    """The only entry point of a folder's pyproject.toml in the group of metrics."""
    path = folder / "pyproject.toml"
    if not path.is_file():
        raise BrokenPlugin(f"{shown}: no pyproject.toml is in it; `harness new metric NAME` writes a folder with one")
    try:
        points = tomllib.loads(_read(shown, path).decode())["project"]["entry-points"][GROUP]
        (name, value), = points.items()
        module, attribute = value.split(":")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BrokenPlugin(f"{shown}: pyproject.toml: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BrokenPlugin(f'{shown}: pyproject.toml: [project.entry-points."{GROUP}"] should hold one line, '
                           'NAME = "MODULE:CLASS"') from error
    return EntryPoint(name, module.strip(), attribute.strip())


def _make_room(shown: str, top: str, folder: Path) -> None:
    """Forget what was imported of the folder before; a module of that name from elsewhere is not replaced."""
    module = sys.modules.get(top)
    held = Path(getattr(module, "__file__", None) or "/").resolve()
    if top in OWN or top in sys.stdlib_module_names or (module is not None and not held.is_relative_to(folder)):
        raise BrokenPlugin(f"{shown}: its module {top!r} has the name of another that is in use; rename it")
    for name in [name for name in sys.modules if name.partition(".")[0] == top]:
        del sys.modules[name]


def _checked(where: str, kind: Any) -> type[Metric]:
    """The class, where it is a metric."""
    if not inspect.isclass(kind):
        raise BrokenPlugin(f"{where}: {kind!r:.80} is no class")
    try:
        return as_metric(kind)
    except MetricError as error:
        raise BrokenPlugin(f"{where}: {error}") from error


def _noted(kind: type[Metric], digest: str) -> type[Metric]:
    made_from(kind, digest)
    return kind


def _read(shown: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BrokenPlugin(f"{shown}: {error.strerror or error}") from error
