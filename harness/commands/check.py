"""`harness check NAME|FILE`: try a metric's contract on the sample and on hard cases, or read a dataset's card.

Of a card (.toml) it says what was read and what to look at.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from benchmarks import registry
from benchmarks.errors import BadRecords
from harness import own
from harness.contract import dataset, process
from harness.contract.checks import CHECKS
from harness.errors import BadConfig

TIMEOUT = 300.0
SHOWN = 20
"""Mistakes of a file that are printed."""
ITEM = re.compile(" for item '.*'$")
"""The item in a finding; two that differ in nothing else have one reason."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Which metric, and how long it may take."""
    parser.add_argument("name", metavar="METRIC",
                        help="NAME[option=value,...], FILE.py or FOLDER/; or a dataset of your own, CARD.toml or "
                             "FOLDER/")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, metavar="SECONDS",
                        help=f"how long a check may take (default: {TIMEOUT:g})")


def run(args: argparse.Namespace) -> int:
    """Print a line per check. 0: the contract is kept; 1: it is broken."""
    registry.know(args.home)
    card, known = own.card_of(args.name), registry.cards().get(args.name)
    if card or (known and known.split == "own"):
        return _check_dataset(args.name, card, args.home)
    if Path(args.name).suffix != ".py" and Path(args.name).is_file():
        raise BadConfig(f"{args.name}: is no card; a dataset is checked by its card, a .toml that names this file "
                        "(`harness new dataset NAME` writes one)")
    if args.timeout <= 0:
        raise BadConfig(f"--timeout should be more than 0, not {args.timeout:g}")
    width = max(map(len, CHECKS))
    states: list[str] = []
    same: dict[str, list[str]] = {}
    for finding in process.findings(args.name, args.home, args.timeout):
        states.append(finding.state)
        if finding.state == "BROKEN":
            same.setdefault(ITEM.sub("", finding.text), []).append(finding.check)
            if len(same[ITEM.sub("", finding.text)]) > 1:
                continue
        print(f"{finding.state:<6}  {finding.check:<{width}}  {finding.text}", flush=True)
    for first, *more in same.values():
        if more:
            print(f"BROKEN  as {first}, {len(more)} more: {', '.join(more)}")
    broken = states.count("BROKEN")
    print(f"the contract is broken: {broken} of {len(states)} checks" if broken else
          f"the contract is kept: {states.count('ok')} checks hold, {states.count('note')} notes")
    return 1 if broken else 0


def _check_dataset(name: str, card: Path | None, home: Path) -> int:
    """Print what a dataset of one's own holds, what to look at, and what was inferred, as lines for its card."""
    try:
        if card is None:
            loaded = registry.load(name, home)
            print("\n".join(dataset.check(loaded, tuple(dataset.remarks(loaded, {})), home)))
            return 0
        source = own.read_card(card)
        read, remarks = source.scaled()
    except BadRecords as error:  # one alone is said as any other mistake
        more = len(error.problems) - SHOWN
        print("\n".join((*error.problems[:SHOWN], *([f"and {more} more"] if more > 0 else ()))))
        return 1
    print("\n".join(dataset.check(read, remarks, home)))
    if lines := source.inferred(read):
        print(f"inferred from the file; to state it, write into {card} in place of its qualities:", *lines, sep="\n")
    return 0
