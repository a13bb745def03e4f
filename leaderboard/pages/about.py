"""The page that says how the numbers came about: the run, its datasets and metrics, what is missing and why."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from harness.results.rows import Results, Run, Skip
from leaderboard.blocks.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Row, Section, Table
from leaderboard.model.index import Index, make_index, origin_of

WHOLE = "the whole run, whatever the origin of its datasets"
REPEAT = "Make the datasets available whose fingerprints are listed below, then, in a checkout:"
AGAIN = ("Everything but the timings comes out the same. Models and trained weights are named in the signatures of the "
         "metrics.")
UNKNOWN = "not known: the harness ran from an installed package"
DIRTY = "-dirty"
CHANGED = "The checkout had changes that no commit holds, so the commit alone need not repeat the run."
ORIGINS = {"sample": "comes with the harness", "imported": "harness import", "fetched": "harness fetch"}
SIGNED = "Each signature names everything that a metric's scores depend on."


def build(results: Results) -> tuple[Page, ...]:
    """Build the page about the run."""
    index = make_index(results)
    origins = {origin_of(entry) for entry in results.datasets}
    sections = (
        Section("run", "The run", (_run(results.run),)),
        Section("options", "What was asked for", (_options(results.run),), level=3),
        Section("packages", "Packages", (_packages(results.run.packages),), level=3),
        Section("repeat", "How to repeat it", _repeat(results.run)),
        Section("datasets", "Datasets", (_datasets(index),)),
        Section("skips", "Skipped", _skips(results)),
        Section("failures", "Failed", (_failures(results),)),
        Section("timings", "Timings", (_timings(results),)),
        Section("metrics", "Metrics", (Prose(SIGNED), _metrics(index))),
    )
    return (Page(path="about.html", title="About this run", label="About", sections=sections, order=9,
                 lead="What was run, on what, how to repeat it, and what is missing and why.",
                 sample="sample" in origins, mixed=len(origins) > 1),)


def skips(results: Results) -> list[tuple[str, list[Skip]]]:
    """Group the skips by reason, the most frequent first."""
    found: dict[str, list[Skip]] = defaultdict(list)
    for skip in sorted(results.skips, key=lambda skip: (skip.metric, skip.dataset)):
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
    commit = Cell(UNKNOWN) if run.commit is None else Cell(run.commit, code=True)
    return Facts((
        ("Version", Cell(run.version)), ("Commit", commit),
        ("Seed", Cell(str(run.seed))), ("Device", Cell(run.device)), ("Python", Cell(run.python)),
        ("Platform", Cell(run.platform))))


def _options(run: Run) -> Block:
    if not run.options:
        return Prose("Nothing: every option was left as it is.")
    return Facts(tuple((name.capitalize(), Cell(_words(run.options[name]))) for name in sorted(run.options)))


def _words(value: object) -> str:
    """Write the value of an option; a list of names as a sentence has it."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _repeat(run: Run) -> tuple[Block, ...]:
    """Say what repeats the run: the code, the packages, the command."""
    commit = (run.commit or "").removesuffix(DIRTY)
    pins = " ".join(f"{name}=={run.packages[name].partition('+')[0]}" for name in sorted(run.packages))
    lines = (f"git checkout {commit}" if commit else "", f"pip install . {pins}".strip(), run.command)
    changed = (Prose(CHANGED),) if (run.commit or "").endswith(DIRTY) else ()
    return (Prose(REPEAT), *(Prose(line, code=True) for line in lines if line), *changed, Prose(AGAIN))


def _packages(packages: Mapping[str, str]) -> Facts:
    return Facts(tuple((name, Cell(packages[name])) for name in sorted(packages)))


def _datasets(index: Index) -> Block:
    voted = any(entry.ratings_fingerprint for entry in index.datasets)
    rows = tuple((
        Cell(entry.name, link=index.dataset_paths[entry.name]), Cell(entry.split), Cell(entry.level),
        Cell(entry.origin, small=ORIGINS.get(entry.origin, "")), Cell(str(entry.items), value=entry.items),
        Cell(str(entry.ratings), value=entry.ratings), Cell(entry.licence or "not stated"),
        Cell(entry.fingerprint, code=True), *((Cell(entry.ratings_fingerprint, code=True),) if voted else ()))
        for entry in index.datasets)
    return _plain("dataset-table", "Datasets as they were in the run", (
        Heading("Dataset", "stub"), Heading("Split"), Heading("Level"), Heading("Origin"),
        Heading("Items", "number"), Heading("Ratings", "number"), Heading("Licence"),
        Heading("Fingerprint", "code", "of the items"),
        *((Heading("Fingerprint", "code", "of the ratings"),) if voted else ())), rows)


def _skips(results: Results) -> tuple[Block, ...]:
    grouped = skips(results)
    rows = tuple((Cell(reason), Cell(str(len(skipped)), value=len(skipped)), Cell(cells(skipped)))
                 for reason, skipped in grouped)
    table = _plain("skip-table", "Skipped pairs of metric and dataset by reason",
                   (Heading("Reason", "stub"), Heading("Pairs", "number"), Heading("Which")), rows)
    if not rows:
        return (table,)
    pairs, reasons = len(results.skips), len(grouped)
    words = (f"{pairs} {'pair' if pairs == 1 else 'pairs'} of metric and dataset, for {reasons} "
             f"{'reason' if reasons == 1 else 'reasons'}. Their cells are empty on the boards, never zero.")
    return (Prose(words), table)


def _failures(results: Results) -> Block:
    rows = tuple((Cell(row.metric), Cell(row.dataset), Cell(row.error)) for row in
                 sorted(results.failures, key=lambda row: (row.metric, row.dataset, row.error)))
    return _plain("failure-table", "Pairs of metric and dataset that crashed",
                  (Heading("Metric", "stub"), Heading("Dataset"), Heading("Error")), rows)


def _timings(results: Results) -> Block:
    timings = sorted(results.timings, key=lambda row: (row.metric, row.dataset, row.items, row.seconds))
    rows = tuple((Cell(row.metric), Cell(row.dataset), Cell(str(row.items)), Cell(f"{row.seconds:.2f}"))
                 for row in timings)
    total = f"{len(rows)} pairs of metric and dataset, {math.fsum(row.seconds for row in timings):.1f} seconds in all"
    return _plain("timing-table", "Seconds that each metric took on each dataset, when it was scored",
                  (Heading("Metric", "stub"), Heading("Dataset"), Heading("Items", "number"),
                   Heading("Seconds", "number")), rows, folded=total)


def _metrics(index: Index) -> Block:
    rows = tuple((Cell(entry.name, link=index.cards[entry.name]), Cell(entry.title), Cell(entry.family),
                  Cell(", ".join(entry.models)), Cell(entry.signature, code=True))
                 for entry in sorted(index.results.metrics, key=lambda card: (card.family, card.name)))
    return _plain("metric-table", "Metrics as they were in the run", (
        Heading("Metric", "stub"), Heading("Title"), Heading("Family"), Heading("Models"),
        Heading("Signature", "code")), rows, folded=f"{len(rows)} metrics with their signatures")


def _plain(anchor: str, caption: str, headings: tuple[Heading, ...], rows: tuple[Row, ...],
           folded: str = "") -> Block:
    if not rows:
        return Prose("None.")
    return Table(anchor, caption, headings, (Group(rows),), data=WHOLE, folded=folded)
