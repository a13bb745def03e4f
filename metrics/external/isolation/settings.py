"""How a metric runs in a process of its own: `[tool.harness]` of the pyproject.toml of its folder.

    [tool.harness]
    python = ".venv/bin/python"       # relative to the folder; or command = ["perl", "metric.pl"]
    timeout = 600                     # seconds that one dataset may take
    memory = "4GiB"                   # of the process and what it starts, together
    env = ["HF_TOKEN"]                # variables that it gets although they look like keys

A folder whose `.venv` was made by `harness env create` needs none of it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.errors import nearest
from metrics.errors import BrokenPlugin
from metrics.metric import GROUP

MARK = ".made-by-harness"
"""A file that tells a `.venv` made by `harness env create` from one of the user's."""
TIMEOUT = 3600.0
KEYS = ("python", "command", "timeout", "memory", "env")
_SIZES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and how a metric runs; `python` or else `command` is set, if it runs apart at all."""

    folder: Path
    python: Path | None = None
    command: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    memory: int | None = None
    env: tuple[str, ...] = ()

    @property
    def apart(self) -> bool:
        """Whether it runs in a process of its own."""
        return self.python is not None or bool(self.command)


def read(folder: Path) -> Settings:
    """What a folder says; BrokenPlugin where it says what cannot be done."""
    folder = folder.absolute()
    told = project(folder).get("tool", {}).get("harness", {})
    where = f"{folder / 'pyproject.toml'}: [tool.harness]"
    if not isinstance(told, dict) or (unknown := sorted(set(told) - set(KEYS))):
        raise BrokenPlugin(f"{where} has no {unknown[0]!r}; {nearest(unknown[0], KEYS)}" if isinstance(told, dict)
                           else f"{where} is a table")
    if "python" in told and "command" in told:
        raise BrokenPlugin(f"{where} names python or command, not both")
    if told.get("command") == []:
        raise BrokenPlugin(f"{where} command: a list of words is needed, not an empty one")
    return Settings(folder, _python(folder, told.get("python"), where), _words(told, "command", where),
                    _seconds(told.get("timeout", TIMEOUT), where), _bytes(told.get("memory"), where),
                    _words(told, "env", where))


def project(folder: Path) -> dict[str, Any]:
    """The pyproject.toml of a folder; empty where there is none."""
    path = folder / "pyproject.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise BrokenPlugin(f"{path} cannot be read: {error}") from error


def metric_of(folder: Path, name: str = "") -> tuple[str, str]:
    """Name and place (`module:Class`) of the metric that a folder's pyproject.toml holds under the entry points."""
    points = project(folder).get("project", {}).get("entry-points", {}).get(GROUP, {})
    where = f'{folder / "pyproject.toml"}: [project.entry-points."{GROUP}"]'
    if name and name not in points:
        raise BrokenPlugin(f"{where} has no {name!r}")
    if not name and len(points) != 1:
        raise BrokenPlugin(f"{where} should name one metric, and names {', '.join(points) or 'none'}")
    name = name or next(iter(points))
    return name, str(points[name])


def _python(folder: Path, told: Any, where: str) -> Path | None:
    if told is None:
        made = folder / ".venv"
        return made / "bin" / "python" if (made / MARK).is_file() else None
    path = folder / Path(str(told)).expanduser()  # not resolved: a link is what makes an environment one
    if not path.is_file():
        raise BrokenPlugin(f"{where} python: there is no {path}; `harness env create {folder}` makes one in .venv")
    return path


def _words(told: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    words = told.get(key, [])
    if not isinstance(words, list) or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise BrokenPlugin(f"{where} {key}: a list of words is needed, not {words!r:.80}")
    return tuple(words)


def _seconds(told: Any, where: str) -> float:
    if isinstance(told, bool) or not isinstance(told, int | float) or not 0 < told < float("inf"):
        raise BrokenPlugin(f"{where} timeout: a number of seconds is needed, not {told!r:.80}")
    return float(told)


def _bytes(told: Any, where: str) -> int | None:
    if told is None:
        return None
    found = re.fullmatch(rf"(\d+(?:\.\d+)?) ?({'|'.join(_SIZES)})", told) if isinstance(told, str) else None
    if found is None or not float(found[1]):
        raise BrokenPlugin(f'{where} memory: a size such as "4GiB" is needed, not {told!r:.80}')
    return int(float(found[1]) * _SIZES[found[2]])
