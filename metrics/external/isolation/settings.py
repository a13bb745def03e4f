"""The folder of a metric in a process of its own: its settings, its entry point and the digest of its files.

    [tool.harness]
    python = ".venv/bin/python"       # relative to the folder; or command = ["perl", "metric.pl"]
    timeout = 600                     # seconds that one dataset may take
    env = ["HF_TOKEN"]                # variables that it gets although they look like keys
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from benchmarks.formats import records
from benchmarks.formats.records import Rule
from metrics.errors import BrokenPlugin
from metrics.metric import GROUP
from metrics.models.resources import digest_of

TIMEOUT = 3600.0
SKIPPED = frozenset({"__pycache__", "build", "dist", "node_modules", "tests", "results", "report", "scores", "site",
                     "statistics"})
"""Folders that decide no score: what is built, tests, and what a run leaves; likewise hidden ones and *.egg-info."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and how a metric runs; `python` or else `command` is set, if it runs apart at all."""

    folder: Path
    python: Path | None = None
    command: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    env: tuple[str, ...] = ()

    @property
    def apart(self) -> bool:
        """Whether it runs in a process of its own."""
        return self.python is not None or bool(self.command)


@dataclass(frozen=True, slots=True)
class Table:
    """The table [tool.harness]."""

    python: str | None = None
    command: tuple[str, ...] = ()
    timeout: Annotated[float, Rule("a number of seconds above 0", lambda seconds: seconds > 0)] = TIMEOUT
    env: tuple[str, ...] = ()


def read(folder: Path) -> Settings:
    """Read the settings of a folder; BrokenPlugin where one is impossible."""
    folder = folder.absolute()
    where = f"{folder / 'pyproject.toml'}: [tool.harness]"
    with records.refused_as(BrokenPlugin):
        table: Table = records.value_of(Table, project(folder).get("tool", {}).get("harness", {}), where)
    if table.python is not None and table.command:
        raise BrokenPlugin(f"{where} names python or command, not both")
    python = None if table.python is None else folder / Path(table.python).expanduser()
    if python is not None and not python.is_file():  # not resolved: a link is what makes an environment one
        raise BrokenPlugin(f"{where} python: there is no {python}; make it, as docs/protocol.md says")
    return Settings(folder, python, table.command, table.timeout, table.env)


def project(folder: Path) -> dict[str, Any]:
    """Return the pyproject.toml of a folder; empty if there is none."""
    path = folder / "pyproject.toml"
    try:
        with records.refused_as(BrokenPlugin):
            return records.toml(str(path), path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise BrokenPlugin(f"{path}: {error.strerror}") from error


def metric_of(folder: Path) -> tuple[str, str]:
    """Name and place (`module:Class`) of the metric that a folder's pyproject.toml holds under the entry points."""
    points = project(folder).get("project", {}).get("entry-points", {}).get(GROUP, {})
    where = f'{folder / "pyproject.toml"}: [project.entry-points."{GROUP}"]'
    if len(points) != 1 or ":" not in str(next(iter(points.values()))):
        raise BrokenPlugin(f'{where} should hold one line, NAME = "MODULE:CLASS", and names '
                           f"{', '.join(points) or 'none'}")
    [(name, place)] = points.items()
    return name, str(place).strip()


def digest(folder: Path) -> str:
    """The sha256 over name and content of every file of a folder but those of the folders in SKIPPED."""
    try:
        return digest_of(folder, _files(folder))
    except OSError as error:
        raise BrokenPlugin(f"{error.filename or folder}: {error.strerror}") from error


def _files(folder: Path) -> Iterator[Path]:
    """The files that count."""
    for where, inside, names in os.walk(folder):
        inside[:] = (name for name in inside
                     if name not in SKIPPED and not name.startswith(".") and not name.endswith(".egg-info"))
        yield from (Path(where, name) for name in names)
