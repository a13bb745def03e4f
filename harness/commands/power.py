"""`harness power`: Show the smallest difference that a run's data can detect, and the contexts and raters needed.

    harness power
    harness power --dataset dailydialog-zhao --pair bleu-2 cosine --contexts 300 --raters 8
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import get_args

from harness import own
from harness.commands._arguments import POSITIVE_COUNT, RESULTS, add, separated
from harness.commands._output import DATA, data_of, table
from harness.commands.report import targets
from harness.errors import BadConfig
from harness.results import files
from harness.results.pooled import Pool
from harness.results.power import Between, Power, checked_targets, power
from harness.statistics.power import MAX_CONTEXTS, detectable_text
from leaderboard.render.templates import BANNER
from leaderboard.render.text import wrapped


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, RESULTS)
    add(parser, "dataset: dataset of the run, or the path of its table; default: all, one line per quality unless "
                "--pair, --contexts or --raters is given; repeatable", "quality")
    add(parser, "between: columns (default): differences between correlations; systems: between mean ratings",
        default="columns", choices=get_args(Between))
    parser.add_argument("--pair", nargs="+", action="extend", type=separated, default=[], metavar="NAME",
                        help="two columns or systems (default: the two best, and the difference detectable for a "
                             "typical pair)")
    add(parser, "contexts N: number of contexts; repeatable (default: a quarter to four times the data's)")
    add(parser, "raters N: votes per item, each by a different rater; repeatable (default: a quarter to four times "
                "the data's)", type=POSITIVE_COUNT)
    add(parser, "json: print one JSON object per target and number of contexts and raters")


def run(args: argparse.Namespace) -> int:
    pair = [name for names in args.pair for name in names]
    results = files.read(args.out)
    pool = Pool.of(results)
    requested = targets(results, tuple(map(own.name_of, args.dataset)), args.quality, args.out)
    selected = checked_targets(pool, requested, pair, args.contexts, args.raters)
    detailed = args.dataset or pair or args.contexts or args.raters or len(results.datasets) == 1
    described = {entry.name: data_of(entry.split, entry.kind) for entry in results.datasets}
    if not args.json and {described[dataset] for dataset, _ in selected} == {DATA["sample"]}:
        print(BANNER)
    errors: list[BadConfig] = []
    for target in selected:
        try:
            rows = list(power(results, target, args.between, pair, args.contexts, args.raters, pool))
        except BadConfig as error:
            errors.append(error)
            if args.dataset or (pair and len(errors) == len(selected)):
                raise
            continue
        if args.json:
            sys.stdout.writelines(map(files.json_line, rows))
        elif detailed:
            print("\n".join(_lines(rows, pair, described[target[0]])))
        else:
            sample = ", sample" * (described[target[0]] == DATA["sample"])
            print(f"{rows[0].dataset}, {rows[0].quality}{sample}: {rows[0]}")
    print(*errors, sep="\n", end="\n" * bool(errors), file=sys.stderr)
    return 0


def _lines(rows: Sequence[Power], pair: Sequence[str], data: str) -> Iterator[str]:
    """Describe the power on a target, also for other numbers of contexts and raters, and the contexts needed."""
    base = rows[0]
    compared_value = "correlations" if base.between == "columns" else "mean ratings"
    pair_sentence = (f"{detectable_text(base.items, base.contexts, base.detectable, compared_value, base.unit)} for "
                     f"{base.first} and {base.second}")
    yield wrapped(f"{base.dataset}, {base.quality}: {pair_sentence if pair else base}")
    groups = {count: list(group) for count, group in groupby(rows, key=lambda row: row.raters)}
    rows_by_raters = {count: {row.contexts: row for row in group} for count, group in sorted(groups.items())
                      if not math.isnan(group[0].detectable)}
    yield table(f"Difference detectable with 80 % power for {'this' if pair else 'a typical'} pair, {base.quality} on "
                f"{base.dataset}", (f"{base.unit}s", *map(_format_raters, rows_by_raters)), data, (
        (str(count), *(_format_difference(cells[count]) for cells in rows_by_raters.values()))
        for count in sorted(row.contexts for row in groups[base.raters])))
    if len(rows_by_raters) < len(groups):
        yield wrapped("unknown for other numbers of raters: the reliability is unknown, or it implies more rater noise "
                      "than the whole variance of this pair's difference")
    needed = {count: groups[count][0].needed for count in rows_by_raters if not math.isnan(groups[count][0].needed)}
    items = base.items / base.contexts
    needs = [f"{contexts:,.0f} with {_format_raters(count)} (about {_rounded(contexts * items * count)} ratings)"
             if contexts <= MAX_CONTEXTS else f"more than {MAX_CONTEXTS:,} with {_format_raters(count)}"
             for count, contexts in needed.items()]
    needs += ["unknown with other numbers of raters"] * (len(needed) < len(rows_by_raters))
    if len(needed) == len(groups) > 1 and min(needed.values()) > MAX_CONTEXTS:
        needs = [f"more than {MAX_CONTEXTS:,}, however many raters"]
    yield wrapped(f"{'' if pair else 'The leading pair: '}{base.first} and {base.second} differ by "
                  f"{abs(base.difference):.3f}; these data detect that with a power of {100 * base.power:.0f} %. "
                  f"{base.unit.capitalize()}s needed for 80 %: {', '.join(needs)}")


def _format_difference(row: Power) -> str:
    """Format a detectable difference; a dash if correlations cannot plausibly differ that much."""
    return "–" if row.between == "columns" and row.detectable >= 1 else f"{row.detectable:.3f}"


def _rounded(count: float) -> str:
    """Format a count with two significant digits."""
    return f"{float(f'{count:.2g}'):,.0f}"


def _format_raters(count: float) -> str:
    return f"{count:.3g} rater{'s' * (count != 1)}"
