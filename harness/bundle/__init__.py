"""A bundle: the results of some metrics of a run in one zip, which harness/verification.py recomputes.

    manifest.json       form, name, and the sha256 and size of every other member
    run.json            version, commit, seed, device, options, python, platform, packages, command
    datasets.json       each dataset of the run, with the fingerprints of its items and of its ratings
    metrics.json        each metric's card and signature
    skips.json          pairs that were not scored, with the reason; failures.json has pairs that crashed
    correlations.jsonl  the correlations of these metrics
    ranking.jsonl       the boards of the run with all their rows
    scores/DATASET.csv  a line per item, a column per column of scores; a missing score is empty

Every member is JSON or CSV, so that no unsafe decoder reads a hostile file. A bundle contains no dialogue, rating,
absolute path or environment variable. The same results make the same bytes.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import math
import re
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.dataset import Dataset
from benchmarks.errors import nearest
from harness.errors import BadBundle
from harness.results import files as reports
from harness.results.item_scores import slug
from harness.results.rows import ColumnKey, ItemScores, Results
from harness.statistics.panel import Vector

FORMAT = 2
MANIFEST = "manifest.json"
TABLES = {**{f"{name}.json": name for name in ("datasets", "metrics", "skips", "failures")},
          **{f"{name}.jsonl": name for name in ("correlations", "ranking")}}
"""The tables of a bundle by their files."""
NAME_LENGTH = 80
DATE = (1980, 1, 1, 0, 0, 0)
FOLDERS = re.compile(r"(?<![\w./:])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:'\"]+[/\\])+")
"""Matches the folders of an absolute path in a sentence, but not those of a URL."""
PATH = re.compile(r"(?:^|[\[=,+\s']|(?<!http)(?<!https):)(?:~|[A-Za-z]:)?[/\\]")
"""Matches an absolute path in the name of a metric or in a command, but not a URL."""


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """The results of some metrics of a run; `results.points` holds their scores; ratings are not written."""

    name: str
    results: Results


def without_ratings(dataset: str, items: tuple[str, ...], scores: Mapping[ColumnKey, Vector]) -> ItemScores:
    """Return the scores of a dataset without ratings, systems or contexts."""
    unknown = np.zeros(len(items), dtype=np.int64)
    return ItemScores(dataset, items, ("",) * len(items), unknown, unknown, {}, scores)


def scores_of(results: Results, dataset: Dataset) -> dict[ColumnKey, Vector]:
    """Return the bundled scores of a dataset by column, in the order of its items; empty if there are none."""
    return next((aligned(table, dataset) for table in results.points if table.dataset == dataset.card.name), {})


def aligned(table: ItemScores, dataset: Dataset) -> dict[ColumnKey, Vector]:
    """Return the columns of a table in the order of a dataset; raise BadBundle if the items differ."""
    rows = {item: row for row, item in enumerate(table.items)}
    items = [item.id for item in dataset.items]
    if rows.keys() != set(items):
        raise BadBundle(f"the scored items of {dataset.card.name} do not match its fingerprint")
    order = [rows[item] for item in items]
    return {key: values[order] for key, values in table.scores.items()}


def bundle_of(report: Results, metrics: Collection[str], name: str) -> Bundle:
    """Return the bundle of the named metrics of a run (default: all)."""
    known = [entry.name for entry in report.metrics]
    if unknown := [metric for metric in metrics if metric not in known]:
        raise BadBundle(f"the report has no metric {unknown[0]!r}; {nearest(unknown[0], known)}")
    selected = [metric for metric in known if metric in metrics or not metrics]
    title = name or "+".join(selected)[:NAME_LENGTH]
    if not (title.strip() and title.isprintable() and len(title) <= NAME_LENGTH):
        raise BadBundle(f"the name of a bundle should have 1 to {NAME_LENGTH} printable characters, not {title!r:.100}")
    for text in (*selected, report.run.command):
        if PATH.search(text):
            raise BadBundle(f"{text!r:.200} contains a path of this machine; use a relative path or a name")
    points = tuple(replace(table, scores=scores) for table in report.points
                   if (scores := {key: values for key, values in table.scores.items() if key[0] in selected}))
    for table in points:
        if len(set(map(heading, table.scores))) < len(table.scores):
            raise BadBundle(f"{table.dataset}: two columns have the same name; submit their metrics separately")
    if not points:
        raise BadBundle("no dataset has scores of these metrics")
    return Bundle(title, Results(
        run=report.run, ranking=report.ranking, points=points,
        datasets=[replace(entry, notes=without_folders(entry.notes)) for entry in report.datasets],
        metrics=[entry for entry in report.metrics if entry.name in selected],
        correlations=[row for row in report.correlations if row.metric in selected],
        skips=[replace(row, reason=without_folders(row.reason)) for row in report.skips if row.metric in selected],
        failures=[replace(row, error=without_folders(row.error)) for row in report.failures if row.metric in selected]))


def heading(key: ColumnKey) -> str:
    metric, column = key
    return column if metric == column else f"{metric}/{column}"


def scores_file(dataset: str) -> str:
    return f"scores/{slug(dataset)}.csv"


def without_folders(text: str) -> str:
    """Remove the folders of this machine from a sentence."""
    return FOLDERS.sub("", text)


def zipped(bundle: Bundle) -> bytes:
    """Return the bundle as a zip, the same bytes for the same results."""
    results = bundle.results
    members = {"run.json": reports.json_of(dataclasses.asdict(results.run))}
    for file, name in TABLES.items():
        rows = getattr(results, name)
        members[file] = ("".join(map(reports.json_line, rows)).encode() if file.endswith(".jsonl") else
                         reports.json_of(list(map(dataclasses.asdict, rows))))
    members |= {scores_file(table.dataset): _csv(table) for table in results.points}
    files = {name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
             for name, content in sorted(members.items())}
    manifest = {"form": FORMAT, "name": bundle.name, "files": files}
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in ((MANIFEST, reports.json_of(manifest)), *sorted(members.items())):
            member = zipfile.ZipInfo(name, DATE)
            member.compress_type, member.external_attr, member.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            target.writestr(member, content)
    return sink.getvalue()


def _csv(table: ItemScores) -> bytes:
    sink = io.StringIO()
    rows = csv.writer(sink, lineterminator="\n")
    rows.writerow(["item", *map(heading, table.scores)])
    cells = (["" if math.isnan(value) else repr(value) for value in values.tolist()]
             for values in table.scores.values())
    rows.writerows(zip(table.items, *cells, strict=True))
    return sink.getvalue().encode()
