"""The results of a run on disk: the folder `report/` under `--out`, which can be read without torch.

| file | content |
| --- | --- |
| `report.json` | `schema`, `run`, `datasets`, `metrics`, `trainings`, `skips`, `failures`, SHA-256 of the other files |
| `correlations.parquet` | one `Correlation` per dataset, quality, metric, column and statistic |
| `ranking.parquet` | one `RankingRow` per board, metric and column under a ranking rule |
| `comparisons.parquet` | one `Comparison` per dataset, quality, pair of columns, statistic and test |
| `reliability.parquet` | one `Reliability` per dataset, quality and method |
| `firmness.parquet` | one `Firmness` per board, rule, kind of leader and unit |
| `disagreement.parquet` | one `Disagreement` per dataset, quality, metric and column |
| `vote_counts.parquet` | one `VoteCount` per dataset, quality, fifth of the best column's scores and rating |
| `decisions.parquet` | one `Decision` per dataset, quality, metric and column |
| `points/DATASET.parquet` | `ItemScores`: one row per item with ratings, scores, system and words |
| `examples.json` | `Example`: items on which people and metrics disagree most, with their texts |
| `timings.json` | `Timing`: seconds of scoring; the only file that differs between equal runs, so without SHA-256 |

A missing number is NaN in Parquet and null in JSON. A table outside `report.json` is read when its rows are first
requested, and rejected if `report.json` has a different SHA-256 for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import itertools
import json
import math
from collections import UserList
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from benchmarks.formats.records import load, mapping, records, value_of
from benchmarks.storage.files import write_atomically
from harness.errors import BadReport
from harness.results import item_scores
from harness.results.item_scores import file_of, table_of
from harness.results.rows import TABLES, Comparisons, ItemScores, Results, Run

Record = TypeVar("Record")
SCHEMA = 2
ENTRIES = ("datasets", "metrics", "trainings", "skips", "failures")
"""Tables in report.json."""
PARQUET = tuple(name for name in TABLES if name not in (*ENTRIES, "examples", "points", "timings"))
KEY, SIDES, NUMBERS = Comparisons.KEY, Comparisons.SIDES, Comparisons.NUMBERS
_MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, OSError)
"""What json, pyarrow and records raise for malformed files; pyarrow raises RuntimeError for an unknown type."""


def write(report: Results, folder: Path) -> None:
    """Write the report, each file atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = {f"{name}.parquet": packed(getattr(report, name), TABLES[name]) for name in PARQUET}
    examples, timings = (json_of(list(map(dataclasses.asdict, rows))) for rows in (report.examples, report.timings))
    head = {"schema": SCHEMA, "run": dataclasses.asdict(report.run),
            **{name: [dataclasses.asdict(entry) for entry in getattr(report, name)] for name in ENTRIES},
            "tables": {name.removesuffix(".parquet"): _digest(content) for name, content in contents.items()},
            "points": _write_points(report.points, folder / "points"), "examples": _digest(examples)}
    contents |= {"examples.json": examples, "timings.json": timings, "report.json": json_of(head)}
    for name, content in contents.items():
        write_atomically(folder / name, content)


class _LazyRows(UserList[Any]):
    """Rows of a report, read on first use."""

    def __init__(self, folder: Path, read: Callable[[], Iterable[Any]]) -> None:
        self._folder, self._read = folder, read

    @functools.cached_property
    def data(self) -> tuple[Any, ...]:  # type: ignore[override]
        with _reading(self._folder):
            return tuple(self._read())


def read(folder: Path | str) -> Results:
    """Read the results in a report, or in the output folder of a run that contains it; large tables on first use."""
    folder = Path(folder)
    if not (folder / "report.json").is_file() and (folder / "report" / "report.json").is_file():
        folder /= "report"
    with _reading(folder):
        head = mapping("report.json", load("report.json", (folder / "report.json").read_bytes()))
        if head.get("schema") != SCHEMA:
            raise BadReport(f"{folder}/report.json has schema {head.get('schema')!r:.40}, but this version reads "
                            f"schema {SCHEMA}; run `harness run` again")
        rows: dict[str, Any] = {name: records(f"report.json, {name}", head[name], TABLES[name]) for name in ENTRIES}
        rows |= {name: _LazyRows(folder, functools.partial(_rows, folder, head, name))
                 for name in TABLES if name not in ENTRIES}
        return Results(run=value_of(Run, head["run"], "run"), **rows)


def _rows(folder: Path, head: Mapping[str, Any], name: str) -> Iterator[Any]:
    if name in PARQUET:
        yield from unpacked(_checked(folder / f"{name}.parquet", head["tables"][name]), TABLES[name])
    elif name == "points":
        for dataset, digest in head["points"].items():
            yield item_scores.from_parquet(_checked(_points_path(folder / "points", dataset), digest))
    else:
        content = _checked(folder / f"{name}.json", head.get(name))
        yield from records(f"{name}.json", load(f"{name}.json", content), TABLES[name])


@contextlib.contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Turn any problem with a report into BadReport."""
    try:
        yield
    except FileNotFoundError as error:
        name = Path(error.filename).name if error.filename else "a table"
        if (folder / "scores").is_dir():
            raise BadReport(f"{folder}: no report yet, only scores, from `harness estimate` or an unfinished run; "
                            f"`harness run --out {folder}` with the same datasets and metrics reuses them") from error
        raise BadReport(f"{folder}: no report here ({name} is missing); `harness run --out {folder}` writes one; if "
                        "the run is elsewhere, name its folder with --out") from error
    except _MALFORMED as error:
        raise BadReport(f"{folder}: the report cannot be read ({error}); run `harness run` again") from error


class Row(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


def json_line(row: Row, **extra: object) -> str:
    """Return a row as a JSON object on one line."""
    return json_object({**extra, **{field.name: getattr(row, field.name) for field in dataclasses.fields(row)}})


def json_object(values: Mapping[str, object]) -> str:
    """Return a JSON object on one line, with null for missing numbers."""
    return json.dumps(without_nan(values), ensure_ascii=False, allow_nan=False) + "\n"


def json_of(value: object) -> bytes:
    """Return indented JSON, with null for missing numbers."""
    return (json.dumps(without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def without_nan(value: Any) -> Any:
    """Replace NaN and infinity by None, at any depth."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: without_nan(entry) for key, entry in value.items()}
    return [without_nan(entry) for entry in value] if isinstance(value, list | tuple) else value


def _write_points(datasets: Iterable[ItemScores], folder: Path) -> dict[str, str]:
    """Write the item scores of each dataset, remove those of an earlier run, and return digests by dataset."""
    digests = {}
    for points in datasets:
        folder.mkdir(exist_ok=True)
        content = item_scores.to_parquet(points)
        write_atomically(_points_path(folder, points.dataset), content)
        digests[points.dataset] = _digest(content)
    for path in set(folder.glob("*.parquet")) - {_points_path(folder, dataset) for dataset in digests}:
        path.unlink(missing_ok=True)
    return digests


def _points_path(folder: Path, dataset: str) -> Path:
    return folder / f"{item_scores.slug(dataset)}.parquet"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _checked(path: Path, digest: str | None) -> bytes:
    """Read a file; raise ValueError if its SHA-256 is not `digest`."""
    content = path.read_bytes()
    if digest and _digest(content) != digest:
        raise ValueError(f"the SHA-256 of {path.name} differs from the one in report.json")
    return content


def packed(rows: Sequence[Any], kind: type[Any]) -> bytes:
    """Return rows of one kind as a Parquet file; `unpacked` reads them."""
    if kind is Comparisons:
        return _packed_comparisons(rows)
    types = {"str": pa.string(), "float": pa.float64(), "bool": pa.bool_(), "tuple[str, ...]": pa.list_(pa.string())}
    schema = pa.schema([(field.name, types.get(str(field.type), pa.int64())) for field in dataclasses.fields(kind)])
    return file_of(pa.table({name: [getattr(row, name) for row in rows] for name in schema.names}, schema=schema))


def unpacked(content: bytes, kind: type[Record]) -> Iterator[Record]:
    if kind is Comparisons:
        return _unpacked_comparisons(content)  # type: ignore[return-value]
    table = table_of(content)
    columns = [table.column(field.name).to_pylist() for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    columns = [list(map(tuple, column)) if column and isinstance(column[0], list) else column for column in columns]
    return (kind(*row) for row in zip(*columns, strict=True))


def _packed_comparisons(comparisons: Sequence[Comparisons]) -> bytes:
    sizes = np.array(list(map(len, comparisons)), np.int64)
    keys = {name: np.array([getattr(table, name) for table in comparisons], object).repeat(sizes) for name in KEY}
    columns = {name: pa.array(values, pa.string()) for name, values in keys.items()}
    columns |= {side: pa.array(itertools.chain.from_iterable(
        np.array(table.names, object)[getattr(table, side)] for table in comparisons), pa.string()) for side in SIDES}
    columns |= {name: pa.array(np.concatenate([[], *(getattr(table, name) for table in comparisons)]),
                               pa.int64() if name == "n" else pa.float64()) for name in NUMBERS}
    return file_of(pa.table(columns), use_dictionary=[*KEY, *SIDES, "n"], store_schema=False)


def _unpacked_comparisons(content: bytes) -> Iterator[Comparisons]:
    """Read comparisons by column, since a run has several hundred thousand."""
    table = table_of(content)
    strings = {name: table.column(name).combine_chunks().dictionary_encode() for name in (*KEY, *SIDES)}
    codes = {name: column.indices.to_numpy() for name, column in strings.items()}
    labels = {name: column.dictionary.to_pylist() for name, column in strings.items()}
    names = tuple(dict.fromkeys(name for side in SIDES for name in labels[side]))
    arrays = [*(np.array([names.index(name) for name in labels[side]], np.int64)[codes[side]] for side in SIDES),
              *(table.column(name).to_numpy() for name in NUMBERS)]
    changed = np.any([codes[name][1:] != codes[name][:-1] for name in KEY], axis=0)
    starts = [0, *(np.flatnonzero(changed) + 1).tolist()] if len(table) else []
    for start, end in itertools.pairwise([*starts, len(table)]):
        dataset, quality, statistic, test = (labels[name][codes[name][start]] for name in KEY)
        yield Comparisons(dataset, quality, statistic, test, names, *(array[start:end] for array in arrays))
