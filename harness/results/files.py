"""The results of a run on disk: the folder `report/` under `--out`, written whole and read back without torch.

| file | content |
| --- | --- |
| `report.json` | `schema`, `run`, `datasets`, `metrics`, `trainings`, `skips`, `failures`, SHA-256 of the other files |
| `correlations.parquet`, `.jsonl` | one `Correlation` per dataset, quality, metric, column and statistic |
| `ranking.parquet`, `.jsonl` | one `RankingRow` per board, metric and column under a ranking rule |
| `comparisons.parquet`, `.jsonl` | one `Comparison` per dataset, quality, pair of columns, statistic and test |
| `reliability.parquet`, `.jsonl` | one `Reliability` per dataset, quality and method |
| `points/DATASET.parquet` | `ItemScores`: one row per item with ratings, scores, system and words |
| `examples.json` | `Example`: items on which people and metrics disagree most, with their texts |
| `timings.json` | `Timing`: what scoring took; the only file that differs between two runs of the same thing |

The `.jsonl` files hold the rows of the Parquet files beside them, one JSON object per line. A missing number is NaN in
Parquet and null in JSON. A file whose SHA-256 is not the one in `report.json` is refused.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.storage.files import write_atomically
from harness.errors import BadReport
from harness.results import item_scores as packing
from harness.results.rows import (
    Comparison,
    Correlation,
    DatasetEntry,
    Example,
    Failure,
    ItemScores,
    Look,
    MetricEntry,
    QualityEntry,
    RankingRow,
    Reliability,
    Results,
    Run,
    Skip,
    Timing,
    TrainingEntry,
)

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = 1

Row = TypeVar("Row", Correlation, RankingRow, Comparison, Reliability)

TABLES: dict[str, type[Any]] = {
    "correlations": Correlation, "ranking": RankingRow, "comparisons": Comparison, "reliability": Reliability,
}
"""The tables of a report, each in Parquet and in JSON lines."""

_BROKEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, OSError)
"""What JSON, pyarrow and a record raise of what is not of the form; that pyarrow has no such type is a RuntimeError."""


def write(report: Results, folder: Path) -> None:
    """Write the report; each file is written beside and renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "run": dataclasses.asdict(report.run),
        **{name: [dataclasses.asdict(entry) for entry in getattr(report, name)]
           for name in ("datasets", "metrics", "trainings", "skips", "failures")},
        "tables": {},
        "points": _write_points(report.points, folder / "points"),
    }
    for name, kind in TABLES.items():
        rows = getattr(report, name)
        table = _parquet(rows, kind)
        head["tables"][name] = hashlib.sha256(table).hexdigest()
        write_atomically(folder / f"{name}.parquet", table)
        write_atomically(folder / f"{name}.jsonl", "".join(map(json_line, rows)).encode())
    examples = _json([_filled(dataclasses.asdict(example)) for example in report.examples])
    head["examples"] = hashlib.sha256(examples).hexdigest()
    write_atomically(folder / "examples.json", examples)
    timings = [dataclasses.asdict(timing) for timing in report.timings]
    write_atomically(folder / "timings.json", _json(timings))
    write_atomically(folder / "report.json", _json(head))


def read(folder: Path) -> Results:
    """Read a report back, without torch and without the datasets."""
    try:
        head = json.loads((folder / "report.json").read_bytes())
        if head["schema"] != SCHEMA:
            raise BadReport(f"{folder}: a report of form {head['schema']}, this harness reads form {SCHEMA}")
        timings = json.loads((folder / "timings.json").read_bytes())
        return Results(
            run=Run(**head["run"]),
            datasets=tuple(_dataset_entry(entry) for entry in head["datasets"]),
            metrics=tuple(_metric_entry(entry) for entry in head["metrics"]),
            correlations=tuple(_rows(folder, head, "correlations", Correlation)),
            ranking=tuple(_rows(folder, head, "ranking", RankingRow)),
            trainings=tuple(map(_training_entry, head.get("trainings", ()))),
            skips=tuple(Skip(**entry) for entry in head["skips"]),
            failures=tuple(Failure(**entry) for entry in head["failures"]),
            comparisons=tuple(_rows(folder, head, "comparisons", Comparison)),
            reliability=tuple(_rows(folder, head, "reliability", Reliability)),
            timings=tuple(Timing(**entry) for entry in timings),
            points=tuple(_read_points(folder, head.get("points", {}))),
            examples=tuple(_read_examples(folder, head.get("examples"))),
        )
    except FileNotFoundError as error:
        name = Path(error.filename).name if error.filename else "a table of it"
        raise BadReport(f"{folder}: no report here ({name} is missing); "
                        "`harness run --all` makes one") from error
    except _BROKEN as error:
        raise BadReport(f"{folder}: the report does not read back ({error}); run `harness run` again") from error


def json_line(row: Correlation | RankingRow | Comparison | Reliability, **more: object) -> str:
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


def _write_points(every: Iterable[ItemScores], folder: Path) -> dict[str, str]:
    """Write the points of each dataset, and remove those of a run before; their digests by dataset."""
    digests, kept = {}, set()
    for points in every:
        folder.mkdir(exist_ok=True)
        content, path = packing.packed(points), _points_path(folder, points.dataset)
        write_atomically(path, content)
        digests[points.dataset] = hashlib.sha256(content).hexdigest()
        kept.add(path)
    for path in folder.glob("*.parquet"):
        if path not in kept:
            path.unlink(missing_ok=True)
    return digests


def _read_points(folder: Path, digests: Mapping[str, str]) -> Iterator[ItemScores]:
    for dataset, digest in digests.items():
        yield packing.unpacked(_checked(_points_path(folder / "points", dataset), digest))


def _points_path(folder: Path, dataset: str) -> Path:
    return folder / f"{packing.slug(dataset)}.parquet"


def _read_examples(folder: Path, digest: str | None) -> Iterator[Example]:
    if digest is None:
        return
    for entry in json.loads(_checked(folder / "examples.json", digest)):
        rating = math.nan if entry["rating"] is None else entry["rating"]
        columns = tuple((str(name), float(place)) for name, place in entry["columns"])
        yield Example(**{**entry, "rating": rating, "context": tuple(entry["context"]), "columns": columns})


def _checked(path: Path, digest: str) -> bytes:
    """The content of a file that report.json names; ValueError where it is not the one of that report."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path.name} is not the file that report.json was written with")
    return content


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    """With null where a number is missing, because JSON has no NaN."""
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


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

    content = _checked(folder / f"{name}.parquet", head["tables"][name])
    shared: dict[str, str] = {}
    for batch in pq.ParquetFile(io.BytesIO(content)).iter_batches(use_threads=False):
        columns = [_values(batch, entry, shared) for entry in dataclasses.fields(kind)]
        yield from (kind(*values) for values in zip(*columns, strict=True))


def _values(batch: pa.RecordBatch, entry: dataclasses.Field[Any], shared: dict[str, str]) -> list[Any]:
    """A column; its default where the table is of a version before there was one.

    Rows that hold the same text share it: a report has some hundred thousand rows and some hundred names.
    """
    if entry.name not in batch.schema.names and entry.default is not dataclasses.MISSING:
        return [entry.default] * batch.num_rows
    column = batch.column(entry.name)
    values: list[Any] = column.to_pylist()
    if entry.type == "str":
        return [shared.setdefault(value, value) for value in values]
    return values


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
