"""`run`: what `harness run` does, from Python, with a bar in place of lines."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.errors import nearest
from harness.api.results import Results
from harness.errors import BadConfig
from harness.results import files
from harness.run import unchanged
from harness.run.prepare import prepare
from harness.run.redaction import redacted
from harness.run.run import run as run_plan
from harness.run.settings import Settings, home_folder, settings
from harness.scoring.progress import Progress, RunProgress

OURS = ("metric", "dataset", "out", "home", "all", "json", "dry_run")
"""Settings that are arguments of their own here, or mean nothing."""


def run(metrics: Sequence[str] | str | None = None, datasets: Sequence[str] | str | None = None, *,
        out: Path | str = "results", home: Path | str | None = None, progress: bool = True, **flags: Any) -> Results:
    """Score datasets with metrics, correlate with the ratings, and write scores and report under `out`.

    Nothing named means all. `flags` are those of `harness run`, such as sample=50, split="dev", quality="relevance" or
    lm="smollm2-135m". Scores that are kept under `out` are not computed again. `harness publish --out` draws the pages.
    """
    known = [field.name for field in dataclasses.fields(Settings) if field.name not in OURS]
    for name in flags:
        if name not in known:
            raise BadConfig(f"run has no argument {name!r}; {nearest(name, known)}")
    values: dict[str, Any] = {"metric": metrics, "dataset": datasets, **flags}
    kinds = {field.name: field.default for field in dataclasses.fields(Settings)}
    for name, value in values.items():
        if kinds[name] == () and value is not None and not value:
            raise BadConfig(f"{name} is empty; leave it out for all")
    values = {name: value for name, value in values.items() if value is not None}
    values = {name: ([value] if isinstance(value, str) else list(value)) if kinds[name] == () else value
              for name, value in values.items()}
    named = any(values.get(name) for name in ("metric", "with_", "dataset", "quality", "split"))
    requested = settings(argparse.Namespace(config=None, all=not named, out=Path(out),
                                            home=Path(home) if home else None, **values))
    plan, work = prepare(requested)
    if progress:
        work.progress.terminal = Bar(work.progress)
    collected = gc.get_threshold()
    gc.set_threshold(100_000, 50, 50)  # results are made of very many small rows, none of them in a cycle
    try:
        results = run_plan(plan, work)
    finally:
        gc.set_threshold(*collected)
    if results.timings or results.failures:
        unchanged.forget(requested.out)
        files.write(results, requested.out / "report")
    return Results(results, home_folder(requested.home))


class Bar(Progress):
    """A bar of tqdm over the parts of a run: in a notebook, on a terminal, or in a log."""

    def __init__(self, progress: RunProgress) -> None:
        super().__init__()
        from tqdm.auto import tqdm

        self.live, self._progress = True, progress
        self._bar = tqdm(total=1, unit="part", file=sys.stderr)

    def show(self, text: str) -> None:
        """Move the bar; an empty text ends it."""
        ended, planned = self._progress.estimate.parts
        self._bar.total, self._bar.n = max(planned, 1), ended if planned else 1
        self._bar.set_description_str(text, refresh=True)
        if not text:
            self._bar.close()

    def line(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.write(redacted(text), file=sys.stderr)
