"""A metric in a process of its own, with an interpreter or a language of its own (docs/protocol.md).

`metric_class` makes a class like any other: a frozen dataclass with the card and the options of the description. Its
`score` sends the items over the pipe and reads the columns. A failure costs only the dataset being scored.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.dataset import Item
from metrics.errors import BrokenPlugin, MetricError, WorkerFailed
from metrics.external.isolation.process import Process, environment
from metrics.external.isolation.settings import Settings, digest, metric_of
from metrics.external.isolation.settings import read as settings_of
from metrics.external.isolation.wire import PROTOCOL, Description, WireError, columns_of, description
from metrics.metric import Columns, File, Metric, MetricCard, as_metric, options, variant
from metrics.models.service import Models

STARTING = 300.0
"""Seconds in which a process has to describe itself; importing a large library takes its time."""
_made: dict[Path, tuple[str, type[Metric], Process]] = {}


@dataclass(frozen=True, slots=True)
class Isolated:
    """A metric whose process does the scoring."""

    card: ClassVar[MetricCard]
    process: ClassVar[Process]
    described: ClassVar[Mapping[str, Any]]
    timeout: ClassVar[float]
    identity: ClassVar[tuple[str, ...]]

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the columns that come back; the models that the process requested count as requested here."""
        question = {"ask": "score", "items": [item.record for item in items],
                    "options": {key: _plain(value) for key, value in options(self).items()},
                    "models": {"home": str(models.home.absolute()), "choice": dataclasses.asdict(models.choice)}}
        if not self.process.alive and _describe(self.process) != self.described:
            self.process.close()
            raise WorkerFailed(f"{self.card.name}: it describes itself otherwise than before; run the same command "
                               "again to take it as it is now")
        answer = self.process.ask(question, self.timeout)
        try:
            models.requested |= {(str(kind), str(model)) for kind, model in answer.get("asked", ())}
            return columns_of(answer.get("columns"))
        except (WireError, TypeError, ValueError) as error:
            self.process.close()
            raise WorkerFailed(f"{self.card.name}: its process answered with garbage: {error}") from error

    def depends(self, _models: Models) -> tuple[str, ...]:
        """Return the digests of the folder and of what is installed where the metric runs."""
        return self.identity


def metric_class(folder: Path) -> type[Metric]:
    """Return the class of the metric in a folder; the same as long as no file of the folder changes."""
    settings = settings_of(folder)
    code = digest(settings.folder)
    known = _made.get(settings.folder)
    if known is not None and known[0] == code:
        return known[1]
    if known is not None:
        known[2].close()
    process = _process(settings)
    try:
        kind = _class(process, settings, code)
    except (MetricError, WireError) as error:
        process.close()
        named = isinstance(error, WorkerFailed | BrokenPlugin)
        raise BrokenPlugin(str(error) if named else f"{process.name}: {error}") from error
    _made[settings.folder] = (code, kind, process)
    return kind


def _process(settings: Settings) -> Process:
    if not settings.apart:
        raise BrokenPlugin(f"{settings.folder}: names no Python or command to run it in a process of its own; add one "
                           "to pyproject.toml, [tool.harness]")
    name, command = settings.folder.name, settings.command
    if settings.python is not None:
        name, place = metric_of(settings.folder)
        script = Path(__file__).with_name("worker.py")
        command = (str(settings.python), "-P", str(script), str(settings.folder), name, place)
    return Process(name, command, settings.folder, environment(os.environ, settings.env))


def _describe(process: Process) -> dict[str, Any]:
    answer = process.ask({"ask": "describe", "protocol": PROTOCOL}, STARTING)
    return {key: value for key, value in answer.items() if key != "id"}


def _class(process: Process, settings: Settings, code: str) -> type[Metric]:
    """Make the class that the description of a process calls for."""
    described = _describe(process)
    found: Description = description(described)
    if settings.python is not None and found.card.name != process.name:
        raise BrokenPlugin(f"{settings.folder}: its card is named {found.card.name!r}, and not {process.name!r}")
    process.name = found.card.name
    installed = hashlib.sha256("\n".join(found.environment).encode()).hexdigest()
    return as_metric(variant(
        Isolated, found.options, __doc__=found.card.title, card=found.card, process=process, described=described,
        timeout=settings.timeout, identity=(f"code={code[:12]}", f"environment={installed[:12]}")))


def _plain(value: Any) -> Any:
    """A value as it goes over the wire; a file's path as it is seen from anywhere."""
    return str(value.path.absolute()) if isinstance(value, File) and value else value
