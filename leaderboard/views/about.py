"""The page that says how the numbers came about: the run, its datasets and metrics, what is missing and why."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from harness.results import MetricEntry, Report, Run, Skip
from leaderboard.lookup import Lookup, look, origin_of
from leaderboard.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Row, Section, Table

WHOLE = "the whole run, whatever the origin of its datasets"
REPEAT = ("Install this version of the harness and the packages above, make the datasets available whose "
          "fingerprints are listed below, and run this. "
          "Everything but the timings comes out the same.")
SIGNED = "Each signature names everything that a metric's scores depend on."


def build(report: Report) -> tuple[Page, ...]:
    """Build the page about the run."""
    found = look(report)
    origins = {origin_of(entry) for entry in report.datasets}
    sections = (
        Section("run", "The run", (_run(report.run),)),
        Section("packages", "Packages", (_packages(report.run.packages),), level=3),
        Section("repeat", "How to repeat it", (Prose(REPEAT), Prose(report.run.command, code=True))),
        Section("datasets", "Datasets", (_datasets(found),)),
        Section("skips", "Skipped", (_skips(report),)),
        Section("failures", "Failed", (_failures(report),)),
        Section("timings", "Timings", (_timings(report),)),
        Section("metrics", "Metrics", (Prose(SIGNED),)),
        *(_card(found, entry) for entry in sorted(report.metrics, key=lambda card: (card.family, card.name))),
    )
    return (Page(path="about.html", title="About this run", label="About", sections=sections, order=9,
                 markdown=False, lead="What was run, on what, how to repeat it, and what is missing and why.",
                 sample="sample" in origins, mixed=len(origins) > 1),)


def skips(report: Report) -> list[tuple[str, list[Skip]]]:
    """Group the skips by reason, the most frequent first."""
    found: dict[str, list[Skip]] = defaultdict(list)
    for skip in sorted(report.skips, key=lambda skip: (skip.metric, skip.dataset)):
        found[skip.reason].append(skip)
    return sorted(found.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def cells(skipped: Iterable[Skip]) -> str:
    """Say which cells were skipped; metrics that were skipped on the same datasets share a line."""
    where: dict[str, list[str]] = defaultdict(list)
    for skip in skipped:
        where[skip.metric].append(skip.dataset)
    together: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for metric, datasets in where.items():
        together[tuple(datasets)].append(metric)
    return "; ".join(f"{', '.join(metrics)} on {', '.join(datasets)}" for datasets, metrics in together.items())


def _run(run: Run) -> Facts:
    options = ((f"Option {name}", Cell(_json(run.options[name]), code=True)) for name in sorted(run.options))
    commit = Cell("not known") if run.commit is None else Cell(run.commit, code=True)
    return Facts((
        ("Version", Cell(run.version)), ("Commit", commit),
        ("Seed", Cell(str(run.seed))), ("Device", Cell(run.device)), ("Python", Cell(run.python)),
        ("Platform", Cell(run.platform)), *options))


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _packages(packages: Mapping[str, str]) -> Facts:
    return Facts(tuple((name, Cell(packages[name])) for name in sorted(packages)))


def _datasets(found: Lookup) -> Block:
    rows = tuple((
        Cell(entry.name, link=found.dataset_paths[entry.name]), Cell(entry.split), Cell(entry.level),
        Cell(entry.origin), Cell(str(entry.items)), Cell(str(entry.ratings)),
        Cell(entry.fingerprint, code=True))
        for entry in found.datasets)
    return _plain("dataset-table", "Datasets as they were in the run", (
        Heading("Dataset", "stub"), Heading("Split"), Heading("Level"), Heading("Origin"),
        Heading("Items", "number"), Heading("Ratings", "number"), Heading("Fingerprint", "code")), rows)


def _skips(report: Report) -> Block:
    rows = tuple((Cell(reason), Cell(str(len(skipped))), Cell(cells(skipped)))
                 for reason, skipped in skips(report))
    return _plain("skip-table", "Skipped cells by reason",
                  (Heading("Reason", "stub"), Heading("Cells", "number"), Heading("Which")), rows)


def _failures(report: Report) -> Block:
    rows = tuple((Cell(row.metric), Cell(row.dataset), Cell(row.error)) for row in
                 sorted(report.failures, key=lambda row: (row.metric, row.dataset, row.error)))
    return _plain("failure-table", "Cells that crashed",
                  (Heading("Metric", "stub"), Heading("Dataset"), Heading("Error")), rows)


def _timings(report: Report) -> Block:
    timings = sorted(report.timings, key=lambda row: (row.metric, row.dataset, row.items, row.seconds))
    rows = tuple((Cell(row.metric), Cell(row.dataset), Cell(str(row.items)), Cell(f"{row.seconds:.2f}"))
                 for row in timings)
    total = f"{len(rows)} cells, {math.fsum(row.seconds for row in timings):.1f} seconds in all"
    return _plain("timing-table", "Seconds per cell, when it was scored",
                  (Heading("Metric", "stub"), Heading("Dataset"), Heading("Items", "number"),
                   Heading("Seconds", "number")), rows, folded=total)


def _card(found: Lookup, entry: MetricEntry) -> Section:
    web = entry.paper.startswith(("https://", "http://")) and " " not in entry.paper
    pairs = (
        ("Name", Cell(entry.name)), ("Family", Cell(entry.family)),
        ("Columns", Cell(", ".join(entry.columns))),
        ("Needs", Cell(", ".join(entry.needs) or "nothing but the dialogue")),
        ("Levels", Cell(", ".join(entry.levels))),
        ("Models", Cell(", ".join(entry.models))),
        ("Paper", Cell(entry.paper, link=entry.paper if web else "")),
        ("Scope", Cell(entry.scope)), ("Trained on", Cell(entry.trained_on)),
        ("Signature", Cell(entry.signature, code=True)))
    anchor = found.cards[entry.name].partition("#")[2]
    known = tuple(pair for pair in pairs if pair[1].text)
    return Section(anchor, entry.title or entry.name, (Facts(known),), level=3)


def _plain(anchor: str, caption: str, headings: tuple[Heading, ...], rows: tuple[Row, ...],
           folded: str = "") -> Block:
    if not rows:
        return Prose("None.")
    return Table(anchor, caption, headings, (Group(rows),), data=WHOLE, folded=folded)
