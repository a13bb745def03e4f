"""The checks of the contract in a process of their own: a metric that crashes or hangs fails only that check.

As a script, `python -m harness.contract.process METRIC HOME`, it answers one check for each question that it reads.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.contract import forgetful, tried
from harness.contract.checks import CHECKS
from harness.contract.trial import Broken, Finding, Trial, compared
from metrics import registry
from metrics.errors import BrokenPlugin, CannotScore, WorkerFailed
from metrics.external.isolation.process import Process
from metrics.external.isolation.serving import serve
from metrics.external.isolation.wire import columns_of, columns_record
from metrics.models.service import Models

ELSEWHERE = "another process"
"""The check that takes two processes: hashes of texts, and so the order of sets, differ between them."""


def findings(metric: str, home: Path, timeout: float) -> Iterator[Finding]:
    """Try every check on a metric, each for so many seconds; BrokenPlugin where it cannot be loaded."""
    command = (sys.executable, "-P", "-m", __name__, metric, str(home))
    with contextlib.closing(Process(metric, command, Path.cwd(), os.environ)) as process:
        for name in CHECKS:
            yield _check(process, name, timeout)
        first = _check(process, ELSEWHERE, timeout)
    if isinstance(first, Finding):
        yield first
        return
    with contextlib.closing(Process(metric, command, Path.cwd(), os.environ)) as process:
        second = _check(process, ELSEWHERE, timeout)
    yield second if isinstance(second, Finding) else _compared(first, second)


def _check(process: Process, check: str, timeout: float) -> Any:
    try:
        if not process.alive:
            process.ask({"ask": "load"}, timeout, dict)
    except WorkerFailed as error:
        raise BrokenPlugin(str(error)) from error
    try:
        answer = process.ask({"ask": check}, timeout, dict)
    except WorkerFailed as error:
        return Finding(check, "BROKEN", str(error).removeprefix(f"{process.name}: "))
    return Finding(check, answer["state"], answer["text"]) if "state" in answer else answer


def _compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> Finding:
    try:
        text = compared(first["items"], columns_of(first["columns"]), columns_of(second["columns"]),
                        "in another process")
    except Broken as error:
        return Finding(ELSEWHERE, "BROKEN", str(error))
    return Finding(ELSEWHERE, "ok", text)


def main() -> None:
    """Answer until the input is closed."""
    metric, home = sys.argv[1:]
    trial = functools.cache(lambda: Trial(registry.choose(metric).metric, forgetful(Models(Path(home)))))

    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        if question["ask"] == "load":
            return {"loaded": trial().metric.card.name}
        finding = _first(trial()) if question["ask"] == ELSEWHERE else tried(question["ask"], trial())
        return {"state": finding.state, "text": finding.text} if isinstance(finding, Finding) else finding

    serve(answer)


def _first(trial: Trial) -> Finding | dict[str, Any]:
    """Score the first dataset of the sample, to be compared with another process."""
    try:
        dataset, scores = trial.first
    except (Broken, CannotScore) as error:
        return Finding(ELSEWHERE, "note", f"not tried: {error}")
    return {"items": [item.id for item in dataset.items], "columns": columns_record(scores)}


if __name__ == "__main__":
    main()
