"""A bundle: the results of some metrics of a run, in one zip that anybody can check (harness/verification/bundles.py).

    manifest.json       form, name, and the sha256 and size of every other member
    run.json            version, commit, seed, device, options, python, platform, packages, command
    datasets.json       each dataset of the run, with the fingerprints of its items and of its ratings
    metrics.json        each metric's card and signature
    skips.json          what was not scored, and why; failures.json what crashed
    correlations.jsonl    the correlations of these metrics
    ranking.jsonl     the boards of the run, with all that stand on them: a rank is among others
    scores/DATASET.csv  an item a line, a column of scores each; nothing between two commas where there is none

Plain text throughout, so that a reader needs no decoder that a hostile file could turn against it. No dialogue, no
rating, no path of a machine and nothing of its environment variables is in it. The same results make the same bytes.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import math
import re
import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from benchmarks.errors import nearest
from harness.errors import BadBundle
from harness.results import files as reports
from harness.results.item_scores import ColumnKey, slug
from harness.results.rows import Correlation, DatasetEntry, Failure, MetricEntry, RankingRow, Results, Run, Skip
from harness.statistics.panel import Vector

FORM = 1
MANIFEST = "manifest.json"
LISTS = ("datasets", "metrics", "skips", "failures")
TABLES = ("correlations", "ranking")
LONGEST = 80
"""Signs in the name of a bundle."""

DATE = (1980, 1, 1, 0, 0, 0)
PLACE = re.compile(r"(?<![\w./:])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\:'\"]+[/\\])+")
"""The folders of an absolute path in a sentence; those of an address on the web are none."""

PATH = re.compile(r"(?:^|[\[=,+\s']|(?<!http)(?<!https):)(?:~|[A-Za-z]:)?[/\\]")
"""An absolute path in the name of a metric, or in a command; an address on the web is none."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """The scores of a dataset: a column of each metric, in the order of the items."""

    items: tuple[str, ...]
    columns: Mapping[ColumnKey, Vector]


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """The results of some metrics of a run."""

    name: str
    run: Run
    datasets: tuple[DatasetEntry, ...]
    metrics: tuple[MetricEntry, ...]
    correlations: tuple[Correlation, ...]
    ranking: tuple[RankingRow, ...]
    skips: tuple[Skip, ...]
    failures: tuple[Failure, ...]
    scores: Mapping[str, ScoreTable]


def of(report: Results, metrics: Collection[str], name: str) -> Bundle:
    """The bundle of some metrics of a run, or of all of them."""
    known = [entry.name for entry in report.metrics]
    for metric in metrics:
        if metric not in known:
            raise BadBundle(f"the report has no metric {metric!r}; {nearest(metric, known)}")
    wanted = [metric for metric in known if metric in metrics or not metrics]
    title = name or "+".join(wanted)[:LONGEST]
    if not (title.strip() and title.isprintable() and len(title) <= LONGEST):
        raise BadBundle(f"a bundle has a name of 1 to {LONGEST} printable signs, not {title!r:.100}")
    for text in (*wanted, report.run.command):
        if PATH.search(text):
            raise BadBundle(f"{text!r:.200} holds a path of this machine; run the metric by a relative path or a name")
    return Bundle(
        title, report.run, tuple(replace(metric, notes=placeless(metric.notes)) for metric in report.datasets),
        tuple(entry for entry in report.metrics if entry.name in wanted),
        tuple(row for row in report.correlations if row.metric in wanted), tuple(report.ranking),
        tuple(replace(row, reason=placeless(row.reason)) for row in report.skips if row.metric in wanted),
        tuple(replace(row, error=placeless(row.error)) for row in report.failures if row.metric in wanted),
        _scores(report, wanted))


def heading(name: ColumnKey) -> str:
    """What a column is called in a table of scores."""
    metric, column = name
    return column if metric == column else f"{metric}/{column}"


def scores_file(dataset: str) -> str:
    """The member that holds the scores of a dataset."""
    return f"scores/{slug(dataset)}.csv"


def packed(bundle: Bundle) -> bytes:
    """The bundle as a zip, the same bytes for the same results."""
    members = {"run.json": reports.json_of(dataclasses.asdict(bundle.run))}
    members |= {f"{name}.json": reports.json_of([dataclasses.asdict(entry) for entry in getattr(bundle, name)])
                for name in LISTS}
    members |= {f"{name}.jsonl": "".join(map(reports.json_line, getattr(bundle, name))).encode() for name in TABLES}
    members |= {scores_file(dataset): _csv(scored) for dataset, scored in bundle.scores.items()}
    files = {name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
             for name, content in sorted(members.items())}
    manifest = {"form": FORM, "name": bundle.name, "files": files}
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in ((MANIFEST, reports.json_of(manifest)), *sorted(members.items())):
            member = zipfile.ZipInfo(name, DATE)
            member.compress_type, member.external_attr, member.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            target.writestr(member, content)
    return sink.getvalue()


def _scores(report: Results, wanted: Collection[str]) -> dict[str, ScoreTable]:
    scores = {}
    for points in report.points:
        own = {name: values for name, values in points.scores.items() if name[0] in wanted}
        if len({heading(name) for name in own}) < len(own):
            raise BadBundle(f"{points.dataset}: two columns of these metrics have one name; submit them apart")
        if own:
            scores[points.dataset] = ScoreTable(points.items, own)
    if not scores:
        raise BadBundle("no dataset has scores of these metrics")
    return scores


def placeless(text: str) -> str:
    """A sentence without the folders of this machine."""
    return PLACE.sub("", text)


def _csv(scored: ScoreTable) -> bytes:
    sink = io.StringIO()
    rows = csv.writer(sink, lineterminator="\n")
    rows.writerow(["item", *map(heading, scored.columns)])
    rows.writerows(zip(scored.items, *map(_texts, scored.columns.values()), strict=True))
    return sink.getvalue().encode()


def _texts(values: Vector) -> Iterable[str]:
    return ["" if math.isnan(value) else repr(value) for value in values.tolist()]
