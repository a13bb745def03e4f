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
from harness.contract.trial import Broken, Finding, Trial
from metrics import registry
from metrics.errors import BrokenPlugin, CannotScore, WorkerFailed
from metrics.external.isolation.process import Process
from metrics.external.isolation.serving import columns_of, columns_record, serve
from metrics.models.service import Models

ELSEWHERE = "another process"
"""The check that takes two processes: hashes of texts, and so the order of sets, differ between them."""


def findings(metric: str, home: Path, timeout: float) -> Iterator[Finding]:
    """Try every check on a metric, each for so many seconds; BrokenPlugin where it cannot be loaded."""
    command, before = (sys.executable, "-P", "-m", __name__, metric, str(home)), None
    for checks in ((*CHECKS, ELSEWHERE), (ELSEWHERE,)):
        with contextlib.closing(Process(metric, command, Path.cwd(), os.environ)) as process:
            for check in checks:
                finding, columns = _check(process, {"ask": check, "columns": before}, timeout)
                if columns is None or before is not None:
                    yield finding
        if columns is None:
            return
        before = columns


def _check(process: Process, question: Mapping[str, Any], timeout: float) -> tuple[Finding, Any]:
    """Return the finding, and the columns to be compared with another process."""
    try:
        if not process.alive:
            process.ask({"ask": "load"}, timeout, dict)
    except WorkerFailed as error:
        raise BrokenPlugin(str(error).removeprefix(f"{process.name}: BrokenPlugin: ")) from error
    try:
        answer = process.ask(question, timeout, dict)
    except WorkerFailed as error:
        return Finding(question["ask"], "BROKEN", str(error).removeprefix(f"{process.name}: ")), None
    return Finding(question["ask"], answer["state"], answer["text"]), answer.get("columns")


def main() -> None:
    """Answer until the input is closed."""
    metric, home = sys.argv[1:]
    trial = functools.cache(lambda: Trial(registry.choose(metric).metric, forgetful(Models(Path(home)))))

    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        if question["ask"] == "load":
            return {"loaded": trial().metric.card.name}
        if question["ask"] == ELSEWHERE:
            return _elsewhere(trial(), question["columns"])
        finding = tried(question["ask"], trial())
        return {"state": finding.state, "text": finding.text}

    serve(answer)


def _elsewhere(trial: Trial, before: Any) -> dict[str, Any]:
    """Score the first dataset of the sample, and compare the scores with those of another process."""
    try:
        dataset, scores = trial.first
    except (Broken, CannotScore) as error:
        return {"state": "note", "text": f"not tried: {error}"}
    columns = columns_record(scores)
    try:
        text = trial.compare(dataset.items, columns_of(before or columns), scores, "in another process")
    except Broken as error:
        return {"state": "BROKEN", "text": str(error)}
    return {"state": "ok", "text": text, "columns": columns}


if __name__ == "__main__":
    main()
