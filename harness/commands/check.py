"""`harness check METRIC|CARD`: Test a metric against its contract, or validate a dataset.

    harness check ./my_metric.py
    harness check ./tea-talk
"""

from __future__ import annotations

import argparse
import re
from collections import Counter, defaultdict
from pathlib import Path

from benchmarks import registry
from benchmarks.errors import BadRecords, plural
from harness import own
from harness.cards import read_card
from harness.commands._arguments import add
from harness.contract import dataset, process
from harness.contract.checks import CHECKS
from harness.errors import BadConfig

TIMEOUT = 300.0
MAX_PROBLEMS = 20  # printed problems of a dataset
ITEM_SUFFIX = re.compile(" for item '.*'$")
"""Matches the item in a finding, which is ignored when findings are grouped by problem."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="METRIC",
                        help="metric (NAME[option=value,...], FILE.py or FOLDER/) or dataset of your own (CARD.toml or "
                             "FOLDER/)")
    add(parser, f"timeout SECONDS: time limit per check (default: {TIMEOUT:g})", default=TIMEOUT)


def run(args: argparse.Namespace) -> int:
    card, registered = own.card_of(args.name), registry.cards().get(args.name)
    if card or (registered and registered.split == "own"):
        return _check_dataset(args.name, card, args.home)
    if Path(args.name).suffix != ".py" and Path(args.name).is_file():
        raise BadConfig(f"{args.name}: not a card; check a dataset by its card, a .toml that names this file "
                        f"(`harness new dataset NAME --from {args.name}` writes one)")
    width, states = max(map(len, CHECKS)), Counter[str]()
    broken_checks = defaultdict[str, list[str]](list)
    for finding in process.findings(args.name, args.home, args.timeout):
        states[finding.state] += 1
        checks = broken_checks[ITEM_SUFFIX.sub("", finding.text)] if finding.state == "BROKEN" else []
        checks.append(finding.check)
        if len(checks) == 1:
            print(f"{finding.state:<6}  {finding.check:<{width}}  {finding.text}", flush=True)
    for first_check, *others in broken_checks.values():
        if others:
            print(f"BROKEN  {len(others)} more with the same problem as {first_check}: {', '.join(others)}")
    print(f"the contract is broken: {states['BROKEN']} of {plural(states.total(), 'check')} failed" if states["BROKEN"]
          else f"the contract is kept: {plural(states['ok'], 'check')} passed, {plural(states['note'], 'note')}")
    return 1 if states["BROKEN"] else 0


def _check_dataset(name: str, card: Path | None, home: Path) -> int:
    try:
        if card is None:
            loaded = registry.load(name, home)
            print(*dataset.check(loaded, tuple(dataset.remarks(loaded, {})), home), sep="\n")
            return 0
        source = read_card(card)
        loaded, remarks = source.scaled()
    except BadRecords as error:  # harness/cli.py reports a single BadRecord
        remaining = len(error.problems) - MAX_PROBLEMS
        print(*error.problems[:MAX_PROBLEMS], *([f"and {remaining} more"] if remaining > 0 else ()), sep="\n")
        return 1
    print(*dataset.check(loaded, remarks, home), sep="\n")
    if lines := source.inferred(loaded):
        print(f"inferred from the file; to make this permanent, replace the qualities in {card} with:", *lines,
              sep="\n")
    return 0
