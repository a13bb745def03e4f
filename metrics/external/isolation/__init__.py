"""A metric in a process of its own, with an interpreter or a language of its own (docs/protocol.md).

`metric_class` makes a class like any other: a frozen dataclass with the card and the options of the description. Its
`score` sends the items over the pipe and reads the columns. A process serves a metric until it fails; the failure costs
only the dataset being scored, and the next dataset starts a new process.
"""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.dataset import Item
from metrics import errors
from metrics.errors import BrokenPlugin, CannotScore, MetricError, MissingResource, WorkerFailed
from metrics.external.isolation.process import Child
from metrics.external.isolation.settings import Settings, digest, metric_of
from metrics.external.isolation.settings import read as settings_of
from metrics.external.isolation.wire import PROTOCOL, Description, WireError, columns_of
from metrics.external.isolation.wire import description as parsed_description
from metrics.metric import Columns, File, Metric, MetricCard, as_metric, options, variant
from metrics.models.service import Models

STARTING = 300.0
"""Seconds in which a process has to say what it is; importing a large library takes its time."""
_SKIPS: dict[str, type[Exception]] = {"CannotScore": CannotScore, "MissingResource": MissingResource}
_made: dict[Path, tuple[str, type[Metric], Adapter]] = {}


def metric_class(folder: Path) -> type[Metric]:
    """The class of the metric in a folder; the same as long as no file of the folder changes."""
    settings = settings_of(folder)
    now = digest(settings.folder)
    known = _made.get(settings.folder)
    if known is not None and known[0] == now:
        return known[1]
    if known is not None:
        known[2].close()
    adapter = _adapter(settings)
    kind = _class(adapter, now)
    _made[settings.folder] = (now, kind, adapter)
    return kind


@dataclass(slots=True)
class Adapter:
    """Talks to a metric's process, and starts it where it does not run."""

    name: str
    command: tuple[str, ...]
    settings: Settings
    child: Child | None = None
    questions: int = 0
    description: Mapping[str, Any] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)

    def describe(self) -> Description:
        """The metric's description of itself; BrokenPlugin where it gives none."""
        try:
            with self.lock:
                self._running()
            return parsed_description(self.description)
        except (WorkerFailed, WireError, CannotScore, MissingResource) as error:
            self.close()
            message = str(error) if isinstance(error, WorkerFailed) else f"{self.name}: {error}"
            raise BrokenPlugin(message) from error

    def score(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to `score`, from a process that describes itself as before."""
        with self.lock:
            return self._ask(self._running(), {"ask": "score", **question}, self.settings.timeout)

    def close(self) -> None:
        """End the process."""
        if self.child is not None:
            self.child.close()

    def _running(self) -> Child:
        if self.child is not None and self.child.alive:
            return self.child
        if self.child is not None:  # it ended between two questions
            self.child.kill()
        self.child = Child(self.command, self.settings)
        try:
            self._introduce(self.child)
        except BaseException:
            self.child.kill()
            raise
        return self.child

    def _introduce(self, child: Child) -> None:
        answer = self._ask(child, {"ask": "describe", "protocol": PROTOCOL}, STARTING)
        description = {key: value for key, value in answer.items() if key != "id"}
        if self.description and description != self.description:
            raise WorkerFailed(f"{self.name}: it describes itself otherwise than before; run the same command again to "
                               "take it as it is now")
        self.description = description

    def _ask(self, child: Child, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The answer that bears the number of its question, so that a late one is not taken for another's."""
        self.questions += 1
        try:
            answer = child.ask({**question, "id": self.questions}, seconds)
        except WorkerFailed as error:
            raise WorkerFailed(f"{self.name}: {error}") from error
        if answer.get("id") != self.questions:
            child.kill()
            raise WorkerFailed(f"{self.name}: its process answered question {answer.get('id')!r:.40} where "
                               f"{self.questions} was expected")
        if "error" in answer:
            raise self._raised(str(answer["error"]), str(answer.get("message", "")))
        return answer

    def _raised(self, kind: str, message: str) -> Exception:
        line = " ".join(message.split())[:1000]
        if kind in _SKIPS:
            return _SKIPS[kind](line)
        if isinstance(getattr(errors, kind, None), type):
            return WorkerFailed(f"{self.name}: {line}")
        return WorkerFailed(f"{self.name}: {kind:.80}: {line}")


@dataclass(frozen=True, slots=True)
class Isolated:
    """A metric whose process does the scoring."""

    card: ClassVar[MetricCard]
    adapter: ClassVar[Adapter]
    identity: ClassVar[tuple[str, ...]]

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """The columns that come back; the models that the process requested count as requested here."""
        question = {"items": [item.record for item in items],
                    "options": {key: _plain(value) for key, value in options(self).items()},
                    "models": {"home": str(models.home.absolute()), "choice": dataclasses.asdict(models.choice)}}
        try:
            answer = self.adapter.score(question)
            models.requested |= {(str(kind), str(model)) for kind, model in answer.get("asked", ())}
            return columns_of(answer.get("columns"))
        except (WireError, TypeError, ValueError) as error:
            self.adapter.close()
            raise WorkerFailed(f"{self.card.name}: its process answered with garbage: {error}") from error

    def depends(self, _models: Models) -> tuple[str, ...]:
        """The digests of the folder and of what is installed where the metric runs."""
        return self.identity


def _adapter(settings: Settings) -> Adapter:
    if settings.python is not None:
        name, place = metric_of(settings.folder)
        script = Path(__file__).with_name("worker.py")
        return Adapter(name, (str(settings.python), "-P", str(script), str(settings.folder), name, place), settings)
    if not settings.command:
        raise BrokenPlugin(f"{settings.folder}: nothing says that it runs in a process of its own; "
                           "say which Python or command, in pyproject.toml, [tool.harness]")
    return Adapter(settings.folder.name, settings.command, settings)


def _class(adapter: Adapter, code: str) -> type[Metric]:
    """The class for the description that the process gives."""
    description = adapter.describe()
    card = description.card
    if adapter.settings.python is not None and card.name != adapter.name:
        adapter.close()
        raise BrokenPlugin(f"{adapter.settings.folder}: its card is named {card.name!r}, and not {adapter.name!r}")
    adapter.name = card.name
    environment = hashlib.sha256("\n".join(description.environment).encode()).hexdigest()
    try:
        return as_metric(variant(
            Isolated, description.options, __doc__=card.title, card=card, adapter=adapter,
            identity=(f"code={code[:12]}", f"environment={environment[:12]}")))
    except MetricError as error:
        adapter.close()
        raise BrokenPlugin(f"{adapter.settings.folder}: {error}") from error


def _plain(value: Any) -> Any:
    """A value as it goes over the wire; a file's path as it is seen from anywhere."""
    return str(value.path.absolute()) if isinstance(value, File) and value else value
