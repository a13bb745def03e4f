"""`run`: `harness run` from Python."""

from __future__ import annotations

import argparse
import dataclasses
import gc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.errors import nearest
from benchmarks.tables import sheet
from harness import own
from harness.api.results import Results
from harness.errors import BadConfig
from harness.results import files
from harness.run import unchanged
from harness.run.prepare import prepare
from harness.run.run import run as run_plan
from harness.run.settings import Settings, home_folder, settings

OURS = ("metric", "dataset", "out", "home", "all", "json", "dry_run")
"""Settings that are separate arguments of `run`, or have no meaning here."""


def run(metrics: Sequence[str] | str | None = None, datasets: Any = None, *,
        out: Path | str = "results", home: Path | str | None = None, **flags: Any) -> Results:
    """Score datasets with metrics, correlate with the ratings, and write scores and report under `out`.

    The default is all metrics and datasets. A dataset is a name, the path of a card or table, or a table of ratings in
    memory: a DataFrame, a datasets.Dataset or a list of dicts. `datasets` is one, a list of them, or a mapping that
    gives tables their names. `flags` are those of `harness run`, such as sample=50, split="dev", quality="relevance"
    or lm="smollm2-135m". Scores stored under `out` are reused. `harness publish --out` draws pages.
    """
    requested = requested_settings(metrics, datasets, out, home, flags)
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


def requested_settings(metrics: Sequence[str] | str | None, datasets: Any, out: Path | str, home: Path | str | None,
                       flags: Mapping[str, Any]) -> Settings:
    """Return the settings of a run; tables of ratings in memory are kept in the home first."""
    defaults = {field.name: field.default for field in dataclasses.fields(Settings) if field.name not in OURS}
    if unknown := next((name for name in flags if name not in defaults), None):
        raise BadConfig(f"unexpected argument {unknown!r}; {nearest(unknown, defaults)}")
    if datasets is not None and not isinstance(datasets, str):
        reading = own.Reading(*(tuple([value] if isinstance(value, str) else value)
                                for value in (flags.get("columns", ()), flags.get("scale", ()))))
        requests = dict(_named(datasets))
        datasets = [_kept(name, dataset, home_folder(Path(home) if home else None), reading)
                    for name, dataset in requests.items()]
        if any(name is not dataset for name, dataset in zip(datasets, requests.values(), strict=True)):  # tables
            flags = {flag: value for flag, value in flags.items() if flag not in ("columns", "scale")}
    values = {name: value for name, value in {"metric": metrics, "dataset": datasets, **flags}.items()
              if value is not None}
    for name, value in values.items():
        if defaults.get(name, ()) == ():  # repeatable
            values[name] = [value] if isinstance(value, str) else list(value)
            if not value:
                raise BadConfig(f"{name} is empty; omit it for all")
    named = any(values.get(name) for name in ("metric", "with_", "dataset", "quality", "split"))
    return settings(argparse.Namespace(all=not named, out=Path(out), home=Path(home) if home else None, **values))


def _named(datasets: Any) -> Iterator[tuple[str, Any]]:
    """Yield datasets with names for those in memory."""
    if isinstance(datasets, Mapping):
        yield from datasets.items()
    elif hasattr(datasets, "columns") or hasattr(datasets, "features") or isinstance(next(iter(datasets), ""), Mapping):
        yield "table", datasets
    else:
        yield from ((f"table-{number}", dataset) for number, dataset in enumerate(datasets, 1))


def _kept(name: str, dataset: Any, home: Path, reading: own.Reading) -> str:
    """Return the name of a dataset; a table of ratings is stored in the home first."""
    if isinstance(dataset, str):
        table = own.table_of(dataset)
        return own.import_table(sheet.read(table), home, reading).card.name if table else dataset
    if hasattr(dataset, "to_dict") and hasattr(dataset, "columns"):  # a DataFrame
        rows = dataset.to_dict("records")
    else:
        rows = [dict(row) for row in dataset]
    return own.import_table(sheet.of_objects(name, lambda: rows), home, reading).card.name
