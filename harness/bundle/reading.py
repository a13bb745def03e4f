"""Read a bundle from an unknown source, or refuse it with the reason.

benchmarks/storage/archive.py unpacks it into a temporary folder and refuses zip bombs, links and paths outside it.
The members must match the manifest, including their sha256. Everything is text: numbers must be finite, records must
have exactly the expected fields, and names must agree across files. Nothing is executed, unpickled or imported.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.errors import BadArchive
from benchmarks.formats.records import Refused, lines, load, mapping, records, refused_as, text, value_of
from benchmarks.formats.rows import Unreadable, delimited
from benchmarks.formats.scorefile.rows import number
from benchmarks.storage import archive
from harness.bundle import FORMAT, MANIFEST, NAME_LENGTH, TABLES, Bundle, heading, scores_file, without_ratings
from harness.errors import BadBundle
from harness.results.differences import key_of
from harness.results.rows import TABLES as KINDS
from harness.results.rows import ColumnKey, ItemScores, Results, Run
from harness.terms import Count
from metrics.column import of_quality, split_quality

MAX_BYTES = 128 << 20
"""Maximum bytes of an unpacked bundle."""
MAX_COLUMNS = 2000


def read(path: Path) -> Bundle:
    """Read a bundle; raise BadBundle if anything is wrong with it."""
    with refused_as(lambda why: BadBundle(f"{path}: {why}")):
        if not path.is_file():
            raise Refused("no such file")
        with tempfile.TemporaryDirectory(prefix="harness-bundle-") as folder:
            try:
                archive.unpack(path, Path(folder) / "bundle", limit=MAX_BYTES)
            except BadArchive as error:
                raise BadBundle(str(error)) from error
            return _bundle(*_members(Path(folder) / "bundle"))


def _members(folder: Path) -> tuple[str, dict[str, bytes]]:
    """Return the name of the bundle, and the content of every member, checked against the manifest."""
    unpacked = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    if MANIFEST not in unpacked:
        raise Refused(f"has no {MANIFEST}")
    manifest = mapping(MANIFEST, load(MANIFEST, unpacked[MANIFEST].read_bytes()))
    if manifest.get("form") != FORMAT:
        raise Refused(f"{MANIFEST}: form {manifest.get('form')!r:.40} is not supported; expected {FORMAT}")
    listed = mapping(MANIFEST, manifest.get("files"))
    for name in sorted(unpacked.keys() - {MANIFEST} - listed.keys()):
        raise Refused(f"{name!r:.100} is not in the manifest")
    title = manifest.get("name")
    if not isinstance(title, str) or not title.isprintable() or not 0 < len(title) <= NAME_LENGTH:
        raise Refused(f"{MANIFEST}: the name should be 1 to {NAME_LENGTH} printable characters")
    members = {}
    for name, entry in listed.items():
        if name not in unpacked or name == MANIFEST:
            raise Refused(f"{name!r:.100} is in the manifest but not in the bundle")
        members[name] = unpacked[name].read_bytes()
        if mapping(MANIFEST, entry).get("sha256") != hashlib.sha256(members[name]).hexdigest():
            raise Refused(f"{name!r:.100} does not match the manifest: its sha256 differs")
    return title, members


def _bundle(title: str, members: Mapping[str, bytes]) -> Bundle:
    fixed = ("run.json", *TABLES)
    for name in fixed:
        if name not in members:
            raise Refused(f"has no {name}")
    tables: dict[str, Any] = {name: records(file, list(lines(file, members[file])) if file.endswith(".jsonl") else
                                            load(file, members[file]), KINDS[name]) for file, name in TABLES.items()}
    _check_names(tables)
    score_files = {scores_file(entry.name): entry.name for entry in tables["datasets"]}
    for name in members.keys() - {*fixed} - score_files.keys():
        raise Refused(f"{name!r:.100} does not belong in a bundle")
    columns = {(row.metric, row.column) for row in tables["correlations"]}
    points = [_scores(dataset, file, members[file], columns) for file, dataset in score_files.items()
              if file in members]
    run = value_of(Run, load("run.json", members["run.json"]), "run.json")
    value_of(Count, run.seed, "run.json: seed")
    value_of(tuple[str, ...], run.options.get("aggregations", []), "run.json: options: aggregations")
    return Bundle(title, Results(run=run, points=points, **tables))


def _check_names(tables: Mapping[str, Any]) -> None:
    """Raise Refused unless keys are unique, and correlations belong to datasets and metrics of the bundle."""
    for kind in ("datasets", "metrics", "correlations", "ranking"):
        if repeated := [key for key, count in Counter(map(key_of, tables[kind])).items() if count > 1]:
            raise Refused(f"{kind}: {', '.join(repeated[0])!r:.200} occurs twice")
    names = {kind: {entry.name for entry in tables[kind]} for kind in ("datasets", "metrics")}
    for kind, known in names.items():
        if not known or not all(name and name.isprintable() for name in known):
            raise Refused(f"{kind}.json: expected at least one name, all of them printable")
    for row in tables["correlations"]:
        if not (row.dataset in names["datasets"] and row.metric in names["metrics"] and row.column.isprintable()):
            raise Refused(f"correlations.jsonl: {key_of(row)!r:.200} belongs to no dataset or metric of the bundle")


def _scores(dataset: str, file: str, content: bytes, known: Collection[ColumnKey]) -> ItemScores:
    rows = delimited(text(file, content), ".csv")
    try:
        _, headings = next(rows, (1, []))
        if headings[:1] != ["item"] or len(set(headings)) < len(headings) or not 1 < len(headings) <= MAX_COLUMNS:
            raise Refused(f"{file}: the first line should be item, then 1 to {MAX_COLUMNS} different columns")
        columns = _columns(file, headings[1:], known)
        items, numbers = [], []
        for line, row in rows:
            if len(row) != len(headings):
                raise Refused(f"{file}, line {line}: {len(row)} values for {len(headings)} columns")
            values = [number(cell) if cell else math.nan for cell in row[1:]]
            if invalid := next((value for value in values if isinstance(value, tuple)), None):
                raise Refused(f"{file}, line {line}: {invalid[1]}")
            items.append(row[0])
            numbers.append(values)
    except Unreadable as error:
        raise Refused(f"{file}, line {error.line}: {error.text}") from error
    if len(set(items)) < len(items):
        raise Refused(f"{file}: an item occurs twice")
    table = np.array(numbers, dtype=np.float64).reshape(len(items), len(columns))
    return without_ratings(dataset, tuple(items), dict(zip(columns, table.T, strict=True)))


def _columns(file: str, headings: list[str], known: Collection[ColumnKey]) -> list[ColumnKey]:
    """Return the columns of a table; a column made for a single quality is headed METRIC/COLUMN@QUALITY."""
    by_heading, by_full_name = {heading(key): key for key in known}, {"/".join(key): key for key in known}
    columns = []
    for name in headings:
        base, quality = split_quality(name, by_full_name)
        if name not in by_heading and not quality:
            raise Refused(f"{file}: the column {name!r:.100} belongs to no metric of the bundle")
        metric, column = by_heading[name] if name in by_heading else by_full_name[base]
        columns.append((metric, column if name in by_heading else of_quality(column, quality)))
    return columns
