"""`harness report`: print the report of a run, as tables or as JSON lines."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.errors import nearest
from harness import own
from harness.commands import _comparisons
from harness.commands._comparisons import ReportRows
from harness.commands._output import configure_results, print_correlations
from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import Results
from harness.run.settings import plain_name
from harness.statistics import LEVEL_NAMES, STATISTIC_NAMES, TEST_NAMES
from leaderboard.render.text import summary


def configure(parser: argparse.ArgumentParser) -> None:
    """Which run, what of it, and in what form."""
    configure_results(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--compare", action="store_true", help="which column beats which, and how sure that is")
    what.add_argument("--clusters", nargs="?", const="every", choices=("every", "wmt"), metavar="RULE",
                      help="which columns cannot be told apart, per quality. every: parted where every column above "
                           "beats every one below (default); wmt: where any of the cluster above does, one-sided and "
                           "not adjusted, as WMT's metrics task has it")
    what.add_argument("--latex", nargs="?", const="", metavar="BOARD",
                      help="a board as a LaTeX table, the first one where none is named")
    parser.add_argument("--dataset", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--quality", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--metric", action="append", metavar="NAME",
                        help="with --compare: comparisons of this column, or of the columns of this metric, instead of "
                             "the best one; may be repeated")
    configure_statistics(parser, {})
    parser.add_argument("--test", choices=TEST_NAMES,
                        help="with --compare or --clusters (default: perm-both, which swaps whole contexts; of other "
                             "statistics than spearman and pearson over items, bootstrap)")
    parser.add_argument("--draws", type=int, metavar="N", default=0,
                        help="resamples of contexts: for an interval of --statistic (BCa) in place of that by formula, "
                             "and for the tests perm-both and bootstrap (there 1000 by default)")
    parser.add_argument("--json", action="store_true", help="one JSON object per correlation, or per pooled lead, with "
                        "its interval, and comparison")


def configure_statistics(parser: argparse.ArgumentParser, many: dict[str, Any]) -> None:
    """The flags that choose statistics; `many` makes them repeatable."""
    parser.add_argument("--statistic", choices=(*STATISTIC_NAMES, "kendall-b"), help="partial: Spearman with the "
                        "length of the response held; kendall is kendall-b (default: spearman)", **many)
    parser.add_argument("--level", choices=LEVEL_NAMES, help="over all items, the mean within contexts or systems, or "
                        "over the means of systems (default: items)", **many)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    report = files.read(args.out)
    statistic, level = plain_name(args.statistic or "spearman"), args.level or "items"
    names = tuple(map(own.name_of, args.dataset or ()))
    quick = level == "items" and statistic in ("spearman", "pearson")
    chosen = ReportRows(_targets(report, names, tuple(name.casefold() for name in args.quality or ())),
                        _columns(report, args.metric or ()), statistic if level == "items" else f"{statistic} {level}",
                        args.test or ("perm-both" if quick or args.clusters == "wmt" else "bootstrap"),
                        args.clusters or "every", args.draws)
    if chosen.rule == "wmt" and chosen.test != "perm-both":
        raise BadConfig("--clusters wmt tests by perm-both, one-sided")
    if args.clusters and args.json:
        raise BadConfig("--clusters has no JSON; --compare --json has every comparison behind them")
    if args.draws < 0:
        raise BadConfig("--draws should be 0 or more")
    if args.latex is not None:
        _latex(report, args.latex)
    elif args.compare or args.clusters or args.statistic or args.level or args.draws:
        _restated(report, chosen, args, statistic, level)
    elif args.json:
        print_correlations(report, chosen.has)
    elif args.dataset or args.quality:
        raise BadConfig("--dataset and --quality go with --compare, --clusters, --statistic or --json")
    else:
        print(summary(report))
    return 0


def _restated(report: Results, chosen: ReportRows, args: argparse.Namespace, statistic: str, level: str) -> None:
    """Print the rows that were asked for: those of the report where it has them, else from its item scores."""
    from harness.run.item_statistics import Request, restated

    test = chosen.test if args.compare or args.clusters else ""
    if args.draws or chosen.rule == "wmt" or not (chosen.comparisons if test else chosen.correlations)(report):
        draws = args.draws or (1000 if test in ("bootstrap", "perm-both") else 0)
        request = Request(statistic, level, draws, report.run.seed, one_sided=chosen.rule == "wmt")
        if draws and not isinstance(request.resampled, str):
            print(f"computing {request.name} of every column on {draws} draws, which may take minutes; --dataset, "
                  "--quality and --draws make it less", file=sys.stderr)
        report, chosen = restated(report, request, test, chosen.has), dataclasses.replace(chosen, draws=draws)
    if test and not chosen.comparisons(report):
        raise BadConfig(f"the report has no comparisons by {chosen.test} there")
    leads = list(_comparisons.pooled(report, chosen)) if args.compare and chosen.statistic == "spearman" else []
    if args.json and test:
        print(*(lead.json() for lead in leads), sep="\n", end="\n" * bool(leads))
        for comparisons in chosen.comparisons(report).values():
            sys.stdout.writelines(map(files.json_line, comparisons))
    elif args.json:
        own = tuple(row for row in report.correlations if row.statistic == chosen.statistic)
        print_correlations(dataclasses.replace(report, correlations=own), chosen.has)
    else:
        if leads:
            print(*leads, _comparisons.FAMILY, "", sep="\n")
        tables = (_comparisons.compared if args.compare else
                  _comparisons.clustered if args.clusters else _comparisons.valued)
        for table in tables(report, chosen):
            print(table)


def _latex(report: Results, board: str) -> None:
    """Print a board."""
    from leaderboard.model.index import real_alone
    from leaderboard.render import latex

    boards = latex.boards(real_alone(report))
    if not boards:
        raise BadConfig("the report has no board; `harness run --all` makes one")
    name = board.removesuffix(".tex") or next(iter(boards))
    if name not in boards:
        near = ", ".join(difflib.get_close_matches(name, boards, n=3, cutoff=0.4)) or ", ".join(list(boards)[:3])
        raise BadConfig(f"the report has no board {board!r}; among its {len(boards)} boards: {near}")
    print(latex.write(boards[name], name), end="")


def _targets(report: Results, datasets: Sequence[str], qualities: Sequence[str]) -> frozenset[tuple[str, str]]:
    """The targets that were chosen, a quality by its name or its dimension as in `harness run`; none means all."""
    _check("dataset", [entry.name for entry in report.datasets], datasets)
    names = [(entry.name, quality.name, {quality.name.casefold(), quality.dimension})
             for entry in report.datasets for quality in entry.qualities]
    _check("quality", [name for _, _, own in names for name in own], qualities)
    return frozenset((dataset, quality) for dataset, quality, own in names
                     if (not datasets or dataset in datasets) and (not qualities or own & set(qualities)))


def _columns(report: Results, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that are asked for, by their names or as those of a metric."""
    columns = dict.fromkeys((row.metric, row.column) for row in report.correlations)
    _check("metric or column", [name for column in columns for name in column], names)
    return tuple(dict.fromkeys(name for metric, name in columns if {metric, name} & set(names)))


def _check(what: str, known: Sequence[str], names: Sequence[str]) -> None:
    """Refuse names that the report does not know."""
    for name in names:
        if name not in known:
            raise BadConfig(f"the report has no {what} {name!r}; {nearest(name, sorted(set(known)))}")
