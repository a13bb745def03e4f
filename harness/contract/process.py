"""The checks of the contract in a process of their own: a metric that crashes or hangs fails only that check."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.contract.checks import CHECKS
from harness.contract.trial import Broken, Finding, compared
from metrics.errors import BrokenPlugin, WorkerFailed
from metrics.external.isolation.process import Process
from metrics.external.isolation.wire import columns_of

ELSEWHERE = "another process"
"""The check that takes two processes: hashes of texts, and so the order of sets, differ between them."""


def findings(metric: str, home: Path, timeout: float) -> Iterator[Finding]:
    """Try every check on a metric, each for so many seconds; BrokenPlugin where it cannot be loaded."""
    process = _process(metric, home)
    try:
        for name in CHECKS:
            yield _asked(process, name, timeout)
        first = _asked(process, ELSEWHERE, timeout)
    finally:
        process.close()
    yield first if isinstance(first, Finding) else _elsewhere(metric, home, timeout, first)


def _process(metric: str, home: Path) -> Process:
    command = (sys.executable, "-P", "-m", "harness.contract.serving", metric, str(home))
    return Process(metric, command, Path.cwd(), os.environ)


def _asked(process: Process, check: str, timeout: float) -> Any:
    try:
        if not process.alive:
            process.ask({"ask": "load"}, timeout)
    except WorkerFailed as error:
        raise BrokenPlugin(str(error)) from error
    try:
        answer = process.ask({"ask": check}, timeout)
    except WorkerFailed as error:
        return Finding(check, "BROKEN", str(error).removeprefix(f"{process.name}: "))
    return Finding(check, answer["state"], answer["text"]) if "state" in answer else answer


def _elsewhere(metric: str, home: Path, timeout: float, first: Mapping[str, Any]) -> Finding:
    """Compare the scores of the sample with those of another process."""
    process = _process(metric, home)
    try:
        second = _asked(process, ELSEWHERE, timeout)
    finally:
        process.close()
    if isinstance(second, Finding):
        return second
    try:
        columns, others = columns_of(first["columns"]), columns_of(second["columns"])
        return Finding(ELSEWHERE, "ok", compared(first["items"], columns, others, "in another process"))
    except Broken as error:
        return Finding(ELSEWHERE, "BROKEN", str(error))
