"""The page of methods (what the numbers mean, the data, how to cite and reproduce the run)."""

from __future__ import annotations

import json

from harness.results.differences import DIRTY
from harness.results.rows import Results, Run
from leaderboard.blocks.cells import dataset_cell
from leaderboard.blocks.tables import Block, Cell, Facts, Heading, Page, Prose, Section, Table
from leaderboard.model.boards import parts
from leaderboard.model.cost import costs, size
from leaderboard.model.index import Index, by_reason, make_index, plural
from leaderboard.model.questions import MIN_RELIABILITY
from leaderboard.texts import TEXTS

TEXT = TEXTS["methods"]
NONE = Prose("None.")


def build(results: Results) -> tuple[Page, ...]:
    index, run = make_index(results), results.run
    failed = sorted((row.metric, row.dataset, row.error) for row in results.failures)
    sections = (
        Section("statistics", "What the numbers mean", (Facts.of(
            *((term, text.format(min_reliability=MIN_RELIABILITY)) for term, text in TEXTS["statistics"].items()
              if term != "Score" or "challenge" not in run.options)),)),  # in a challenge, the options state its rule
        Section("datasets", "Datasets", (_datasets(index),)),
        Section("metrics", "Metrics", (Prose(TEXT["signatures"]), _metrics(index))),
        Section("cite", "How to cite", (Prose(TEXT["cite"]),)),
        Section("run", "The run", (Facts.of(
            ("Version", run.version),
            ("Commit", TEXT["unknown"] if run.commit is None else Cell(run.commit, code=True)),
            ("Seed", run.seed), ("Device", run.device), ("Python", run.python), ("Platform", run.platform)),
            _options(run))),
        Section("repeat", "How to reproduce it", _repeat(results)),
        Section("packages", "Packages", (Facts.of(*sorted(run.packages.items())),), level=3),
        Section("skips", "Skipped", _skips(results)),
        Section("failures", "Failed", (Table.of(
            "failure-table", "Failed pairs of metric and dataset", ("Metric", "Dataset", "Error"), failed)
            if failed else NONE,)))
    return (Page(path="methods.html", title="Methods", label="Methods", sections=sections, order=4,
                 lead="What the numbers mean, which data they are based on, and how to reproduce them."),)


def _options(run: Run) -> Block:
    def text_of(value: object) -> str:
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return ", ".join(value)
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)

    return Facts.of(*((name.capitalize(), text_of(value)) for name, value in sorted(run.options.items()))
                    ) if run.options else Prose("All options had their defaults.")


def _repeat(results: Results) -> tuple[Block, ...]:
    run, commit = results.run, results.run.commit or ""
    packages = ("'.[neural]'" if any(entry.models for entry in results.metrics) else ".",
                *(("./weights",) if results.trainings else ()),
                *(f"{name}=={run.packages[name].partition('+')[0]}" for name in sorted(run.packages)))
    models = sorted({line.partition(":")[0] for entry in results.metrics for line in entry.pretrained_on})
    lines = (f"git checkout {commit.removesuffix(DIRTY)}" if commit else "", f"pip install {' '.join(packages)}",
             f"harness fetch {' '.join(models)}" if models else "", run.command)
    return (Prose(TEXT["repeat"]), *(Prose(line, code=True) for line in lines if line),
            Prose(f"{TEXT['changed' if commit.endswith(DIRTY) else 'same']} {TEXT['named']}"))


def _datasets(index: Index) -> Block:
    rows = ((dataset_cell(index, entry.name), index.split(entry.split), entry.level, entry.items, entry.ratings,
             len(entry.qualities), entry.licence or "not stated", entry.citation) for entry in index.datasets)
    headings = ("Dataset", "Split", "Level", "Items", Heading("Rated", "number", "items × qualities"), "Qualities",
                "Licence", "Citation")
    return Table.of("dataset-table", "Datasets of the run", headings, rows) if index.datasets else NONE


def _skips(results: Results) -> tuple[Block, ...]:
    grouped = by_reason(results.skips)
    words = (f"{plural(len(results.skips), 'pair')} of metric and dataset, for {plural(len(grouped), 'reason')}. "
             "Their values are missing on the boards, not zero.")
    table = Table.of("skip-table", "Skipped pairs of metric and dataset by reason",
                     ("Reason", "Pairs", "Metrics and datasets"), grouped)
    return (Prose(words), table) if grouped else (NONE,)


def _metrics(index: Index) -> Block:
    eras = parts(index.results)
    metrics = sorted(index.results.metrics, key=lambda entry: (entry.family, entry.name))
    rows = ((Cell(entry.name, link=index.metric_paths[entry.name]), entry.family, entry.badge,
             *(costs(part.results)[entry.name].time for part in eras), size(entry.parameters),
             Cell(entry.signed, code=True)) for entry in metrics)
    return Table.of("metric-table", "Metrics of the run", (
        "Metric", "Family", "System",
        *(Heading(f"Cost: {part.era.title}" if eras[1:] else "Cost", "number", "s per 1,000") for part in eras),
        Heading("Size", "number"), Heading("Signature", "code")), rows,
        folded=f"{plural(len(metrics), 'metric')} with signatures") if metrics else NONE
