"""`run`: `harness run` from Python."""

from __future__ import annotations

import argparse
import dataclasses
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.errors import nearest
from harness.api.results import Results
from harness.errors import BadConfig
from harness.results import files
from harness.run import unchanged
from harness.run.prepare import prepare
from harness.run.run import run as run_plan
from harness.run.settings import Settings, home_folder, settings

OURS = ("metric", "dataset", "out", "home", "all", "json", "dry_run")
"""Settings that are separate arguments of `run`, or have no meaning here."""


def run(metrics: Sequence[str] | str | None = None, datasets: Sequence[str] | str | None = None, *,
        out: Path | str = "results", home: Path | str | None = None, **flags: Any) -> Results:
    """Score datasets with metrics, correlate with the ratings, and write scores and report under `out`.

    The default is all metrics and datasets. `flags` are those of `harness run`, such as sample=50, split="dev",
    quality="relevance" or lm="smollm2-135m". Scores stored under `out` are reused. `harness publish --out` draws pages.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(Settings) if field.name not in OURS}
    if unknown := next((name for name in flags if name not in defaults), None):
        raise BadConfig(f"unexpected argument {unknown!r}; {nearest(unknown, defaults)}")
    values = {name: value for name, value in {"metric": metrics, "dataset": datasets, **flags}.items()
              if value is not None}
    for name, value in values.items():
        if defaults.get(name, ()) == ():  # repeatable
            values[name] = [value] if isinstance(value, str) else list(value)
            if not value:
                raise BadConfig(f"{name} is empty; omit it for all")
    named = any(values.get(name) for name in ("metric", "with_", "dataset", "quality", "split"))
    requested = settings(argparse.Namespace(all=not named, out=Path(out),
                                            home=Path(home) if home else None, **values))
    plan, work = prepare(requested)
    collected = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)  # results consist of very many small rows without cycles
    try:
        results = run_plan(plan, work)
    finally:
        gc.set_threshold(*collected)
    if results.timings or results.failures:
        unchanged.forget(requested.out)
        files.write(results, requested.out / "report")
    return Results(results, home_folder(requested.home))
