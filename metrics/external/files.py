"""A metric in a file or folder that is not installed: `--metric ./my_metric.py`, `--metric ./my-metric`.

A file holds one metric. A folder is a package: its pyproject.toml names the metric as an entry point, as for an
installed package. A metric with its own environment runs there (metrics/external/isolation), any other is imported.

Files are compiled from source, never loaded from cached bytecode, and their digest is in the signature. Unchanged files
are not imported again. An exception during import becomes a BrokenPlugin with file and line; prints go to stderr.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import hashlib
import importlib
import inspect
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from benchmarks.errors import nearest
from benchmarks.formats import records
from metrics.errors import BrokenPlugin, MetricError
from metrics.external import isolation
from metrics.metric import GROUP, Metric, MetricCard, as_metric, made_from
from metrics.models.resources import digest_of

PACKAGES = ("benchmarks", "metrics", "harness", "leaderboard")
"""This project's packages, which no plug-in may replace."""
SKIPPED_FOLDERS = frozenset({"__pycache__", "build", "dist", "node_modules", "tests", "results", "report",
                             "scores", "site", "statistics"})
"""Folders that do not affect scores, besides hidden ones and *.egg-info."""

_IMPORTED: dict[tuple[Path, str], type[Metric]] = {}
_MODULES: dict[Path, set[str]] = {}
"""Modules that the last import of a metric's folder loaded from its files."""


def metric_class(name: str) -> type[Metric]:
    """Return the class of the metric in a file or folder; raise BrokenPlugin if there is none."""
    path = Path(name).expanduser()
    if path.is_dir():
        return _in_folder(name, path.resolve())
    if path.suffix == ".py" and path.is_file():
        return _in_file(name, path.resolve())
    raise BrokenPlugin(f"{name}: no such file or folder; a file must end in .py")


def _in_file(requested: str, path: Path) -> type[Metric]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BrokenPlugin(f"{requested}: {error.strerror or error}") from error
    digest = hashlib.sha256(content).hexdigest()
    if (path, digest) not in _IMPORTED:
        module = ModuleType(f"_metric_of_{hashlib.sha256(str(path).encode() + content).hexdigest()[:16]}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module  # for the annotations of dataclasses
        try:
            with _guarded(requested, path):
                code = compile(content, path, "exec", dont_inherit=True)
                exec(code, module.__dict__)  # noqa: S102  (code that the user chose)
            _IMPORTED[path, digest] = _only_metric(requested, module, content)
        except BrokenPlugin:
            del sys.modules[module.__name__]
            raise
        made_from(_IMPORTED[path, digest], digest)
    return _IMPORTED[path, digest]


def _only_metric(requested: str, module: ModuleType, content: bytes) -> type[Metric]:
    defined = [kind for kind in dict.fromkeys(filter(inspect.isclass, vars(module).values()))
               if kind.__module__ == module.__name__]
    kinds = [kind for kind in defined if isinstance(vars(kind).get("card"), MetricCard)]
    kinds = kinds or [kind for kind in defined if hasattr(kind, "score")][:1]  # _checked reports its errors
    lines = {node.name: node.lineno for node in ast.walk(ast.parse(content)) if isinstance(node, ast.ClassDef)}
    if not kinds:
        raise BrokenPlugin(f"{requested}: has no metric: none of its classes has a card")
    if len(kinds) > 1:
        names = " and ".join(f"{kind.__name__} in line {lines.get(kind.__name__, 0)}" for kind in kinds)
        raise BrokenPlugin(f"{requested}: has {len(kinds)} metrics, {names}; keep only one")
    return _checked(f"{requested}, line {lines.get(kinds[0].__name__, 0)}", kinds[0])


def _in_folder(requested: str, folder: Path) -> type[Metric]:
    settings = read_settings(folder)
    if settings.isolated:
        name, target = _entry_point(folder) if settings.python else (folder.name, "")
        code = digest_of(folder, _files_below(folder))[:12]
        return _checked(requested, isolation.metric_class(folder, settings, name, target, code))
    if not (folder / "pyproject.toml").is_file():
        raise BrokenPlugin(f"{requested}: has no pyproject.toml; `harness new metric NAME` creates a folder with one")
    name, target = _entry_point(folder)
    module_name, _, attribute = target.partition(":")
    top, root = module_name.partition(".")[0], folder / "src" if (folder / "src").is_dir() else folder
    paths = {*_files(root, top), *(path for path in _files_below(root)
                                   if root != folder or path.suffix == ".py")}  # a project may also contain results
    digest = _digest(root, paths)
    if (folder, digest) not in _IMPORTED:
        _forget(requested, top, folder)
        before = set(sys.modules)
        try:
            with _guarded(requested, root), tempfile.TemporaryDirectory() as empty, mock.patch.multiple(
                    sys, path=[str(root), *sys.path], dont_write_bytecode=True, pycache_prefix=empty):
                importlib.invalidate_caches()
                module = importlib.import_module(module_name)
        finally:
            _MODULES[folder] = {name for name in sys.modules.keys() - before if name.partition(".")[0] not in PACKAGES
                                and Path(getattr(sys.modules[name], "__file__", None) or "/") in paths}
        kind = getattr(module, attribute, None)
        if kind is None:
            raise BrokenPlugin(f"{requested}: {module_name} has no {attribute!r}, the entry point in pyproject.toml")
        metric = _checked(f"{requested}: {module_name}", kind)
        if metric.card.name != name:
            raise BrokenPlugin(f"{requested}: named {name!r} in pyproject.toml, but {metric.card.name!r} in its card")
        made_from(metric, digest)
        _IMPORTED[folder, digest] = metric
    return _IMPORTED[folder, digest]


def read_settings(folder: Path) -> isolation.Settings:
    """Return the settings in the pyproject.toml of a folder; raise BrokenPlugin if they are invalid."""
    where = f"{folder / 'pyproject.toml'}: [tool.harness]"
    with records.refused_as(BrokenPlugin):
        settings: isolation.Settings = records.value_of(
            isolation.Settings, _project(folder).get("tool", {}).get("harness", {}), where)
    if settings.python and settings.command:
        raise BrokenPlugin(f"{where} has both python and command; remove one")
    if not settings.python:
        return settings
    python = folder / Path(settings.python).expanduser()
    if not python.is_file():
        raise BrokenPlugin(f"{where} python: {python} does not exist; create it as described in docs/protocol.md")
    return dataclasses.replace(settings, python=str(python))  # unresolved: Python finds its environment by the symlink


def _entry_point(folder: Path) -> tuple[str, str]:
    """Return name and `module:Class` of the metric in a folder, from the only entry point in its pyproject.toml."""
    points = _project(folder).get("project", {}).get("entry-points", {}).get(GROUP, {})
    if len(points) != 1 or ":" not in str(next(iter(points.values()))):
        raise BrokenPlugin(f'{folder / "pyproject.toml"}: [project.entry-points."{GROUP}"]: expected one line '
                           f'NAME = "MODULE:CLASS", found {", ".join(points) or "none"}')
    [(name, target)] = points.items()
    return name, str(target).strip()


def _project(folder: Path) -> dict[str, Any]:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    with records.refused_as(BrokenPlugin):
        return records.toml(str(path), path.read_bytes())


def sign(kind: type[Metric], module: str) -> None:
    """Sign an installed metric with the digest of its module or package, ignoring other modules beside it."""
    top = module.partition(".")[0]
    path = Path(getattr(sys.modules.get(top), "__file__", None) or "")
    if path.suffix == ".py" and top not in PACKAGES:
        root = path.parent.parent if path.name == "__init__.py" else path.parent
        made_from(kind, _digest(root, _files(root, top)))


def _files(root: Path, top: str) -> list[Path]:
    return list(_files_below(root / top, {"__pycache__"})) or [root / f"{top}.py"]


def _files_below(folder: Path, skipped: Collection[str] = SKIPPED_FOLDERS) -> Iterator[Path]:
    """Yield the files below a folder, also through links, except in hidden and `skipped` folders and environments."""
    visited = set[str]()
    for root, folders, names in os.walk(folder, followlinks=True):
        environment = "pyvenv.cfg" in names or "conda-meta" in folders
        is_new = (real := os.path.realpath(root)) not in visited and not environment  # a link may lead back
        visited.add(real)
        folders[:] = sorted(name for name in folders if is_new and not (
            name in skipped or name.startswith(".") or name.endswith(".egg-info")))
        yield from (Path(root, name) for name in names if is_new)


def _digest(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file() and not path.name.startswith("."):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _forget(requested: str, top: str, folder: Path) -> None:
    """Remove earlier imports of a metric's modules; raise BrokenPlugin if another module has the name."""
    module = sys.modules.get(top)
    file = Path(getattr(module, "__file__", None) or "/").resolve()
    if top in PACKAGES or top in sys.stdlib_module_names or (module is not None and not file.is_relative_to(folder)):
        raise BrokenPlugin(f"{requested}: its module {top!r} has the name of another module; rename it")
    for name in {name for name in sys.modules if name.partition(".")[0] == top} | _MODULES.pop(folder, set()):
        sys.modules.pop(name, None)


def _checked(where: str, kind: Any) -> type[Metric]:
    if not inspect.isclass(kind):
        raise BrokenPlugin(f"{where}: {kind!r:.80} is not a class")
    try:
        return as_metric(kind)
    except MetricError as error:
        raise BrokenPlugin(f"{where}: {error}") from error


@contextlib.contextmanager
def _guarded(requested: str, root: Path) -> Iterator[None]:
    """Convert exceptions during an import to BrokenPlugin, with the line in the plug-in."""
    try:
        with contextlib.redirect_stdout(sys.stderr), contextlib.chdir("."):
            yield
    except (KeyboardInterrupt, BrokenPlugin):
        raise
    except BaseException as error:  # including SystemExit
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        if unknown := re.fullmatch(r"MetricCard.*unexpected keyword argument '(\w+)'.*", message):
            message += f"; {nearest(unknown[1], (field.name for field in dataclasses.fields(MetricCard)))}"
        raise BrokenPlugin(f"{requested}{_line(error, root)}: {type(error).__name__}: {message}") from error


def _line(error: BaseException, root: Path) -> str:
    """Return the plug-in's last line in a traceback, with the file if the plug-in is a folder."""
    lines = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((Path(error.filename), error.lineno))
    for path, line in reversed(lines):
        if path.is_relative_to(root):
            return f"{'' if path == root else f': {path.relative_to(root).as_posix()}'}, line {line}"
    return ""
