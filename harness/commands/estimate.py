"""`harness estimate`: Estimate the mean rating of each system from a few ratings and the scores of a metric.

    harness estimate --dataset ratings.csv --metric length
    harness estimate --dataset ratings.csv --metric distinct --column distinct-2 --by all --json
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, groupby
from typing import get_args

from benchmarks.errors import plural
from harness import own
from harness.commands._arguments import MODELS, add
from harness.commands._output import table
from harness.errors import BadConfig
from harness.results import files
from harness.run.prepare import prepare
from harness.run.settings import Settings, settings
from harness.run.system_means import ALL, By, SystemMean, system_means
from leaderboard.blocks.cells import MISSING, interval, number
from leaderboard.render.templates import BANNER
from leaderboard.render.text import wrapped
from metrics import registry

HEADS = ("system", "items", "rated", "mean", "95 %", "ratings alone", "95 %")


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, "dataset", "metric", required=True)
    add(parser, "column NAME: column of the metric (default: the first)")
    add(parser, "by: system: a mean for each system, and the systems that differ (default); all: one mean over all "
                "items", default="system", choices=get_args(By))
    add(parser, "columns", "scale", "quality", "ratings", "seed", *MODELS, "out",
        "json: print one JSON object per system and quality")


def run(args: argparse.Namespace) -> int:
    for name in args.metric:
        if metric := registry.metric_of_column(name):
            raise BadConfig(f"no metric {name!r}; it is a column of {metric!r}: use --metric {metric} --column {name}")
    rows = system_means(*prepare(settings(args)), args.column, args.by)
    if not any(row.rated for row in rows):
        raise BadConfig(f"{rows[0].dataset}: no item has a rating; an estimate needs some")
    if args.json:
        sys.stdout.writelines(map(files.json_line, rows))
    else:
        if any(row.origin == "sample" for row in rows):
            print(BANNER)
        for _, group in groupby(rows, key=lambda row: (row.dataset, row.quality)):
            print("\n".join(_lines(sorted(group, key=lambda row: -row.mean), args)))
    return 0


def _lines(rows: Sequence[SystemMean], args: argparse.Namespace) -> Iterator[str]:
    """Describe the estimates on a quality: a table, its notes, the worth of the scores, and the systems that differ."""
    first, all_rated = rows[0], all(row.rated == row.items for row in rows)
    source = "ratings alone" if all_rated else f"{first.column} and ratings"
    yield table(f"Mean {first.quality} on {first.dataset}, by {source}", HEADS[:5] if all_rated else HEADS, "", (
        (row.system, str(row.items), str(row.rated), number(row.mean, 2), interval(row.low, row.high) or MISSING,
         *(() if all_rated else (number(row.ratings_mean, 2), interval(row.ratings_low, row.ratings_high) or MISSING)))
        for row in rows))
    for note in dict.fromkeys(row.note for row in rows if row.note):
        systems = [row.system for row in rows if row.note == note]
        yield wrapped(f"{', '.join(systems)}: {note}" if len(systems) < len(rows) else note)
    rows_with_worth = [row for row in rows if math.isfinite(row.worth)]
    if any(row.rated < row.items for row in rows_with_worth):
        rated, ratings_only, combined = (sum(values) for values in zip(*(
            (row.rated, (row.ratings_high - row.ratings_low) ** 2, (row.high - row.low) ** 2)
            for row in rows_with_worth), strict=True))
        yield (f"{plural(rated, 'rated item')} with the scores of {first.column}: as precise as "
               f"{rated * ratings_only / combined:.0f} without them" if ratings_only > combined else
               f"the scores of {first.column} add nothing to these ratings")
    pairs = [f"{row.system} above {', '.join(row.better_than)}" for row in rows if row.better_than]
    if first.system != ALL:
        yield ("one system: no difference to test" if len(rows) == 1 else
               "fewer than two systems have an interval: no difference can be tested"
               if sum(math.isfinite(row.low) for row in rows) < 2 else
               f"systems that differ (5 %, adjusted over all pairs):{'' if pairs else ' none'}")
        yield from (wrapped(pair, indent="    ", start="  ").rstrip() for pair in pairs)
        undecided = (pair for pair in combinations((row for row in rows if math.isfinite(row.low)), 2)
                     if pair[1].system not in pair[0].better_than)
        if pair := next(undecided, None):
            names = [row.system for row in pair]
            dataset = next((name for name in args.dataset if own.name_of(name) == first.dataset), first.dataset)
            out = ("--out", str(args.out)) if args.out != Settings().out else ()
            flags = ("--dataset", dataset, *out, "--between", "systems", "--pair", *names)
            yield wrapped(f"to see how many contexts would separate {' and '.join(names)}, use `harness run` on this "
                          "dataset and metric, then:") + f"  harness power {shlex.join(flags)}"
