"""`harness reproduce PAPER`: recompute the averages, rankings and claims that papers print."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.errors import nearest
from harness.errors import BadConfig
from harness.published.reproduce import PAPERS, Paper
from harness.published.reproduce.check import Claim, State, Winner

WORDS: dict[State, str] = {"equal": "equal", "within": "within rounding", "differs": "DIFFERS"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Which papers, and how much."""
    parser.add_argument("paper", nargs="*", metavar="PAPER", help="dstc10, dynaeval, deb, yeh2021 (default: all)")
    parser.add_argument("--all", action="store_true", help="print every check, not only those that differ")
    parser.add_argument("--json", action="store_true", help="print every check and every winner as JSON, one a line")


def run(args: argparse.Namespace) -> int:
    """Recompute and print; a difference in print is a finding and no error."""
    for name in args.paper:
        if name not in PAPERS:
            raise BadConfig(f"no printed numbers of {name!r}; {nearest(name, tuple(PAPERS))}")
    for name in dict.fromkeys(args.paper or PAPERS):
        for line in _objects(name, PAPERS[name]) if args.json else _page(PAPERS[name], args.all):
            print(line)
    return 0


def _page(paper: Paper, everything: bool) -> Iterator[str]:
    claims = tuple(paper.claims())
    yield from (paper.title, "")
    yield from _summary(claims)
    printed = [claim for claim in claims if everything or claim.state == "differs"]
    if printed:
        yield from ("", "Every check" if everything else "What differs", "")
        yield from _details(printed)
    yield from ("", "Who wins", "")
    yield from _winners(paper.winners())
    yield ""


def _summary(claims: Sequence[Claim]) -> Iterator[str]:
    tables: dict[str, Counter[State]] = {}
    for claim in claims:
        tables.setdefault(claim.table, Counter())[claim.state] += 1
    tables["all"] = Counter(claim.state for claim in claims)
    rows = [[name, *(str(counts[state]) for state in WORDS)] for name, counts in tables.items()]
    yield from _table(["printed in", "equal", "within rounding", "differs"], rows)


def _details(claims: Sequence[Claim]) -> Iterator[str]:
    last = ""
    for claim in claims:
        digits = max(0, -int(claim.printed.as_tuple().exponent)) + 2
        value = float(claim.recomputed.value)
        recomputed = f"{value:.{digits}f}" if digits > 2 or value % 1 else str(round(value))
        yield (f"{WORDS[claim.state]:<15}  {claim.table}: {claim.what}: printed {claim.printed}, "
               f"recomputed {recomputed} ({claim.how})")
        if claim.reason and claim.state != "equal" and claim.reason != last:
            yield f"{'':<15}  known: {claim.reason}"
        last = claim.reason


def _winners(rows: tuple[Winner, ...]) -> Iterator[str]:
    def named(names: tuple[str, ...], value: float | None) -> str:
        return "" if value is None else f"{' = '.join(names)} {value:.4g}"

    yield from _table(
        ["board", "rule", "first", "second", "competitors"],
        [[row.board, row.rule, named(row.first, row.value), named((row.second or "",), row.runner_up),
          f"{row.competitors}" + (f", {row.incomplete} incomplete" if row.incomplete else "")] for row in rows])


def _table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    widths = [max(len(line[place]) for line in (head, *rows)) for place in range(len(head))]
    rule = ["-" * width for width in widths]
    for line in (head, rule, *rows):
        yield "  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip()


def _objects(name: str, paper: Paper) -> Iterator[str]:
    for claim in paper.claims():
        number, state = claim.recomputed, claim.state
        yield json.dumps({
            "paper": name, "kind": "check", "table": claim.table, "what": claim.what, "printed": str(claim.printed),
            "recomputed": float(number.value), "low": float(number.low), "high": float(number.high), "how": claim.how,
            "state": state, "reason": claim.reason if state != "equal" else ""}, ensure_ascii=False)
    for row in paper.winners():
        yield json.dumps({"paper": name, "kind": "winner", **dataclasses.asdict(row)}, ensure_ascii=False)
