"""The page about the run: how to repeat it, its datasets and metrics, what is missing and why."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable

from harness.results.rows import Results, Run, Skip
from leaderboard.blocks.cells import count_cell
from leaderboard.blocks.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Row, Section, Table
from leaderboard.model.index import STATISTIC, Index, make_index, origin_of, plural

DATA = "the whole run, whatever the origin of its datasets"
REPEAT = "Make the datasets available whose fingerprints are listed below, then, in a checkout:"
SAME = ("Everything but the timings comes out the same. Models and trained weights are named in the signatures of the "
        "metrics.")
UNKNOWN = "not known: the harness ran from an installed package"
DIRTY = "-dirty"
CHANGED = "The checkout had uncommitted changes, so the commit alone may not repeat the run."
ORIGINS = {"sample": "comes with the harness", "imported": "harness import", "fetched": "harness fetch"}
SIGNATURES = "A signature names everything that a metric's scores depend on."


def build(results: Results) -> tuple[Page, ...]:
    """Build the page about the run."""
    index, run = make_index(results), results.run
    origins = {origin_of(entry) for entry in results.datasets}
    packages = Facts(tuple((name, Cell(run.packages[name])) for name in sorted(run.packages)))
    failed = (tuple(map(Cell, row)) for row in sorted((row.metric, row.dataset, row.error) for row in results.failures))
    sections = (
        Section("run", "The run", (_run(run),)),
        Section("options", "Options", (_options(run),), level=3),
        Section("packages", "Packages", (packages,), level=3),
        Section("repeat", "How to repeat it", _repeat(run)),
        Section("datasets", "Datasets", (_datasets(index),)),
        Section("skips", "Skipped", _skips(results)),
        Section("failures", "Failed", (_table(
            "failure", "Pairs of metric and dataset that failed",
            (Heading("Metric", "stub"), Heading("Dataset"), Heading("Error")), failed),)),
        Section("timings", "Timings", (_timings(results),)),
        Section("metrics", "Metrics", (Prose(SIGNATURES), _metrics(index))),
    )
    return (Page(path="about.html", title="About this run", label="About", sections=sections, order=9,
                 lead="What was run, on which data, how to repeat it, and what is missing and why.",
                 sample="sample" in origins),)


def skips(results: Results) -> list[tuple[str, list[Skip]]]:
    """Group the skips by reason, the most frequent first."""
    return _by_reason(results.skips)


def without_value(results: Results) -> list[tuple[str, list[Skip]]]:
    """Group by reason the columns, as metrics, that have no value on any quality of a dataset."""
    notes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in results.correlations:
        if row.statistic == STATISTIC:
            notes[row.dataset, row.column].add("" if math.isfinite(row.value) else row.note)
    return _by_reason(Skip(dataset, column, *why) for (dataset, column), why in notes.items()
                      if len(why) == 1 and "" not in why)


def _by_reason(skipped: Iterable[Skip]) -> list[tuple[str, list[Skip]]]:
    by_reason: dict[str, list[Skip]] = defaultdict(list)
    for skip in sorted(skipped, key=lambda skip: (skip.metric, skip.dataset)):
        by_reason[skip.reason].append(skip)
    return sorted(by_reason.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pairs(skipped: Iterable[Skip]) -> str:
    """Say which metrics were skipped on which datasets; metrics skipped on the same datasets share a line."""
    datasets: dict[str, list[str]] = defaultdict(list)
    for skip in skipped:
        datasets[skip.metric].append(skip.dataset)
    metrics: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for metric, names in datasets.items():
        metrics[tuple(names)].append(metric)
    return "; ".join(f"{', '.join(group)} on {', '.join(names)}" for names, group in metrics.items())


def _run(run: Run) -> Facts:
    commit = Cell(UNKNOWN) if run.commit is None else Cell(run.commit, code=True)
    return Facts((
        ("Version", Cell(run.version)), ("Commit", commit), ("Seed", Cell(str(run.seed))), ("Device", Cell(run.device)),
        ("Python", Cell(run.python)), ("Platform", Cell(run.platform))))


def _options(run: Run) -> Block:
    def words(value: object) -> str:
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return ", ".join(value)
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)

    if not run.options:
        return Prose("None: every option had its default.")
    return Facts(tuple((name.capitalize(), Cell(words(run.options[name]))) for name in sorted(run.options)))


def _repeat(run: Run) -> tuple[Block, ...]:
    """Say what repeats the run: the code, the packages, the command."""
    commit = (run.commit or "").removesuffix(DIRTY)
    pins = " ".join(f"{name}=={run.packages[name].partition('+')[0]}" for name in sorted(run.packages))
    lines = (f"git checkout {commit}" if commit else "", f"pip install . {pins}".strip(), run.command)
    changed = (Prose(CHANGED),) if (run.commit or "").endswith(DIRTY) else ()
    return (Prose(REPEAT), *(Prose(line, code=True) for line in lines if line), *changed, Prose(SAME))


def _datasets(index: Index) -> Block:
    with_votes = any(entry.ratings_fingerprint for entry in index.datasets)
    rows = ((
        Cell(entry.name, link=index.dataset_paths[entry.name]), Cell(entry.split), Cell(entry.level),
        Cell(entry.origin, small=ORIGINS.get(entry.origin, "")), count_cell(entry.items), count_cell(entry.ratings),
        Cell(entry.licence or "not stated"), Cell(entry.fingerprint, code=True),
        *((Cell(entry.ratings_fingerprint, code=True),) if with_votes else ())) for entry in index.datasets)
    return _table("dataset", "Datasets as they were in the run", (
        Heading("Dataset", "stub"), Heading("Split"), Heading("Level"), Heading("Origin"),
        Heading("Items", "number"), Heading("Ratings", "number"), Heading("Licence"),
        Heading("Fingerprint", "code", "of the items"),
        *((Heading("Fingerprint", "code", "of the ratings"),) if with_votes else ())), rows)


def _skips(results: Results) -> tuple[Block, ...]:
    grouped = skips(results)
    rows = ((Cell(reason), count_cell(len(skipped)), Cell(pairs(skipped))) for reason, skipped in grouped)
    words = (f"{plural(len(results.skips), 'pair')} of metric and dataset, for {plural(len(grouped), 'reason')}. "
             "Their values are missing on the boards, never zero.")
    table = _table("skip", "Skipped pairs of metric and dataset by reason",
                   (Heading("Reason", "stub"), Heading("Pairs", "number"), Heading("Which")), rows)
    return (Prose(words), table) if grouped else (table,)


def _timings(results: Results) -> Block:
    timings = sorted((row.metric, row.dataset, row.items, row.seconds) for row in results.timings)
    rows = ((Cell(metric), Cell(dataset), Cell(str(items)), Cell(f"{seconds:.2f}"))
            for metric, dataset, items, seconds in timings)
    total = f"{len(timings)} pairs of metric and dataset, {math.fsum(row[3] for row in timings):.1f} seconds in all"
    return _table("timing", "Seconds that each metric took on each dataset, when it was scored",
                  (Heading("Metric", "stub"), Heading("Dataset"), Heading("Items", "number"),
                   Heading("Seconds", "number")), rows, total)


def _metrics(index: Index) -> Block:
    metrics = sorted(index.results.metrics, key=lambda entry: (entry.family, entry.name))
    rows = ((Cell(entry.name, link=index.metric_paths[entry.name]), Cell(entry.title), Cell(entry.family),
             Cell(", ".join(entry.models)), Cell(entry.signature, code=True)) for entry in metrics)
    return _table("metric", "Metrics as they were in the run", (
        Heading("Metric", "stub"), Heading("Title"), Heading("Family"), Heading("Models"),
        Heading("Signature", "code")), rows, f"{len(metrics)} metrics with their signatures")


def _table(name: str, caption: str, headings: tuple[Heading, ...], rows: Iterable[Row], folded: str = "") -> Block:
    listed = tuple(rows)
    return Table(f"{name}-table", caption, headings, (Group(listed),), data=DATA, folded=folded) if listed \
        else Prose("None.")
