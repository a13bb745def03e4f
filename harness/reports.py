"""A report on disk, written whole and read back without torch and without the datasets.

    report.json          run, datasets, metrics, trainings, skips, failures
    agreements.parquet   one row per dataset, quality, metric, column and statistic (agreements.jsonl: the same)
    standings.parquet    one row per board, metric and column under a ranking rule (standings.jsonl: the same)
    contests.parquet     one row per quality, pair of columns, statistic and test (contests.jsonl: the same)
    ceilings.parquet     one row per quality and way of measuring how far people agree (ceilings.jsonl: the same)
    timings.json         seconds per cell, the only part that differs between two runs of the same thing
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.files import write_atomically
from harness.errors import BadReport
from harness.results import (
    Agreement,
    Ceiling,
    Contest,
    DatasetEntry,
    Failure,
    Look,
    MetricEntry,
    QualityEntry,
    Report,
    Run,
    Skip,
    Standing,
    Timing,
    TrainingEntry,
)

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = 1

Row = TypeVar("Row", Agreement, Standing, Contest, Ceiling)

TABLES: dict[str, type[Any]] = {
    "agreements": Agreement, "standings": Standing, "contests": Contest, "ceilings": Ceiling,
}
"""The tables of a report, each in Parquet and in JSON lines."""


def write(report: Report, folder: Path) -> None:
    """Write the report; each file is written beside and renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "run": dataclasses.asdict(report.run),
        **{name: [dataclasses.asdict(entry) for entry in getattr(report, name)]
           for name in ("datasets", "metrics", "trainings", "skips", "failures")},
        "tables": {},
    }
    for name, kind in TABLES.items():
        rows = getattr(report, name)
        table = _parquet(rows, kind)
        head["tables"][name] = hashlib.sha256(table).hexdigest()
        write_atomically(folder / f"{name}.parquet", table)
        write_atomically(folder / f"{name}.jsonl", "".join(map(json_line, rows)).encode())
    timings = [dataclasses.asdict(timing) for timing in report.timings]
    write_atomically(folder / "timings.json", _json(timings))
    write_atomically(folder / "report.json", _json(head))


def read(folder: Path) -> Report:
    """Read a report back, without torch and without the datasets."""
    try:
        head = json.loads((folder / "report.json").read_bytes())
        if head["schema"] != SCHEMA:
            raise BadReport(f"{folder}: a report of form {head['schema']}, this harness reads form {SCHEMA}")
        timings = json.loads((folder / "timings.json").read_bytes())
        return Report(
            run=Run(**head["run"]),
            datasets=tuple(_dataset_entry(entry) for entry in head["datasets"]),
            metrics=tuple(_metric_entry(entry) for entry in head["metrics"]),
            agreements=tuple(_rows(folder, head, "agreements", Agreement)),
            standings=tuple(_rows(folder, head, "standings", Standing)),
            trainings=tuple(map(_training_entry, head.get("trainings", ()))),
            skips=tuple(Skip(**entry) for entry in head["skips"]),
            failures=tuple(Failure(**entry) for entry in head["failures"]),
            contests=tuple(_rows(folder, head, "contests", Contest)),
            ceilings=tuple(_rows(folder, head, "ceilings", Ceiling)),
            timings=tuple(Timing(**entry) for entry in timings),
        )
    except FileNotFoundError as error:
        name = Path(error.filename).name if error.filename else "a table of it"
        raise BadReport(f"{folder}: no report here ({name} is missing); "
                        "`harness run --all` makes one") from error
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadReport(f"{folder}: the report does not read back ({error}); run `harness run` again") from error


def json_line(row: Agreement | Standing | Contest | Ceiling, **more: object) -> str:
    """One JSON object on a line; NaN becomes null, because JSON has no NaN."""
    values = {**more, **{name: getattr(row, name) for name in row.__slots__}}
    return "{" + ", ".join([f'"{name}": {_json_value(value)}' for name, value in values.items()]) + "}\n"


def _json_value(value: object) -> str:
    """What json.dumps would write, in a tenth of the time: a report has some hundred thousand rows."""
    if type(value) is float:
        return repr(value) if math.isfinite(value) else "null"
    return _string(value) if type(value) is str else json.dumps(value)


@functools.lru_cache(100_000)
def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _schema(kind: type[Any]) -> pa.Schema:
    import pyarrow as pa

    arrow = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "int | None": pa.int64()}
    return pa.schema([(entry.name, arrow[str(entry.type)]) for entry in dataclasses.fields(kind)])


def _parquet(rows: Sequence[Any], kind: type[Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(kind)
    columns = {name: [getattr(row, name) for row in rows] for name in schema.names}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), sink)
    return sink.getvalue()


def _rows(folder: Path, head: Mapping[str, Any], name: str, kind: type[Row]) -> Iterable[Row]:
    import pyarrow.parquet as pq

    content = (folder / f"{name}.parquet").read_bytes()
    if hashlib.sha256(content).hexdigest() != head["tables"][name]:
        raise ValueError(f"{name}.parquet is not the table that report.json was written with")
    table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    columns = [table.column(entry.name).to_pylist() for entry in dataclasses.fields(kind)]
    return (kind(*values) for values in zip(*columns, strict=True))


def _dataset_entry(entry: dict[str, Any]) -> DatasetEntry:
    qualities = tuple(QualityEntry(**quality) for quality in entry["qualities"])
    return DatasetEntry(**{**entry, "qualities": qualities, "has": tuple(entry["has"])})


def _metric_entry(entry: dict[str, Any]) -> MetricEntry:
    known = {"models": (), "learned_on": (), **entry}  # a report of an earlier version has neither
    lists = ("columns", "needs", "levels", "models", "learned_on")
    return MetricEntry(**{**known, **{name: tuple(known[name]) for name in lists}})


def _training_entry(entry: dict[str, Any]) -> TrainingEntry:
    lists = {name: tuple(entry[name]) for name in ("metrics", "corpora")}
    return TrainingEntry(**{**entry, **lists, "curve": tuple(Look(**look) for look in entry["curve"])})
