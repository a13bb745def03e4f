"""The reader of a bundle that a stranger hands in.

Digests are made anew for what is put in a member's place, as a careful forger would.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from harness import bundle
from harness.bundle import Bundle, ScoreTable, reading
from tests.fuzz.reading import FileReader, sound
from tests.leaderboard import hostile

ZIP = "zip"


@functools.cache
def _bundle() -> Mapping[str, bytes]:
    """The members of a bundle."""
    report = hostile.make("abcdef", 2, 2)
    scores = {points.dataset: ScoreTable(points.items, points.scores) for points in report.points[:1]}
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


READERS = (
    FileReader("bundle", lambda: {name: [content] for name, content in _bundle().items()}, _read_bundle,
               ("PK\\x03\\x04", "manifest.json", "sha256", "files", "form", "name", "item", "null", "NaN", "1e999",
                "true", "spearman", "value", "rank", "low", "high", "\\ud800", "../", "scores/")),
)
