"""`run`: `harness run` from Python."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.errors import nearest
from benchmarks.formats import records
from benchmarks.tables import ratings, sheet
from harness import own
from harness.api.results import Results
from harness.api.scores import how_to_name, plain, rows_of
from harness.commands.run import carry_out
from harness.errors import BadConfig
from harness.run.prepare import prepare
from harness.run.settings import Settings, expanded, home_folder, settings

EXCLUDED = {"metric", "dataset", "out", "home", "all", "json", "dry_run"}
"""Settings that are separate arguments of `run`, or have no meaning here."""


def run(metrics: Sequence[str] | str | None = None, datasets: Any = None, *,
        out: Path | str = "results", home: Path | str | None = None, **flags: Any) -> Results:
    """Score datasets with metrics, correlate with the ratings, and write scores and report under `out`.

    The default is all metrics and datasets. A dataset is a name, the path of a card or table, or a table of ratings in
    memory: a DataFrame, a datasets.Dataset or a list of dicts. `datasets` is one dataset, a list, or a mapping that
    names tables. `flags` are those of `harness run`, such as sample=50, split="dev", quality="relevance"
    or lm="smollm2-135m". Scores stored under `out` are reused.

    >>> import pandas
    >>> ratings = pandas.DataFrame({
    ...     "prompt": ["Tea?", "Coffee?", "Water?"], "answer": ["No.", "Yes, please.", "Some cold water, please."],
    ...     "fun": [1, 2, 3]})
    >>> results = run("length", {"drinks": ratings}, out="drinks")
    >>> results.correlations().query("statistic == 'spearman'")[["dataset", "quality", "column", "n", "value"]]
      dataset quality  column  n  value
    0  drinks     fun  length  3    1.0
    """
    requested = requested_settings(metrics, datasets, out, home, flags)
    plan, work = prepare(requested)
    results = carry_out(plan, work, requested, pages=False)
    return Results(results, home_folder(requested.home), requested.out)


def requested_settings(metrics: Sequence[str] | str | None, datasets: Any, out: Path | str, home: Path | str | None,
                       flags: Mapping[str, Any]) -> Settings:
    """Return the settings of a run; tables of ratings in memory are stored in the home first."""
    defaults = {field.name: field.default for field in dataclasses.fields(Settings)}
    if unknown := next((name for name in flags if name not in defaults.keys() - EXCLUDED), None):
        known = ("metrics", "datasets", "out", "home", *sorted(defaults.keys() - EXCLUDED))
        raise BadConfig(f"unexpected argument {unknown!r}; {nearest(unknown, known)}")
    requested = {"metric": metrics, "out": out, "home": home, **flags}
    for metric in (*_listed(metrics), *_listed(flags.get("with_"))):
        if hasattr(metric, "card"):
            raise BadConfig(f"metrics: expected names, got {type(metric).__name__}; {how_to_name(metric)}")
    with records.refused_as(BadConfig):
        values = records.fields_of(Settings, {name: as_written(value, listed=isinstance(defaults[name], tuple))
                                              for name, value in requested.items() if value is not None}, "arguments")
    values = {name: expanded(value) if isinstance(value, Path) else value for name, value in values.items()}
    if datasets is not None:
        by_name, reading = _by_name(datasets), own.Reading(values.get("columns", ()), values.get("scale", ()))
        own.check_distinct(source for name, dataset in by_name.items() if (source := _source(name, dataset)))
        folder = home_folder(values.get("home"))
        names = tuple(_stored(name, dataset, folder, reading) for name, dataset in by_name.items())
        if any(name is not dataset for name, dataset in zip(names, by_name.values(), strict=True)):  # tables are stored
            values = {name: value for name, value in values.items() if name not in ("columns", "scale")}
        values["dataset"] = names
    if empty := next((name for name, value in values.items() if value == ()), None):
        raise BadConfig(f"{empty} is empty; omit it for all")
    is_restricted = any(values.get(name) for name in ("metric", "with_", "dataset", "quality", "split"))
    return settings(argparse.Namespace(all=not is_restricted, **values))


def as_written(value: Any, *, listed: bool) -> Any:
    """Return an argument as in a config file; a string stands for a list of one."""
    if listed and isinstance(value, Iterable):
        return [value] if isinstance(value, str) else [as_written(entry, listed=False) for entry in value]
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else value


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _by_name(datasets: Any) -> Mapping[str, Any]:
    """Return datasets by name; unnamed tables in memory are called table, or table-1, table-2, ... in a list."""
    if isinstance(datasets, Mapping):
        return datasets
    rows = rows_of(datasets)
    if rows is not datasets or not isinstance(rows, list | tuple) or isinstance(next(iter(rows), None), Mapping):
        return {"table": rows}
    return {f"table-{number}": dataset for number, dataset in enumerate(rows, 1)}


def _source(name: str, dataset: Any) -> tuple[str, Path | str] | None:
    """Return the name and source of a dataset that is to be stored in the home."""
    if not isinstance(dataset, str | Path):
        return ratings.slug(name), name
    path = own.card_of(str(dataset)) or own.table_of(str(dataset))
    return (own.name_of(str(dataset)), path.resolve()) if path else None


def _stored(name: str, dataset: Any, home: Path, reading: own.Reading) -> str:
    """Return the name of a dataset; a table of ratings is stored in the home first."""
    if isinstance(dataset, str | Path):
        table = own.table_of(str(dataset))
        return own.import_table(sheet.read(table), home, reading).card.name if table else str(dataset)
    rows = rows_of(dataset)
    rows = list(rows) if isinstance(rows, Iterator) else rows
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable) or not all(isinstance(row, Mapping) for row in rows):
        raise BadConfig(f"{name}: expected the name or path of a dataset, or a table of ratings (a DataFrame, a "
                        f"datasets.Dataset or a list of dicts, one per row), got {type(dataset).__name__}")
    return own.import_table(sheet.of_objects(name, lambda: map(plain, rows)), home, reading).card.name
