"""The checks of the contract in a process of their own: a metric that crashes or hangs fails only that check."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness.contract import forgetful, tried
from harness.contract.checks import CHECKS
from harness.contract.trial import Broken, Finding, ScoredColumns, Trial, compared
from metrics import registry
from metrics.errors import BrokenPlugin, CannotScore, MetricError
from metrics.external.isolation.process import safe_path
from metrics.models.service import Models

ELSEWHERE = "another process"
"""The check that takes two processes: hashes of texts, and so the order of sets, differ between them."""


def findings(metric: str, home: Path, timeout: float) -> Iterator[Finding]:
    """Try every check on a metric, each for so many seconds; BrokenPlugin where it cannot be loaded."""
    waiting = [*CHECKS, ELSEWHERE]
    while waiting:
        with _Child(metric, home, waiting) as child:
            if isinstance(answer := child.receive(timeout), str):
                raise BrokenPlugin(f"{metric}: as it is loaded, {answer}")
            while waiting:
                name, answer = waiting.pop(0), child.receive(timeout)
                if isinstance(answer, str):
                    yield Finding(name, "BROKEN", answer)
                    break
                yield answer if isinstance(answer, Finding) else _elsewhere(metric, home, timeout, *answer)


def _elsewhere(metric: str, home: Path, timeout: float, ids: list[str], before: ScoredColumns) -> Finding:
    """Whether the sample scores in another process as it did in the first."""
    with _Child(metric, home, [ELSEWHERE]) as child:
        answer: Any = child.receive(timeout)
        answer = answer if isinstance(answer, str) else child.receive(timeout)
    if isinstance(answer, str):
        return Finding(ELSEWHERE, "BROKEN", answer)
    if isinstance(answer, Finding):
        return answer
    try:
        return Finding(ELSEWHERE, "ok", compared(ids, before, answer[1], "in another process"))
    except Broken as error:
        return Finding(ELSEWHERE, "BROKEN", str(error))


class _Child:
    """A process that loads the metric and sends one finding after the other."""

    def __init__(self, metric: str, home: Path, names: list[str]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, writing = context.Pipe(duplex=False)
        self.process = context.Process(target=_report, args=(writing, metric, home, names))
        with safe_path():
            self.process.start()
        writing.close()

    def __enter__(self) -> _Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()

    def receive(self, timeout: float) -> Any:
        """What it sends next, or a text saying how it ended; an error that it sends is raised."""
        if not self.connection.poll(timeout):
            return f"nothing comes back within {timeout:g} s"
        try:
            answer = self.connection.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode or 0
            return f"the process dies ({signal.Signals(-code).name if code < 0 else f'exit status {code}'})"
        if isinstance(answer, MetricError):
            raise answer
        return answer


def _report(connection: Connection, metric: str, home: Path, names: list[str]) -> None:
    """Load the metric and try the checks; what it prints goes where errors go."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process is stopped, and ends this one
    os.dup2(2, 1)
    os.environ.pop("PYTHONSAFEPATH")  # what the metric starts looks where it always does
    try:
        trial = Trial(registry.choose(metric).metric, forgetful(Models(home)))
        connection.send(True)
        for name in names:
            connection.send(_first(trial) if name == ELSEWHERE else tried(name, trial))
    except MetricError as error:
        connection.send(error)


def _first(trial: Trial) -> Finding | tuple[list[str], ScoredColumns]:
    """The scores of the sample's first dataset, to be compared with those of another process."""
    try:
        dataset, scores = trial.first
    except (Broken, CannotScore) as error:
        return Finding(ELSEWHERE, "note", f"not tried: {error}")
    return [item.id for item in dataset.items], scores
