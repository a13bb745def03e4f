"""The trace of a run, as chrome://tracing and Perfetto show it: a row for the run's own stages, one for each worker.

The format is the Trace Event Format's: complete events ("X") with their beginning and length in microseconds, and
metadata events ("M") that name the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.errors import BadReport

NAME = "trace.jsonl"
"""What a run keeps under its results: what happened, as JSON lines."""


def read(path: Path) -> list[dict[str, Any]]:
    """What happened in a run; a last line that a kill cut short is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError as error:
        raise BadReport(f"{path}: no run has been here; `harness run` keeps it") from error
    except UnicodeDecodeError as error:
        raise BadReport(f"{path}: is not what `harness run` writes ({error.reason})") from error
    events = []
    for number, line in enumerate(lines, 1):
        try:
            events.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if number < len(lines):
                raise BadReport(f"{path}: line {number} is no JSON; `harness run` writes it anew") from error
    return events


def chrome(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The events of a run as a trace."""
    made: list[dict[str, Any]] = []
    rows = {0: "the run"}
    for number, event in enumerate(events, 1):
        try:
            made += _drawn(event, rows)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise BadReport(f"{NAME}: event {number} is not what `harness run` writes "
                            f"({type(error).__name__}: {error})") from error
    named = [{"name": "thread_name", "ph": "M", "pid": 1, "tid": row, "args": {"name": name}}
             for row, name in sorted(rows.items())]
    return {"traceEvents": [*named, *made]}


def _drawn(event: Mapping[str, Any], rows: dict[int, str]) -> Iterator[dict[str, Any]]:
    """An event as it is shown, if it is; its row is added to `rows`."""
    kind = event.get("event")
    if kind == "part":
        row, (first, stop) = event["worker"] + 1, event["items"]
        rows[row] = f"worker {event['worker']}"
        yield _complete(event, event["metric"], row, event["told"],
                        {"dataset": event["dataset"], "items": f"{first} to {stop - 1}"})
    elif kind == "stage":
        yield _complete(event, event["stage"], 0, "stage", {"dataset": event["dataset"]})
    elif kind == "note":
        yield {"name": " ".join(event["text"].splitlines()[:1]), "cat": "note", "ph": "i", "s": "g", "pid": 1,
               "tid": 0, "ts": round(event["at"] * 1e6)}


def _complete(event: Mapping[str, Any], name: str, row: int, kind: str, more: Mapping[str, str]) -> dict[str, Any]:
    return {"name": name, "cat": kind, "ph": "X", "pid": 1, "tid": row, "args": {**more, "told": kind},
            "ts": round((event["at"] - event["seconds"]) * 1e6), "dur": max(1, round(event["seconds"] * 1e6))}
