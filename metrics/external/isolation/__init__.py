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
from benchmarks.redaction import is_secret
from metrics.errors import BrokenPlugin, MetricError, WorkerFailed
from metrics.external.isolation.process import Process
from metrics.external.isolation.settings import Settings, digest, entry_point, read
from metrics.external.isolation.wire import PROTOCOL, WireError, columns_of, description
from metrics.metric import Columns, File, Metric, MetricCard, as_metric, options, variant
from metrics.models.service import Models

STARTING = 300.0
"""Seconds to start and describe itself."""
MISLEADING = {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH"}
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
        """Return the columns of the answer; models requested by the process count as requested here."""
        values = {name: str(value.path.absolute()) if isinstance(value, File) and value else value
                  for name, value in options(self).items()}
        question = {"ask": "score", "items": [item.record for item in items], "options": values,
                    "models": {"home": str(models.home.absolute()), "choice": dataclasses.asdict(models.choice)}}
        if not self.process.alive and _describe(self.process) != self.described:
            self.process.close()
            raise WorkerFailed(f"{self.card.name}: its description has changed since the run began; run the same "
                               "command again")
        answer = self.process.ask(question, self.timeout)
        try:
            models.requested |= {(str(kind), str(model)) for kind, model in answer.get("asked", ())}
            return columns_of(answer.get("columns"))
        except (WireError, TypeError, ValueError) as error:
            self.process.close()
            raise WorkerFailed(f"{self.card.name}: its process answered with garbage: {error}") from error

    def depends(self, _models: Models) -> tuple[str, ...]:
        """Return the digests of the folder and of its environment."""
        return self.identity


def metric_class(folder: Path) -> type[Metric]:
    """Return the class of the metric in a folder; the same as long as no file of the folder changes."""
    folder = folder.absolute()
    settings, code = read(folder), digest(folder)
    before = _made.get(folder)
    if before is not None:
        if before[0] == code:
            return before[1]
        before[2].close()
    process = _process(folder, settings)
    try:
        kind = _class(process, settings, code)
    except MetricError as error:
        process.close()
        raise BrokenPlugin(f"{folder.name}: {str(error).removeprefix(f'{folder.name}: ')}") from error
    _made[folder] = code, kind, process
    return kind


def _process(folder: Path, settings: Settings) -> Process:
    name, command = folder.name, settings.command
    if settings.python:
        name, target = entry_point(folder)
        script = Path(__file__).with_name("worker.py")
        command = (settings.python, "-P", str(script), str(folder), name, target)
    return Process(name, command, folder, environment(os.environ, settings.env))


def environment(variables: Mapping[str, str], passed: Sequence[str]) -> dict[str, str]:
    """Drop variables that look like a key or a password, unless `passed` names them."""
    return {name: value for name, value in variables.items()
            if name in passed or not (name in MISLEADING or is_secret(name, value))}


def _describe(process: Process) -> dict[str, Any]:
    answer = process.ask({"ask": "describe", "protocol": PROTOCOL}, STARTING)
    return {key: value for key, value in answer.items() if key != "id"}


def _class(process: Process, settings: Settings, code: str) -> type[Metric]:
    described = _describe(process)
    card, own_options, packages = description(described)
    if settings.python and card.name != process.name:
        raise BrokenPlugin(f"its card is named {card.name!r}, and its entry point {process.name!r}")
    process.name = card.name
    installed = hashlib.sha256("\n".join(packages).encode()).hexdigest()
    try:
        return as_metric(variant(
            Isolated, own_options, __doc__=card.title, card=card, process=process, described=described,
            timeout=settings.timeout, identity=(f"code={code[:12]}", f"environment={installed[:12]}")))
    except TypeError as error:  # a name that no field of a dataclass can have
        raise BrokenPlugin(f"its options: {error}") from error
