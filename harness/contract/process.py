"""Run the checks of the contract in a separate process: a metric that crashes or hangs fails only that check.

As a script, `python -m harness.contract.process METRIC HOME`, it runs one check for each question that it reads.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import registry as datasets
from harness.contract import run_check, uncached
from harness.contract.checks import CHECKS, without_network
from harness.contract.trial import Finding, Trial
from metrics import registry
from metrics.errors import BrokenPlugin, MetricError, WorkerFailed
from metrics.external.isolation.process import Process
from metrics.external.isolation.serving import columns_of, columns_record, serve
from metrics.models.service import Models

ELSEWHERE = "another process"
"""The check that takes two processes: hashes of strings, and so the order of sets, differ between processes."""


def findings(metric: str, home: Path, timeout: float) -> Iterator[Finding]:
    """Yield every check's finding, each within `timeout` seconds; raise BrokenPlugin if the metric cannot be loaded."""
    command = sys.executable, "-P", "-m", __name__, metric, str(home)
    with contextlib.closing(Process(metric, command, Path.cwd(), os.environ)) as process:
        for check in CHECKS:
            yield _check(process, {"ask": check}, timeout)[0]
        finding, columns = _check(process, {"ask": ELSEWHERE}, timeout)
        if columns is not None:
            process.close()  # the next question starts another process
            finding, _ = _check(process, {"ask": ELSEWHERE, "columns": columns}, timeout)
        yield finding


def _check(process: Process, question: Mapping[str, Any], timeout: float) -> tuple[Finding, Any]:
    """Return the finding, and columns to compare with another process."""
    if not process.alive and (refusal := process.ask({"ask": "load"}, timeout, dict)["refusal"]):
        raise BrokenPlugin(refusal)
    try:
        answer = process.ask(question, timeout, dict)
    except WorkerFailed as error:
        return Finding(question["ask"], "BROKEN", str(error).removeprefix(f"{process.name}: ")), None
    return Finding(answer["check"], answer["state"], answer["text"]), answer["columns"]


def main() -> None:
    metric, home = sys.argv[1:]
    datasets.register_home(Path(home))
    trial = functools.cache(lambda: Trial(registry.choose(metric).metric, uncached(Models(Path(home)))))

    def answer(question: Mapping[str, Any]) -> dict[str, Any]:
        name = question["ask"]
        if name == "load":
            try:
                trial()
            except MetricError as error:
                return {"refusal": str(error)}
            return {"refusal": ""}
        check = CHECKS.get(name) or functools.partial(_elsewhere, before=question.get("columns"))
        finding = run_check(name, trial(), check)
        compared = name == ELSEWHERE and finding.state == "ok"
        return {**dataclasses.asdict(finding), "columns": columns_record(trial().first[1]) if compared else None}

    serve(answer)


def _elsewhere(trial: Trial, before: Any) -> str:
    """Score the first dataset of the sample, and compare with the scores of another process if `before` has them."""
    if before:  # a new process has not cached any downloads, so it is also tested without the network
        return without_network(lambda: trial.compare(
            trial.first[0].items, columns_of(before), trial.first[1], "in another process, without the network"))
    dataset, scores = trial.first
    return trial.compare(dataset.items, scores, scores, "in another process")


if __name__ == "__main__":
    main()
