"""The folder of a metric in a process of its own: its settings, its entry point and the digest of its files."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from benchmarks.formats import records
from benchmarks.formats.records import Rule
from metrics.errors import BrokenPlugin
from metrics.metric import GROUP
from metrics.models.resources import digest_of

SKIPPED = frozenset({"__pycache__", "build", "dist", "node_modules", "tests", "results", "report", "scores", "site",
                     "statistics"})
"""Folders that decide no score, as hidden ones and *.egg-info."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The table [tool.harness]; with `python` or `command` the metric runs in a process of its own."""

    python: str | None = None
    command: tuple[str, ...] = ()
    timeout: Annotated[float, Rule("a number of seconds above 0", lambda seconds: seconds > 0)] = 3600.0
    env: tuple[str, ...] = ()

    @property
    def isolated(self) -> bool:
        return bool(self.python or self.command)


def read(folder: Path) -> Settings:
    """Read the settings of a folder; BrokenPlugin where one is impossible."""
    where = f"{folder / 'pyproject.toml'}: [tool.harness]"
    with records.refused_as(BrokenPlugin):
        settings: Settings = records.value_of(Settings, _project(folder).get("tool", {}).get("harness", {}), where)
    if settings.python and settings.command:
        raise BrokenPlugin(f"{where} names python and command; remove one")
    if not settings.python:
        return settings
    python = folder / Path(settings.python).expanduser()
    if not python.is_file():
        raise BrokenPlugin(f"{where} python: there is no {python}; make it, as docs/protocol.md says")
    return dataclasses.replace(settings, python=str(python))  # not resolved: a link is what makes an environment one


def entry_point(folder: Path) -> tuple[str, str]:
    """Return name and `module:Class` of the metric in a folder, the only entry point of its pyproject.toml."""
    points = _project(folder).get("project", {}).get("entry-points", {}).get(GROUP, {})
    if len(points) != 1 or ":" not in str(next(iter(points.values()))):
        raise BrokenPlugin(f'{folder / "pyproject.toml"}: [project.entry-points."{GROUP}"] should hold one line, '
                           f'NAME = "MODULE:CLASS", and names {", ".join(points) or "none"}')
    [(name, target)] = points.items()
    return name, str(target).strip()


def digest(folder: Path) -> str:
    """Return the sha256 over name and content of every file of a folder, without the folders in SKIPPED."""
    paths: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith(".")
                      and not name.endswith(".egg-info")]
        paths += [Path(root, name) for name in names]
    try:
        return digest_of(folder, paths)
    except OSError as error:
        raise BrokenPlugin(f"{error.filename or folder}: {error.strerror}") from error


def _project(folder: Path) -> dict[str, Any]:
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    with records.refused_as(BrokenPlugin):
        return records.toml(str(path), path.read_bytes())
