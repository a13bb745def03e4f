"""Reading a bundle that nobody has looked into: it is what it says, or it is refused with its reason.

benchmarks/storage/archive.py unpacks it into a folder of its own and refuses bombs, links and paths that leave it.
Every member must be in the manifest with its sha256 and none may be besides. All is text: numbers are finite, records
have the fields they must have and no others, names agree from file to file. Nothing is executed, decoded or imported.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import tempfile
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.errors import BadArchive
from benchmarks.formats.records import Refused, lines, load, mapping, records, text, value_of
from benchmarks.storage import archive
from harness.bundle import FORM, LISTS, LONGEST, MANIFEST, TABLES, Bundle, ScoreTable, heading, scores_file
from harness.errors import BadBundle
from harness.results.item_scores import ColumnKey
from harness.results.rows import TABLES as KINDS
from harness.results.rows import Run
from harness.statistics.panel import Vector
from metrics.column import of_quality, split_quality

LIMIT = 128 << 20
"""Bytes that a bundle may have, packed or unpacked."""

COLUMNS = 2000
"""Columns of scores that a dataset may have."""



def read(path: Path) -> Bundle:
    """The bundle in a file, or BadBundle with what is wrong with it."""
    try:
        if not path.is_file():
            raise BadBundle(f"{path}: no such file")
        if path.stat().st_size > LIMIT:
            raise BadBundle(f"{path}: is larger than {LIMIT >> 20} MiB")
        if not zipfile.is_zipfile(path):
            raise BadBundle(f"{path}: is no zip archive, or is cut short")
        with tempfile.TemporaryDirectory(prefix="harness-bundle-") as folder:
            archive.unpack(path, Path(folder) / "bundle", limit=LIMIT)
            members = _members(Path(folder) / "bundle")
        return _bundle(members)
    except BadArchive as error:
        raise BadBundle(str(error)) from error
    except Refused as error:
        raise BadBundle(f"{path}: {error}") from error


def _members(folder: Path) -> dict[str, bytes]:
    """The content of every member but the manifest, each as the manifest has it."""
    unpacked = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    if MANIFEST not in unpacked:
        raise Refused(f"has no {MANIFEST}")
    manifest = mapping(MANIFEST, load(MANIFEST, unpacked[MANIFEST].read_bytes()))
    if manifest.get("form") != FORM:
        raise Refused(f"{MANIFEST}: form {manifest.get('form')!r:.40}, this harness reads form {FORM}")
    listed = mapping(MANIFEST, manifest.get("files"))
    for name in sorted(unpacked.keys() - {MANIFEST} - listed.keys()):
        raise Refused(f"{name!r:.100} is not in the manifest")
    members = {MANIFEST: json.dumps(manifest).encode()}
    for name, entry in listed.items():
        if name not in unpacked or name == MANIFEST:
            raise Refused(f"{name!r:.100} is in the manifest and not in the bundle")
        content = unpacked[name].read_bytes()
        if mapping(MANIFEST, entry).get("sha256") != hashlib.sha256(content).hexdigest():
            raise Refused(f"{name!r:.100} is not what the manifest has: its sha256 differs")
        members[name] = content
    return members


def _bundle(members: Mapping[str, bytes]) -> Bundle:
    name = load(MANIFEST, members[MANIFEST]).get("name")
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST:
        raise Refused(f"{MANIFEST}: the name should be 1 to {LONGEST} printable signs")
    fixed = ("run.json", *(f"{one}.json" for one in LISTS), *(f"{one}.jsonl" for one in TABLES))
    for one in fixed:
        if one not in members:
            raise Refused(f"has no {one}")
    tables: dict[str, Any] = {one: records(f"{one}.json", load(f"{one}.json", members[f"{one}.json"]), KINDS[one])
                             for one in LISTS}
    tables |= {one: records(f"{one}.jsonl", list(lines(f"{one}.jsonl", members[f"{one}.jsonl"])), KINDS[one])
              for one in TABLES}
    _check_names(tables)
    score_files = {scores_file(entry.name): entry.name for entry in tables["datasets"]}
    for one in members.keys() - {MANIFEST, *fixed} - score_files.keys():
        raise Refused(f"{one!r:.100} is no part of a bundle")
    names = {(row.metric, row.column) for row in tables["correlations"]}
    scores = {dataset: _scored(file, members[file], names) for file, dataset in score_files.items()
              if file in members}
    run = value_of(Run, load("run.json", members["run.json"]), "run.json")
    return Bundle(name=name, run=run, scores=scores, **tables)


def _check_names(tables: Mapping[str, Any]) -> None:
    """Each dataset and metric once, and no row about another one."""
    for kind in ("datasets", "metrics"):
        names = [entry.name for entry in tables[kind]]
        if len(set(names)) < len(names) or not names:
            raise Refused(f"{kind}.json: each name should occur once, and one at least")
        if not all(name and name.isprintable() for name in names):
            raise Refused(f"{kind}.json: names should be printable")
    places = [(row.board, row.origin, row.rule, row.statistic, row.metric, row.column) for row in tables["ranking"]]
    if len(set(places)) < len(places):
        raise Refused("ranking.jsonl: a column stands twice on a board")
    datasets, metrics = ({entry.name for entry in tables[kind]} for kind in ("datasets", "metrics"))
    seen = set()
    for row in tables["correlations"]:
        key = (row.dataset, row.quality, row.metric, row.column, row.statistic)
        if row.dataset not in datasets or row.metric not in metrics or key in seen or not row.column.isprintable():
            raise Refused(f"correlations.jsonl: {key!r:.200} is of no dataset or metric of the bundle, or occurs twice")
        seen.add(key)


def _scored(file: str, content: bytes, known: Collection[ColumnKey]) -> ScoreTable:
    """A table of scores."""
    rows = csv.reader(io.StringIO(text(file, content), newline=""), strict=True)
    try:
        head = next(rows, [])
        if head[:1] != ["item"] or len(set(head)) < len(head) or not 1 < len(head) <= COLUMNS:
            raise Refused(f"{file}: the first line should be item, then 1 to {COLUMNS} different columns")
        names = _names(file, head[1:], known)
        items, numbers = [], []
        for row in rows:
            if len(row) != len(head):
                raise Refused(f"{file}, line {rows.line_num}: {len(row)} values for {len(head)} columns")
            items.append(row[0])
            numbers.append([_number(f"{file}, line {rows.line_num}", value) for value in row[1:]])
    except csv.Error as error:
        raise Refused(f"{file}, line {rows.line_num}: is no table ({error})") from error
    if len(set(items)) < len(items):
        raise Refused(f"{file}: an item occurs twice")
    table = np.array(numbers, dtype=np.float64).reshape(len(items), len(names))
    columns: dict[ColumnKey, Vector] = {name: table[:, place] for place, name in enumerate(names)}
    return ScoreTable(tuple(items), columns)


def _names(file: str, headings: list[str], known: Collection[ColumnKey]) -> list[ColumnKey]:
    """The columns of a table; that which is made for one quality is METRIC/COLUMN@QUALITY of one that is known."""
    plain, slashed = {heading(name): name for name in known}, {"/".join(name): name for name in known}
    names = []
    for one in headings:
        before, quality = split_quality(one, slashed)
        if one in plain:
            names.append(plain[one])
        elif quality:
            metric, column = slashed[before]
            names.append((metric, of_quality(column, quality)))
        else:
            raise Refused(f"{file}: the column {one!r:.100} is of no metric of the bundle")
    return names


def _number(where: str, value: str) -> float:
    try:
        number = float(value) if value else math.nan
    except ValueError:
        number = math.inf
    if "_" in value or math.isinf(number) or (value and math.isnan(number)):
        raise Refused(f"{where}: {value!r:.60} is not a finite number")
    return number
