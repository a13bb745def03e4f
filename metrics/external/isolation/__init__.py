"""A metric in its own process, with its own interpreter or in another language (docs/protocol.md).

`metric_class` makes a class with the card and options that the process describes; `score` exchanges items and columns.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from benchmarks.dataset import Item
from benchmarks.formats.records import Rule
from benchmarks.redaction import is_secret
from metrics.errors import BrokenPlugin, MetricError, WorkerFailed
from metrics.external.isolation.process import Process
from metrics.external.isolation.serving import PROTOCOL, Description, description, scores
from metrics.metric import Columns, File, Metric, MetricCard, as_metric, options, variant
from metrics.models.service import Models

START_SECONDS = 300.0
"""Seconds that a process may take to start and describe itself."""
PYTHON_VARIABLES = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH"}  # of the harness's own Python
_cached: dict[Path, tuple[str, type[Metric], Process]] = {}


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


def metric_class(folder: Path, settings: Settings, name: str, target: str, code: str) -> type[Metric]:
    """Return the class of the metric in a folder, cached until `code`, the digest of its files, changes."""
    if cached := _cached.get(folder):
        if cached[0] == code:
            return cached[1]
        cached[2].close()
    worker = str(Path(__file__).with_name("worker.py"))
    command = (settings.python, "-P", worker, str(folder), target) if settings.python else settings.command
    process = Process(name, command, folder, environment(os.environ, settings.env))
    try:
        kind = _class(process, settings, code)
    except MetricError as error:
        process.close()
        raise BrokenPlugin(f"{folder.name}: {str(error).removeprefix(f'{folder.name}: ')}") from error
    _cached[folder] = code, kind, process
    return kind


def environment(variables: Mapping[str, str], passed: Sequence[str]) -> dict[str, str]:
    """Drop PYTHON_VARIABLES and variables that look like a key or a password, unless `passed` names them."""
    return {name: value for name, value in variables.items()
            if name in passed or not (name in PYTHON_VARIABLES or is_secret(name, value))}


def _describe(process: Process) -> Description:
    return process.ask({"ask": "describe", "protocol": PROTOCOL}, START_SECONDS, description)


def _class(process: Process, settings: Settings, code: str) -> type[Metric]:
    described = _describe(process)
    card, fields, packages = described
    if settings.python and card.name != process.name:
        raise BrokenPlugin(f"its card is named {card.name!r}, but its entry point {process.name!r}")
    if reserved := [name for name, _, _ in fields if name in {*dir(Isolated), *Isolated.__annotations__}]:
        raise BrokenPlugin(f"option {reserved[0]}: the name is reserved; choose another")
    process.name = card.name
    installed = hashlib.sha256("\n".join(packages).encode()).hexdigest()
    try:
        return as_metric(variant(Isolated, fields, __doc__=card.title, card=card, process=process, described=described,
                                 timeout=settings.timeout, identity={"code": code, "environment": installed[:12]}))
    except TypeError as error:  # not a valid name of a dataclass field
        raise BrokenPlugin(f"its options: {error}") from error
