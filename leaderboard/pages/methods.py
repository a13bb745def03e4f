"""The page of methods: the data, the statistics and their limits, how to cite, the run and what is missing in it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable

from harness.results.pooled import DRAWS, FOLLOWING, RESAMPLES
from harness.results.rows import Results, Run, Skip
from leaderboard.blocks.cells import count_cell
from leaderboard.blocks.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Row, Section, Table
from leaderboard.model import sentences
from leaderboard.model.causes import DIRTY
from leaderboard.model.cost import costs
from leaderboard.model.index import STATISTIC, Index, make_index, plural
from leaderboard.model.questions import LEAST

REPEAT = "Make the datasets available whose fingerprints stand on their pages, then, in a checkout:"
SAME = "Everything but the timings comes out the same."
UNKNOWN = "not known: the harness ran from an installed package"
CHANGED = "The checkout had uncommitted changes, so the commit alone may not repeat the run."
NAMED = "Models and trained weights are named in the signatures of the metrics."
SIGNATURES = "A signature names everything that a metric's scores depend on."
STATISTICS = (
    ("Score",
     ("The mean over the datasets, and over the qualities of each, of Spearman’s rank correlation between a "
      "metric’s scores and the mean ratings of the same items. Pearson’s and Kendall’s can be chosen.")),
    ("Interval of a score",
     ("1.96 standard errors to each side, from 1,000 resamples of whole contexts unless the options of the run name "
      "other draws; the datasets are kept. It says nothing about other datasets.")),
    ("Interval of a rank",
     ("2.5 % and 97.5 % of the ranks over resamples of contexts and, where there are several, of datasets; of two "
      "datasets it says little about others. It is too narrow for metrics that truly tie.")),
    ("Lead",
     ("The difference of two means over all datasets. p is of PERM-BOTH, to first order: in each draw every context "
      "swaps what it adds to the two means, on all datasets and qualities at once; two-sided, adjusted by Holm over "
      f"the leader against the {FOLLOWING} metrics that follow. The interval is from resamples of whole contexts. "
      f"There are {DRAWS:,} draws and {RESAMPLES} resamples, fewer where there are very many items. Not established "
      "does not mean equal. Nothing is adjusted for looking at several questions.")),
    ("Interval and p on one dataset",
     ("They take items as independent: where several share a context the interval is too narrow and p too small.")),
    ("Two metrics on one dataset",
     ("PERM-BOTH swaps the scores of whole contexts, and says which metric is better. "
      "Williams’ test takes items as independent: where several share a context it finds a false difference in "
      "11 to 14 % of cases, not in 5 %. Both are adjusted by Holm over all pairs of columns.")),
    ("One rater",
     ("One rater’s agreement with the mean of the others. It is not an upper bound: one vote is noisy, and a "
      "metric is compared with the mean of all.")),
    ("What the raters’ noise allows",
     ("The root of the split-half reliability, stepped up by Spearman-Brown: about the most that a "
      "metric without error would reach. Corrected for rater noise: divided by it; that may exceed 1 by chance, and is "
      f"not shown where the reliability is below {LEAST}.")),
    ("No better than counting words",
     "Not above the control that scores a reply by its number of words."),
    ("Cost",
     "Seconds per 1,000 items, each metric by itself with models loaded, those of a composition’s inputs included."),
    ("Fitted on ratings",
     "Weights were fitted on human ratings, for each dataset on those of the others; its inputs were chosen as below."),
    ("Chosen on these datasets",
     ("Inputs of compositions and defaults of metrics were chosen while looking at the development datasets: their "
      "rows are optimistic there.")),
    ("Whole dialogues",
     ("A metric of replies scores a dialogue turn by turn, and the mean counts unless the options of the run name "
      "another aggregation. FED-Turn and FED-Dial are the turns and the whole of the same conversations.")))
CITE = ("Cite the harness by its version and commit, each dataset by the citation in the table of datasets, each "
        "metric by the paper on its page, and say how it differs from it.")


def build(results: Results) -> tuple[Page, ...]:
    """Build the page of methods."""
    index, run = make_index(results), results.run
    packages = Facts(tuple((name, Cell(run.packages[name])) for name in sorted(run.packages)))
    failed = (tuple(map(Cell, row)) for row in sorted((row.metric, row.dataset, row.error) for row in results.failures))
    sections = (
        Section("statistics", "What the numbers are", (
            Facts(tuple((term, Cell(words)) for term, words in STATISTICS)),)),
        Section("datasets", "Datasets", (_datasets(index),)),
        Section("metrics", "Metrics", (Prose(SIGNATURES), _metrics(index))),
        Section("cite", "How to cite", (Prose(CITE),)),
        Section("run", "The run", (_run(run), _options(run))),
        Section("repeat", "How to repeat it", _repeat(results)),
        Section("packages", "Packages", (packages,), level=3),
        Section("skips", "Skipped", _skips(results)),
        Section("failures", "Failed", (_table(
            "failure", "Pairs of metric and dataset that failed",
            (Heading("Metric", "stub"), Heading("Dataset"), Heading("Error")), failed),)),
    )
    return (Page(path="methods.html", title="Methods", label="Methods", sections=sections, order=4,
                 lead="What the numbers mean and what they do not, on which data they are, and how to make them "
                      "again."),)


def without_value(results: Results) -> list[tuple[str, list[Skip]]]:
    """Group by reason the columns, as metrics, that have no value on any quality of a dataset."""
    notes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in results.correlations:
        if row.statistic == STATISTIC:
            notes[row.dataset, row.column].add("" if math.isfinite(row.value) else row.note)
    return by_reason(Skip(dataset, column, *why) for (dataset, column), why in notes.items()
                     if len(why) == 1 and "" not in why)


def by_reason(skipped: Iterable[Skip]) -> list[tuple[str, list[Skip]]]:
    """Group by reason what has no scores, the most frequent first."""
    groups: dict[str, list[Skip]] = defaultdict(list)
    for skip in sorted(skipped, key=lambda skip: (skip.metric, skip.dataset)):
        groups[skip.reason].append(skip)
    return sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))


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


def _repeat(results: Results) -> tuple[Block, ...]:
    """Say what repeats the run: the code, the packages, the models, the command."""
    run, commit = results.run, results.run.commit or ""
    packages = ("'.[neural]'" if any(entry.models for entry in results.metrics) else ".",
                *(("./weights",) if results.trainings else ()),
                *(f"{name}=={run.packages[name].partition('+')[0]}" for name in sorted(run.packages)))
    models = sorted({line.partition(":")[0] for entry in results.metrics for line in entry.pretrained_on})
    lines = (f"git checkout {commit.removesuffix(DIRTY)}" if commit else "", f"pip install {' '.join(packages)}",
             f"harness fetch {' '.join(models)}" if models else "", run.command)
    return (Prose(REPEAT), *(Prose(line, code=True) for line in lines if line),
            Prose(f"{CHANGED if commit.endswith(DIRTY) else SAME} {NAMED}"))


def _datasets(index: Index) -> Block:
    rows = ((
        Cell(entry.name, link=index.dataset_paths[entry.name]), Cell(index.split(entry.split)), Cell(entry.level),
        count_cell(entry.items), count_cell(entry.ratings), count_cell(len(entry.qualities)),
        Cell(entry.licence or "not stated"), Cell(entry.citation)) for entry in index.datasets)
    return _table("dataset", "Datasets as they were in the run", (
        Heading("Dataset", "stub"), Heading("Split"), Heading("Level"), Heading("Items", "number"),
        Heading("Rated", "number", "items × qualities"), Heading("Qualities", "number"), Heading("Licence"),
        Heading("Citation")), rows)


def _skips(results: Results) -> tuple[Block, ...]:
    grouped = by_reason(results.skips)
    rows = ((Cell(reason), count_cell(len(skipped)), Cell(pairs(skipped))) for reason, skipped in grouped)
    words = (f"{plural(len(results.skips), 'pair')} of metric and dataset, for {plural(len(grouped), 'reason')}. "
             "Their values are missing on the boards, never zero.")
    table = _table("skip", "Skipped pairs of metric and dataset by reason",
                   (Heading("Reason", "stub"), Heading("Pairs", "number"), Heading("Which")), rows)
    return (Prose(words), table) if grouped else (table,)


def _metrics(index: Index) -> Block:
    known = costs(index.results)
    metrics = sorted(index.results.metrics, key=lambda entry: (entry.family, entry.name))
    rows = ((Cell(entry.name, link=index.metric_paths[entry.name]), Cell(entry.family), Cell(entry.badge),
             Cell(sentences.seconds(cost) if (cost := known.get((entry.name, next(iter(entry.columns), "")))) else ""),
             Cell(sentences.size(entry.parameters)), Cell(entry.signature, code=True)) for entry in metrics)
    return _table("metric", "Metrics as they were in the run", (
        Heading("Metric", "stub"), Heading("Family"), Heading("System"), Heading("Cost", "number", "s per 1,000"),
        Heading("Size", "number"), Heading("Signature", "code")), rows,
        f"{plural(len(metrics), 'metric')} with signatures")


def _table(name: str, caption: str, headings: tuple[Heading, ...], rows: Iterable[Row], folded: str = "") -> Block:
    listed = tuple(rows)
    return Table(f"{name}-table", caption, headings, (Group(listed),), folded=folded) if listed \
        else Prose("None.")
