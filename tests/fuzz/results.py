"""The readers of results: a bundle that a stranger hands in, and a report.

Their digests are made anew for what is put in a member's place, as a careful forger would.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from harness import bundle
from harness.bundle import Bundle, Scored, reading
from harness.results import files as reports
from tests.fuzz.reading import FileReader, sound
from tests.leaderboard import hostile

ZIP = "zip"


@functools.cache
def _report() -> Mapping[str, bytes]:
    """The files of a report."""
    with tempfile.TemporaryDirectory() as folder:
        made = hostile.make("abcdef")
        reports.write(dataclasses.replace(made, points=made.points[:1]), Path(folder))
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(Path(folder).rglob("*"))
                if path.is_file() and path.suffix != ".jsonl"}


def _read_report(folder: Path, form: str, content: bytes) -> None:
    files = {**_report(), form: content}
    if form != "report.json":
        head = json.loads(files["report.json"])
        digest = hashlib.sha256(content).hexdigest()
        if form == "examples.json":
            head["examples"] = digest
        elif form.startswith("points/"):
            head["points"] = {Path(form).stem: digest}
        elif form.endswith(".parquet"):
            head["tables"][Path(form).stem] = digest
        files["report.json"] = json.dumps(head).encode()
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    reports.read(folder)


@functools.cache
def _bundle() -> Mapping[str, bytes]:
    """The members of a bundle."""
    report = hostile.make("abcdef")
    scores = {points.dataset: Scored(points.items, points.scores) for points in report.points[:1]}
    packed = bundle.packed(Bundle("toy", report.run, report.datasets, report.metrics, report.correlations,
                                  report.ranking, report.skips, report.failures, scores))
    with zipfile.ZipFile(io.BytesIO(packed)) as opened:
        return {ZIP: packed, **{name: opened.read(name) for name in opened.namelist()}}


def _read_bundle(folder: Path, form: str, content: bytes) -> None:
    """A whole bundle, or one with other content in a member, whose digest the manifest then has."""
    path = folder / "bundle.zip"
    if form == ZIP:
        path.write_bytes(content)
    else:
        members = {name: data for name, data in _bundle().items() if name != ZIP} | {form: content}
        if form != bundle.MANIFEST:
            manifest = json.loads(members[bundle.MANIFEST])
            manifest["files"][form] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            members[bundle.MANIFEST] = json.dumps(manifest).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    taken = reading.read(path)
    sound(taken.name.isprintable(), "a name that cannot be printed")
    bundle.packed(taken)  # what is taken can be written again


def _seeds(files: Mapping[str, bytes]) -> dict[str, list[bytes]]:
    return {name: [content] for name, content in files.items()}


READERS = (
    FileReader("bundle", lambda: _seeds(_bundle()), _read_bundle,
           ("PK\\x03\\x04", "manifest.json", "sha256", "files", "form", "name", "item", "null", "NaN", "1e999", "true",
            "spearman", "value", "rank", "low", "high", "\\ud800", "../", "scores/")),
    FileReader("report", lambda: _seeds(_report()), _read_report,
           ("PAR1", "schema", "run", "datasets", "qualities", "metrics", "tables", "points", "examples", "columns",
            "rating", "context", "curve", "null", "NaN", "1e999", "true", "[]", "{}")),
)
