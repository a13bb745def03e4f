"""`harness report`: Print the results of a run as tables or JSON lines.

    harness report
    harness report --compare --dataset fed-turn
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.errors import nearest, plural
from harness import own
from harness.commands import _comparisons
from harness.commands._arguments import RESULTS, add
from harness.commands._comparisons import Selection
from harness.commands._output import data_of, print_correlations
from harness.errors import BadConfig
from harness.results import files
from harness.results.decision_rows import Decision
from harness.results.rows import ColumnKey, Results
from harness.run.settings import plain_name
from harness.statistics import TEST_NAMES
from leaderboard.blocks import decisions
from leaderboard.model.index import Index, by_reason, make_index
from leaderboard.render.text import summary, text, wrapped

DECISIONS_WIDTH = 130
"""Width of the table of decisions, which has three columns of names."""


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, RESULTS)
    output = parser.add_mutually_exclusive_group()
    add(output, "compare: test all column pairs, print those of the best column (--json: all)")
    output.add_argument("--clusters", nargs="?", const="every", choices=("every", "wmt"), metavar="RULE",
                        help="clusters of columns per quality. every: each column above beats each column below "
                             "(default); wmt: at least one column of the cluster above beats the next column, "
                             "one-sided and unadjusted, as in WMT's metrics task")
    add(output, "rule: rank by the rule of WMT25's metrics task: mean of soft pairwise accuracy over systems and "
                "pairwise accuracy with calibrated ties within contexts, with clusters by PERM-BOTH",
        choices=("wmt25",))
    add(output, "decide: whether each column may replace a rater, and how many ratings it is worth")
    output.add_argument("--latex", nargs="?", const="", metavar="BOARD",
                        help="print a board as a LaTeX table (default: the first)")
    add(parser, "dataset", "quality", help="only this dataset or quality; repeatable")
    add(parser, "metric: only this column, or this metric's columns; with --compare: test it instead of the best "
                "column; repeatable")
    add(parser, "statistic", "level", action="store", default=None)
    add(parser, "test: test for --compare or --clusters (default: perm-both, which swaps ranks of whole contexts, or "
                "bootstrap for statistics other than spearman and pearson over items); perm-both-scores swaps "
                "standardised scores",
        choices=TEST_NAMES)
    add(parser, "draws: context resamples for BCa intervals, which replace the analytic ones, and draws of perm-both "
                "and bootstrap (default for tests: 1000)", default=0)
    add(parser, "json: print one JSON object per correlation, comparison or decision")


def run(args: argparse.Namespace) -> int:
    results = files.read(args.out)
    statistic, level = plain_name(args.statistic or "spearman"), args.level or "items"
    default_test = "perm-both" if args.clusters == "wmt" or (
        level == "items" and statistic in ("spearman", "pearson")) else "bootstrap"
    selection = Selection(results, targets(results, list(map(own.name_of, args.dataset)), args.quality, args.out),
                          _columns(results, args.metric), statistic if level == "items" else f"{statistic} {level}",
                          args.test or default_test, args.clusters or "every", args.draws)
    if selection.rule == "wmt" and selection.test != "perm-both":
        raise BadConfig("--clusters wmt requires --test perm-both")
    if args.clusters and args.json:
        raise BadConfig("--clusters has no JSON output; --compare --json prints the comparisons")
    if args.latex is not None:
        _print_latex(results, args.latex)
    elif args.rule:
        _print_wmt25(selection, args)
    elif args.decide:
        _print_decisions(selection, args)
    elif args.compare or args.clusters or args.statistic or args.level or args.draws or (
            not args.json and (args.dataset or args.quality or args.metric)):
        _print_rows(selection, args, statistic, level)
    elif args.json:
        print_correlations(results, selection.has_row)
    else:
        print(summary(results))
    return 0


def _print_rows(selection: Selection, args: argparse.Namespace, statistic: str, level: str) -> None:
    """Print the selected rows from the results or, if missing there, computed from item scores."""
    from harness.run.item_statistics import ACCURACIES, Request, with_statistic

    test = selection.test if args.compare or args.clusters else ""
    by_chance = statistic in ACCURACIES and not test
    stored_rows = selection.comparisons if test else selection.correlations
    if args.draws or by_chance or selection.rule == "wmt" or not stored_rows():
        draws = args.draws or (1000 if test in ("bootstrap", "perm-both", "perm-both-scores") else 0)
        request = Request(statistic, level, draws, selection.results.run.seed, one_sided=selection.rule == "wmt")
        if draws and not isinstance(request.resampled, str):
            print(f"computing {request.name} of every column on {draws} draws; this may take minutes (limit it "
                  "with --dataset, --quality or --draws)", file=sys.stderr)
        selection = dataclasses.replace(
            selection, results=with_statistic(selection.results, request, test, selection.has), draws=draws)
    comparisons = selection.comparisons()
    if test and not (any(map(len, comparisons.values())) if args.compare else comparisons):
        raise BadConfig(f"the results have no comparisons by {selection.test} for this selection: a comparison needs "
                        "two columns with scores")
    leads = list(_comparisons.lead_sentences(selection)) if args.compare and (
        selection.statistic, selection.test) == ("spearman", "perm-both") else []
    if args.json and test:
        sys.stdout.writelines(line for _, line in leads)
        for rows in comparisons.values():
            sys.stdout.writelines(map(files.json_line, rows))
    elif args.json:
        print_correlations(selection.results, lambda row: (
            row.statistic == selection.statistic and selection.has_row(row)))
    else:
        print(*(wrapped(sentence) for sentence, _ in leads), sep="", end="\n" * bool(leads))
        tables = (_comparisons.comparison_tables if args.compare else _comparisons.cluster_tables if args.clusters else
                  _comparisons.correlation_tables)
        print(*tables(selection), sep="\n")


def _print_wmt25(selection: Selection, args: argparse.Namespace) -> None:
    if args.statistic or args.level or args.test or args.metric:
        raise BadConfig("--rule wmt25 does not accept --statistic, --level, --test or --metric: the rule "
                        "fixes the statistic and the test, and ranks all columns")
    rows = list(_comparisons.by_wmt25(selection))
    if not rows:
        raise BadConfig("WMT25's rule needs a target with several systems, or with several responses to a context")
    if args.json:
        sys.stdout.writelines(files.json_object(row) for _, board in rows for row in board)
    else:
        print(*(text for text, _ in rows), sep="\n", end="")


def _print_decisions(selection: Selection, args: argparse.Namespace) -> None:
    if args.statistic or args.level or args.test or args.draws:
        raise BadConfig("--decide does not accept --statistic, --level, --test or --draws: it has its own tests")
    index = make_index(selection.results)
    rows = decisions.sorted_decisions(index, list(filter(selection.has_row, selection.results.decisions)))
    if not rows:
        raise BadConfig("the results have no decisions for this selection; `harness run` adds them")
    if args.json:
        sys.stdout.writelines(map(files.json_line, rows))
    else:
        print(*_decision_tables(index, rows), sep="\n")


def _decision_tables(index: Index, rows: Sequence[Decision]) -> Iterator[str]:
    """Yield a table for each kind of data with the best columns of each target, and the limits of these decisions."""
    described = {entry.name: data_of(entry.split, entry.kind) for entry in index.datasets}
    for data in dict.fromkeys(described[row.dataset] for row in rows):
        of_kind = [row for row in rows if described[row.dataset] == data]
        best_rows = decisions.best_decisions(index, of_kind)
        yield text(decisions.decision_table(index, best_rows, data), DECISIONS_WIDTH)
        if remaining := len(of_kind) - len(best_rows):
            yield f"{plural(remaining, 'more row')}: --dataset, --quality and --metric select, --json prints all.\n"
        yield from (f"{limit}\n" for limit in decisions.limitations(best_rows))
    yield wrapped(decisions.EXPLAINED, indent="")


def _print_latex(results: Results, board: str) -> None:
    from leaderboard.model.index import drop_sample
    from leaderboard.render import latex

    boards = latex.boards(drop_sample(results))
    if not boards:
        raise BadConfig("the results have no board; try `harness run --all`")
    if (name := board.removesuffix(".tex") or next(iter(boards))) not in boards:
        nearby = difflib.get_close_matches(name, boards, n=3, cutoff=0.4) or list(boards)[:3]
        raise BadConfig(f"the results have no board {board!r}; the nearest of {len(boards)}: {', '.join(nearby)}")
    print(latex.write(boards[name], name), end="")


def targets(results: Results, datasets: Sequence[str], names: Sequence[str], out: Path) -> frozenset[tuple[str, str]]:
    """Return the selected targets of the results in `out`, all by default; qualities match by name or dimension."""
    qualities = {name.casefold() for name in names}
    aliases = {(entry.name, quality.name): {quality.name.casefold(), quality.dimension}
               for entry in results.datasets for quality in entry.qualities}
    for name in datasets:
        check_dataset(name, [entry.name for entry in results.datasets], out)
    _check_names("quality", set().union(*aliases.values()), sorted(qualities))
    return frozenset(target for target, known in aliases.items()
                     if (not datasets or target[0] in datasets) and (not qualities or known & qualities))


def _columns(results: Results, names: Sequence[str]) -> tuple[ColumnKey, ...]:
    columns = dict.fromkeys((row.metric, row.column) for row in results.correlations)
    known_names = {name for column in columns for name in column}
    for name in names:
        labels = {entry.name for entry in results.metrics
                  if name not in known_names and name in (entry.name, *entry.columns)}
        reasons = by_reason(skip for skip in results.skips if skip.metric in labels)
        if labels:
            reason = "; ".join(f"{missing.reason} ({missing.where})" for missing in reasons) or "it failed"
            raise BadConfig(f"{name} was not scored: {reason}")
    _check_names("metric or column", known_names, names)
    return tuple(column for column in columns if set(column) & set(names))


def check_dataset(name: str, known: Sequence[str], out: Path) -> None:
    if name not in known:
        raise BadConfig(f"the results in {out} have no dataset {name!r}; {nearest(name, known)} (`harness run "
                        "--dataset` adds datasets; --out names other results)")


def _check_names(kind: str, known: set[str], names: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise BadConfig(f"the results have no {kind} {name!r}; {nearest(name, sorted(known))}")
