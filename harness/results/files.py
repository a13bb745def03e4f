"""The results of a run on disk: the folder `report/` under `--out`, written whole and read back without torch.

| file | content |
| --- | --- |
| `report.json` | `schema`, `run`, `datasets`, `metrics`, `trainings`, `skips`, `failures`, SHA-256 of the other files |
| `correlations.parquet` | one `Correlation` per dataset, quality, metric, column and statistic |
| `ranking.parquet` | one `RankingRow` per board, metric and column under a ranking rule |
| `comparisons.parquet` | one `Comparison` per dataset, quality, pair of columns, statistic and test |
| `reliability.parquet` | one `Reliability` per dataset, quality and method |
| `points/DATASET.parquet` | `ItemScores`: one row per item with ratings, scores, system and words |
| `examples.json` | `Example`: items on which people and metrics disagree most, with their texts |
| `timings.json` | `Timing`: what scoring took; the only file that differs between two runs of the same thing |

A missing number is NaN in Parquet and null in JSON. A file is read when its rows are first asked for, and refused where
its SHA-256 is not the one in `report.json`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.formats.records import load, mapping, records, value_of
from benchmarks.storage.files import write_atomically
from harness.errors import BadReport
from harness.results import item_scores as packing
from harness.results import tables
from harness.results.rows import (
    Comparison,
    Correlation,
    DatasetEntry,
    Example,
    Failure,
    ItemScores,
    MetricEntry,
    RankingRow,
    Reliability,
    Results,
    Run,
    Skip,
    Timing,
    TrainingEntry,
)

SCHEMA = 1

TABLES: dict[str, type[Any]] = {
    "correlations": Correlation, "ranking": RankingRow, "comparisons": Comparison, "reliability": Reliability,
}
"""Tables of the results."""

ENTRIES: dict[str, type[Any]] = {
    "datasets": DatasetEntry, "metrics": MetricEntry, "trainings": TrainingEntry, "skips": Skip, "failures": Failure,
}
"""Lists in report.json."""

_BROKEN = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, OSError)
"""Exceptions of JSON, pyarrow and records for malformed files; a type unknown to pyarrow is a RuntimeError."""


def write(report: Results, folder: Path) -> None:
    """Write the report, each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "run": dataclasses.asdict(report.run),
        **{name: [dataclasses.asdict(entry) for entry in getattr(report, name)] for name in ENTRIES},
        "tables": {},
        "points": _write_points(report.points, folder / "points"),
    }
    for name, kind in TABLES.items():
        rows = getattr(report, name)
        table = tables.packed_comparisons(rows) if kind is Comparison else tables.packed(rows, kind)
        head["tables"][name] = hashlib.sha256(table).hexdigest()
        write_atomically(folder / f"{name}.parquet", table)
    examples = json_of([dataclasses.asdict(example) for example in report.examples])
    head["examples"] = hashlib.sha256(examples).hexdigest()
    write_atomically(folder / "examples.json", examples)
    timings = [dataclasses.asdict(timing) for timing in report.timings]
    write_atomically(folder / "timings.json", json_of(timings))
    write_atomically(folder / "report.json", json_of(head))


class _Later(Sequence[Any]):
    """Rows of a report, read on first use."""

    def __init__(self, folder: Path, read: Callable[[], Iterable[Any]]) -> None:
        self._folder, self._read = folder, read

    @functools.cached_property
    def _rows(self) -> tuple[Any, ...]:
        with _reading(self._folder):
            return tuple(self._read())

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._rows == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._rows)


def read(folder: Path | str) -> Results:
    """Read results, without torch and without the datasets; large tables on first use.

    `folder` is the report, or that of the run whose report is in it.
    """
    folder = Path(folder)
    if not (folder / "report.json").is_file() and (folder / "report" / "report.json").is_file():
        folder /= "report"
    with _reading(folder):
        head = mapping("report.json", load("report.json", (folder / "report.json").read_bytes()))
        if head.get("schema") != SCHEMA:
            raise BadReport(f"{folder}/report.json: has form {head.get('schema')!r:.40}, this harness reads form "
                            f"{SCHEMA}; run `harness run` again")

        def table(name: str, kind: type[Any]) -> Iterable[Any]:
            content = _checked(folder / f"{name}.parquet", head["tables"][name])
            return tables.unpacked_comparisons(content) if kind is Comparison else tables.unpacked(content, kind)

        def points() -> Iterator[ItemScores]:
            for dataset, digest in head["points"].items():
                yield packing.unpacked(_checked(_points_path(folder / "points", dataset), digest))

        def examples() -> Iterable[Example]:
            content = _checked(folder / "examples.json", head["examples"])
            return records("examples.json", load("examples.json", content), Example)

        def timings() -> Iterable[Timing]:
            return records("timings.json", load("timings.json", (folder / "timings.json").read_bytes()), Timing)

        later: dict[str, Callable[[], Iterable[Any]]] = {
            "points": points, "examples": examples, "timings": timings,
            **{name: functools.partial(table, name, kind) for name, kind in TABLES.items()}}
        rows: dict[str, Any] = {
            **{name: records(f"report.json, {name}", head[name], kind) for name, kind in ENTRIES.items()},
            **{name: _Later(folder, read) for name, read in later.items()}}
        return Results(run=value_of(Run, head["run"], "run"), **rows)


@contextlib.contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Turn any problem of a report into BadReport."""
    try:
        yield
    except FileNotFoundError as error:
        name = Path(error.filename).name if error.filename else "a table of it"
        raise BadReport(f"{folder}: no report here ({name} is missing); "
                        "`harness run --all` makes one, --out DIR names another folder") from error
    except _BROKEN as error:
        raise BadReport(f"{folder}: the report does not read back ({error}); run `harness run` again") from error


def json_line(row: Correlation | RankingRow | Comparison | Reliability, **more: object) -> str:
    """Return a JSON object on a line, with null for NaN."""
    values = {**more, **{name: getattr(row, name) for name in row.__slots__}}
    return "{" + ", ".join([f'"{name}": {_json_value(value)}' for name, value in values.items()]) + "}\n"


def _json_value(value: object) -> str:
    """Write rows as json.dumps would, in a tenth of the time."""
    if type(value) is float:
        return repr(value) if math.isfinite(value) else "null"
    return _string(value) if type(value) is str else json.dumps(value)


@functools.lru_cache(100_000)
def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def json_of(value: object) -> bytes:
    """Return indented JSON, with null for missing numbers."""
    return (json.dumps(filled(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def filled(value: Any) -> Any:
    """Replace NaN at any depth by None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: filled(one) for key, one in value.items()}
    return [filled(one) for one in value] if isinstance(value, list | tuple) else value


def _write_points(every: Iterable[ItemScores], folder: Path) -> dict[str, str]:
    """Write the item scores of each dataset, remove those of an earlier run, and return digests by dataset."""
    digests, written = {}, set()
    for points in every:
        folder.mkdir(exist_ok=True)
        content, path = packing.packed(points), _points_path(folder, points.dataset)
        write_atomically(path, content)
        digests[points.dataset] = hashlib.sha256(content).hexdigest()
        written.add(path)
    for path in set(folder.glob("*.parquet")) - written:
        path.unlink(missing_ok=True)
    return digests


def _points_path(folder: Path, dataset: str) -> Path:
    return folder / f"{packing.slug(dataset)}.parquet"


def _checked(path: Path, digest: str) -> bytes:
    """Read a file that report.json names; ValueError if its digest differs."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(f"{path.name} is not the file that report.json was written with")
    return content
