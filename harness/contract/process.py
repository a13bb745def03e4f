"""Run the checks of the contract in a separate process: a metric that crashes or hangs fails only that check.

As a script, `python -m harness.contract.process METRIC HOME`, it runs one check for each request that it reads.
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

ANOTHER_PROCESS = "another process"
"""The check that needs two processes: hashes of strings, and so the order of sets, differ between processes."""


def findings(metric: str, home: Path, timeout: float) -> Iterator[Finding]:
    """Yield every check's finding, each within `timeout` seconds; raise BrokenPlugin if the metric cannot be loaded."""
    command = sys.executable, "-P", "-m", __name__, metric, str(home)
    with contextlib.closing(Process(metric, command, Path.cwd(), os.environ)) as process:
        for check in CHECKS:
            yield _check(process, {"ask": check}, timeout)[0]
        finding, columns = _check(process, {"ask": ANOTHER_PROCESS}, timeout)
        if columns is not None:
            process.close()  # the next request starts another process
            finding, _ = _check(process, {"ask": ANOTHER_PROCESS, "columns": columns}, timeout)
        yield finding


def _check(process: Process, request: Mapping[str, Any], timeout: float) -> tuple[Finding, Any]:
    """Return the finding, and columns to compare with another process."""
    if not process.alive and (refusal := process.ask({"ask": "load"}, timeout, dict)["refusal"]):
        raise BrokenPlugin(refusal)
    try:
        answer = process.ask(request, timeout, dict)
    except WorkerFailed as error:
        return Finding(request["ask"], "BROKEN", str(error).removeprefix(f"{process.name}: ")), None
    return Finding(answer["check"], answer["state"], answer["text"]), answer["columns"]


def main() -> None:
    metric, home = sys.argv[1:]
    datasets.register_home(Path(home))
    trial = functools.cache(lambda: Trial(registry.choose(metric).metric, uncached(Models(Path(home)))))

    def answer(request: Mapping[str, Any]) -> dict[str, Any]:
        name = request["ask"]
        if name == "load":
            try:
                trial()
            except MetricError as error:
                return {"refusal": str(error)}
            return {"refusal": ""}
        check = CHECKS.get(name) or functools.partial(_in_another_process, before=request.get("columns"))
        finding = run_check(name, trial(), check)
        has_columns = name == ANOTHER_PROCESS and finding.state == "ok"
        columns = columns_record(trial().first_scored[1]) if has_columns else None
        return {**dataclasses.asdict(finding), "columns": columns}

    serve(answer)


def _in_another_process(trial: Trial, before: Any) -> str:
    """Score the first dataset of the sample, and compare with the scores of another process if `before` has them."""
    if before:  # a new process has not cached any downloads, so it is also tested without the network
        return without_network(lambda: trial.compare(trial.first_scored[0].items, columns_of(before),
                                                     trial.first_scored[1], "in another process, without the network"))
    dataset, scores = trial.first_scored
    return trial.compare(dataset.items, scores, scores, "in another process")


if __name__ == "__main__":
    main()
