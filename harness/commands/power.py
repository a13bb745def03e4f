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
from harness.commands._arguments import RESULTS, add, separated
from harness.commands._output import DATA, table
from harness.commands.report import targets
from harness.errors import BadConfig
from harness.results import files
from harness.results.pooled import Pool
from harness.results.power import Between, Power, chosen, power
from harness.statistics.power import MOST, shows
from leaderboard.render.templates import BANNER
from leaderboard.render.text import wrapped


def configure(parser: argparse.ArgumentParser) -> None:
    add(parser, RESULTS)
    add(parser, "dataset: dataset of the run, or the path of its table; default: all, one line per quality unless "
                "--pair, --contexts or --raters is given; repeatable", "quality")
    add(parser, "between: columns: differences of correlations (default); systems: of mean ratings",
        default="columns", choices=get_args(Between))
    parser.add_argument("--pair", nargs="+", action="extend", type=separated, default=[], metavar="NAME",
                        help="two columns or systems (default: the best two metrics or systems; the detectable "
                             "difference is then a typical pair's)")
    add(parser, "contexts N: number of contexts; repeatable (default: a quarter to four times the data's)")
    add(parser, "raters N: votes per item, each by a different rater; repeatable (default: a quarter to four times "
                "the data's)")
    add(parser, "json: print one JSON object per target and number of contexts and raters")


def run(args: argparse.Namespace) -> int:
    pair = [name for names in args.pair for name in names]
    results = files.read(args.out)
    pool = Pool.of(results)
    wanted = targets(results, tuple(map(own.name_of, args.dataset)), args.quality, args.out)
    selected = chosen(pool, wanted, pair, args.contexts, args.raters)
    full = args.dataset or pair or args.contexts or args.raters or len(results.datasets) == 1
    kinds = {entry.name: "own" if entry.split == "own" else entry.kind for entry in results.datasets}
    if not args.json and {kinds[target[0]] for target in selected} == {"sample"}:
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
        else:
            kind = kinds[target[0]]
            summary = f"{rows[0].dataset}, {rows[0].quality}{', sample' * (kind == 'sample')}: {rows[0]}"
            print("\n".join(_lines(rows, pair, kind)) if full else summary)
    print(*errors, sep="\n", end="\n" * bool(errors), file=sys.stderr)
    return 0


def _lines(rows: Sequence[Power], pair: Sequence[str], kind: str) -> Iterator[str]:
    """Describe the power on a target, also for other numbers of contexts and raters, and the contexts needed."""
    first = rows[0]
    yield wrapped(f"{first.dataset}, {first.quality}: {_shows(first) if pair else first}")
    groups = {count: list(group) for count, group in groupby(rows, key=lambda row: row.raters)}
    known = {count: {row.contexts: row for row in group} for count, group in groups.items()
             if not math.isnan(group[0].detectable)}
    known = dict(sorted(known.items()))
    heads = ("contexts", *map(_raters, known))
    yield table(f"Difference detectable with 80 % power for {'this' if pair else 'a typical'} pair, {first.quality} on "
                f"{first.dataset}", heads, DATA[kind], (
        (str(count), *(_difference(cells[count]) for cells in known.values()))
        for count in sorted(row.contexts for row in groups[first.raters])))
    if len(known) < len(groups):
        yield wrapped("other numbers of raters: unknown; either the ratings have no reliability, or it implies more "
                      "noise than this pair has")
    needed = {count: groups[count][0].needed for count in known if not math.isnan(groups[count][0].needed)}
    needs = [f"{f'{contexts:,.0f}' if contexts <= MOST else f'more than {MOST:,}'} with {_raters(count)}"
             for count, contexts in needed.items()]
    needs += ["unknown with other numbers of raters"] * (len(needed) < len(known))
    if len(needed) == len(groups) > 1 and min(needed.values()) > MOST:
        needs = [f"more than {MOST:,}, however many raters"]
    leading = "" if pair else "The leading pair: "
    yield wrapped(f"{leading}{first.first} and {first.second} differ by {abs(first.difference):.3f}; these data detect "
                  f"that with a power of {100 * first.power:.0f} %. Contexts needed for 80 %: {', '.join(needs)}")


def _shows(row: Power) -> str:
    """State the difference that the data can show for a named pair."""
    of = "correlations" if row.between == "columns" else "mean ratings"
    return f"{shows(row.items, row.contexts, row.detectable, of)} for {row.first} and {row.second}"


def _difference(row: Power) -> str:
    """Format a detectable difference; a dash if correlations cannot plausibly differ that much."""
    return "–" if row.between == "columns" and row.detectable >= 1 else f"{row.detectable:.3f}"


def _raters(count: float) -> str:
    return f"{count:.3g} rater{'s' * (count != 1)}"
