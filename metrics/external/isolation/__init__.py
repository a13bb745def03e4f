"""A metric in its own process, with its own interpreter or in another language (docs/protocol.md).

`metric_class` makes a class like that of any metric: a frozen dataclass with the card and options that the process
describes. Its `score` sends the items over a pipe and reads the columns. An exception fails only the dataset being
scored.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from benchmarks.dataset import Item
from benchmarks.formats import records
from benchmarks.formats.records import Rule
from benchmarks.redaction import is_secret
from metrics.errors import BrokenPlugin, MetricError, WorkerFailed
from metrics.external.isolation.process import Process
from metrics.external.isolation.serving import PROTOCOL, Description, description, scores
from metrics.metric import GROUP, Columns, File, Metric, MetricCard, as_metric, options, variant
from metrics.models.resources import digest_of
from metrics.models.service import Models

STARTING = 300.0
"""Seconds that a process may take to start and describe itself."""
MISLEADING = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH"}
SKIPPED = frozenset({"__pycache__", "build", "dist", "node_modules", "tests", "results", "report", "scores", "site",
                     "statistics"})
"""Folders that do not affect scores, besides hidden ones and *.egg-info."""
_made: dict[Path, tuple[str, type[Metric], Process]] = {}


@dataclass(frozen=True, slots=True)
class Settings:
    """The table [tool.harness]; with `python` or `command` the metric runs in its own process."""

    python: str | None = None
    command: tuple[str, ...] = ()
    timeout: Annotated[float, Rule("a positive number of seconds", lambda seconds: seconds > 0)] = 3600.0
    env: tuple[str, ...] = ()

    @property
    def isolated(self) -> bool:
        return bool(self.python or self.command)


@dataclass(frozen=True, slots=True)
class Isolated:
    """A metric that scores in its own process."""

    card: ClassVar[MetricCard]
    process: ClassVar[Process]
    described: ClassVar[Description]
    timeout: ClassVar[float]
    identity: ClassVar[Mapping[str, str]]

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the process's columns, and record the models that it requests."""
        values = {name: str(value.path.absolute()) if isinstance(value, File) and value else value
                  for name, value in options(self).items()}
        if not self.process.alive and _describe(self.process) != self.described:
            self.process.close()
            raise WorkerFailed(f"{self.card.name}: its description changed during the run; run the same command again")
        columns, requested = self.process.ask(
            {"ask": "score", "items": [dataclasses.asdict(item) for item in items], "options": values,
             "models": {"home": str(models.home.absolute()), "choice": dataclasses.asdict(models.choice)}},
            self.timeout, scores)
        models.requested |= requested
        return columns

    def depends(self, _models: Models) -> Mapping[str, str]:
        return self.identity


RESERVED = {*dir(Isolated), *Isolated.__annotations__}
"""Names that no option can have."""


def metric_class(folder: Path) -> type[Metric]:
    """Return the class of the metric in a folder, cached until a file of the folder changes."""
    folder = folder.absolute()
    settings, code = read_settings(folder), digest_of(folder, files_of(folder))[:12]
    if cached := _made.get(folder):
        if cached[0] == code:
            return cached[1]
        cached[2].close()
    name, command = folder.name, settings.command
    if settings.python:
        name, target = entry_point(folder)
        command = (settings.python, "-P", str(Path(__file__).with_name("worker.py")), str(folder), target)
    process = Process(name, command, folder, environment(os.environ, settings.env))
    try:
        kind = _class(process, settings, code)
    except MetricError as error:
        process.close()
        raise BrokenPlugin(f"{folder.name}: {str(error).removeprefix(f'{folder.name}: ')}") from error
    _made[folder] = code, kind, process
    return kind


def environment(variables: Mapping[str, str], passed: Sequence[str]) -> dict[str, str]:
    """Drop variables that look like a key or a password, unless `passed` names them."""
    return {name: value for name, value in variables.items()
            if name in passed or not (name in MISLEADING or is_secret(name, value))}


def _describe(process: Process) -> Description:
    return process.ask({"ask": "describe", "protocol": PROTOCOL}, STARTING, description)


def _class(process: Process, settings: Settings, code: str) -> type[Metric]:
    described = _describe(process)
    card, fields, packages = described
    if settings.python and card.name != process.name:
        raise BrokenPlugin(f"its card is named {card.name!r}, but its entry point {process.name!r}")
    if reserved := [name for name, _, _ in fields if name in RESERVED]:
        raise BrokenPlugin(f"option {reserved[0]}: the name is reserved; choose another")
    process.name = card.name
    installed = hashlib.sha256("\n".join(packages).encode()).hexdigest()
    try:
        return as_metric(variant(Isolated, fields, __doc__=card.title, card=card, process=process, described=described,
                                 timeout=settings.timeout, identity={"code": code, "environment": installed[:12]}))
    except TypeError as error:  # not a valid name of a dataclass field
        raise BrokenPlugin(f"its options: {error}") from error


def read_settings(folder: Path) -> Settings:
    """Read the settings of a folder; raise BrokenPlugin if they are invalid."""
    where = f"{folder / 'pyproject.toml'}: [tool.harness]"
    with records.refused_as(BrokenPlugin):
        settings: Settings = records.value_of(Settings, _project(folder).get("tool", {}).get("harness", {}), where)
    if settings.python and settings.command:
        raise BrokenPlugin(f"{where} has both python and command; remove one")
    if not settings.python:
        return settings
    python = folder / Path(settings.python).expanduser()
    if not python.is_file():
        raise BrokenPlugin(f"{where} python: {python} does not exist; create it as described in docs/protocol.md")
    return dataclasses.replace(settings, python=str(python))  # unresolved: an environment is found by its symlink


def entry_point(folder: Path) -> tuple[str, str]:
    """Return name and `module:Class` of the metric in a folder, from the only entry point in its pyproject.toml."""
    points = _project(folder).get("project", {}).get("entry-points", {}).get(GROUP, {})
    if len(points) != 1 or ":" not in str(next(iter(points.values()))):
        raise BrokenPlugin(f'{folder / "pyproject.toml"}: [project.entry-points."{GROUP}"]: expected one line '
                           f'NAME = "MODULE:CLASS", found {", ".join(points) or "none"}')
    [(name, target)] = points.items()
    return name, str(target).strip()


def files_of(folder: Path, skipped: Collection[str] = SKIPPED) -> Iterator[Path]:
    """Yield the files below a folder, also through links, except hidden and `skipped` folders and environments."""
    read = set[str]()
    for root, folders, names in os.walk(folder, followlinks=True):
        environment = "pyvenv.cfg" in names or "conda-meta" in folders
        new = (real := os.path.realpath(root)) not in read and not environment  # a link may lead back
        read.add(real)
        folders[:] = sorted(name for name in folders if new and not (
            name in skipped or name.startswith(".") or name.endswith(".egg-info")))
        yield from (Path(root, name) for name in names if new)


def _project(folder: Path) -> dict[str, Any]:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    with records.refused_as(BrokenPlugin):
        return records.toml(str(path), path.read_bytes())
