"""`harness leaderboard --with NAME`: Show where a metric would rank on the boards of an earlier run.

    harness leaderboard --with ./my_metric.py
    harness leaderboard --with ./my_metric.py --split dev
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import Literal

from benchmarks.errors import plural
from benchmarks.formats.scorefile import listed
from harness.commands._arguments import MODELS, RESULTS, add
from harness.commands._output import data_of, table
from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import Results
from harness.run import placement
from harness.run.placement import Placement
from harness.run.plan import make
from harness.run.prepare import open_workspace
from harness.run.run import run as run_plan
from harness.run.settings import Settings, home_folder, settings
from leaderboard.blocks.cells import number
from leaderboard.model.index import by_reason, without_value
from leaderboard.render.text import wrapped

EXTREMES = 3  # number of best and of worst targets shown


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, "with NAME: metric, as in `harness run --metric`; repeatable",
        default=None, dest="metric", required=True)
    add(parser, RESULTS)
    add(parser, "data: kind of data (default: real if the run had any)", choices=("real", "sample"), default=None)
    add(parser, "split", "ratings", *MODELS, "json: print one JSON object per board")


def run(args: argparse.Namespace) -> int:
    """Score the metric and show its rank; the exit status is that of `harness run`."""
    chosen = settings(args)
    earlier = files.read(chosen.out)
    results = _score(earlier, chosen, args.data)
    boards = list(placement.placements(earlier, results))
    for board in boards:
        print(files.json_object(dataclasses.asdict(board)).rstrip() if chosen.json else _format_board(board))
    if not chosen.json:
        for missing in by_reason(results.skips):
            print(f"not scored: {missing.where}: {missing.reason}")
        for failure in results.failures:
            print(f"failed: {failure.metric} on {failure.dataset}: {failure.error}")
        if not boards:
            for missing in without_value(results):
                print(f"no value: {missing.where}: {missing.reason}")
            print(f"no rank: no correlation on {', '.join(entry.name for entry in results.datasets)}")
    return 1 if results.failures or not results.correlations else 0


def _score(earlier: Results, chosen: Settings, data: Literal["real", "sample"] | None) -> Results:
    of_split = [entry for entry in earlier.datasets if chosen.split in (None, entry.split)]
    kind: Literal["real", "sample"] = data or ("real" if any(entry.kind == "real" for entry in of_split) else "sample")
    names = tuple(entry.name for entry in of_split if entry.kind == kind)
    if not names:
        raise BadConfig(f"{chosen.out}: the results have no {kind} datasets"
                        + (f" in the split {chosen.split}" if chosen.split else "") + "; try `harness run --all`")
    limit, sample = map(earlier.run.options.get, ("limit", "sample"))
    plan = make(dataclasses.replace(
        chosen, dataset=names, limit=limit, sample=sample, seed=earlier.run.seed, data=kind,
        aggregate=tuple(earlier.run.options.get("aggregations", ("mean",)))), quick=True)
    home = home_folder(chosen.home)
    results = run_plan(plan, open_workspace(plan, home, chosen.out))
    if not (results.datasets or results.failures):
        raise BadConfig(f"{chosen.out}: the run's datasets ({listed(names)}) are not in {home}; pass the --home of the "
                        "run, or import them there")
    return results


def _format_board(board: Placement) -> str:
    """Format the board around the metric, the significant differences, and its highest and lowest correlations."""
    rank = next(row.rank for row in board.neighbours if row.own)
    rows = []
    for row in board.neighbours:
        rows += [("…", "…", "", "", "")] * row.gap
        verdict = (str(row.better), str(row.worse)) if row.compared else ("", "")
        rows.append((str(row.rank), row.column, number(row.value), *verdict))
    targets = plural(board.cells, "target")
    caption = (f"{board.column} would rank {rank} of {board.ranked} on the board {board.split}: Spearman by the rule "
               f"{board.rule}, on {targets}" if board.cells == board.whole else
               f"{board.column} would rank {rank} of the {board.ranked} columns with values on {targets}, and has no "
               f"rank on the board {board.split}, which has {board.whole}: Spearman by the rule {board.rule}")
    heads = ("Rank", "Metric", "value", "beats it on", "loses to it on")
    board_table = table(caption, heads, data_of(board.split, board.origin), rows)
    legend = wrapped(f"Beats it on, loses to it on: number of targets (qualities of datasets, {board.cells} in all) on "
                     f"which {board.column} has a significantly higher or lower correlation than that row, at 5 % "
                     "(PERM-BOTH on ranks over whole contexts, adjusted by Benjamini and Hochberg over all pairs of "
                     "columns).")
    lowest = board.reached[max(EXTREMES, len(board.reached) - EXTREMES):]
    by_end = {"Highest": board.reached[:EXTREMES], "Lowest": lowest}
    extremes = [f"{word}: " + "; ".join(
        f"{target.dataset} {target.quality} {number(target.value)} (rank {target.place} of {target.of})"
        for target in reached) for word, reached in by_end.items() if reached]
    return "\n".join([board_table, legend, *map(wrapped, extremes)])
