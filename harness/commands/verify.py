"""`harness verify RESULTS`: Recompute results or a bundle, and report differences and their causes.

    harness verify results
    harness verify submission.zip
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.bundle import heading, reading
from harness.commands._arguments import MODELS, WORKERS, add
from harness.commands._repetition import repeat
from harness.errors import BadBundle, BadConfig
from harness.verification import bundles
from harness.verification.bundles import Checked
from harness.verification.rescoring import rescore

SHOWN = 50


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS",
                        help="results of a run, which is repeated, or bundles (.zip) of `harness submit`")
    add(parser, "ratings")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("verified"),
                        help="results: folder for the scores, report and site of the repeated run (default: "
                             "./verified)")
    parser.add_argument("--from", dest="folders", type=Path, action="append", default=[], metavar="DIR",
                        help="results: folder with files used by the run, such as metrics, models and dataset "
                             "cards; repeatable (default: the working folder)")
    parser.add_argument("--with", dest="with_", action="append", default=[], metavar="NAME",
                        help="bundle: file, folder or model of a packed metric that is not installed; repeatable")
    parser.add_argument("--rescore", choices=("auto", "always", "never"), default="auto",
                        help="bundle: score again with installed metrics that have the same signature; auto: only "
                             "metrics without models (default)")
    parser.add_argument("--markdown", action="store_true", help="bundle: print Markdown, for a pull request")
    add(parser, *MODELS, *WORKERS)


def run(args: argparse.Namespace) -> int:
    """Return 0 if nothing differs, 1 if something does or nothing could be computed, 2 if a bundle is refused."""
    folders = [path for path in args.results if path.is_dir()]
    if folders and len(args.results) > 1:
        raise BadConfig(f"{folders[0]}: verify one results folder at a time")
    if folders:
        return repeat(folders[0], args)
    worst = 0
    for path in args.results:
        try:
            checked = bundles.load(reading.read(path), args.home, args.ratings)
            rescore(checked, args.home, args.rescore, args.with_)
            bundles.recompute(checked)
        except BadBundle as error:
            worst = 2
            if args.markdown:
                print(f"### {_code(path.name)}\n\n**refused**: {_code(str(error))}\n")
            else:
                print(f"refused: {_line(str(error))}", file=sys.stderr)
            continue
        print("\n".join((_markdown if args.markdown else _plain)(path, checked)))
        worst = max(worst, 1 if checked.drifts or not (checked.again or checked.rescored) else 0)
    return worst


def _plain(path: Path, checked: Checked) -> Iterator[str]:
    run = checked.bundle.run
    yield f"{path}: {checked.bundle.name!r}, harness {_line(run.version)}, commit {_line(str(run.commit))}"
    yield from map(_line, _lines(checked))
    yield _verdict(checked)


def _markdown(path: Path, checked: Checked) -> Iterator[str]:
    yield from (f"### {_code(path.name)}: {_code(checked.bundle.name)}", "", f"**{_verdict(checked)}**", "")
    yield from (f"- {_code(line)}" for line in _lines(checked))
    yield ""


def _lines(checked: Checked) -> Iterator[str]:
    """Yield what was computed again and what was not, the places on the boards, and the differences."""
    yield (f"correlations: {sum(checked.again.values())} of {len(checked.bundle.correlations)} computed again, on "
           f"{len(checked.again)} of {len(checked.bundle.datasets)} datasets; places on boards: {checked.ranking}")
    for name, reason in checked.not_here.items():
        yield f"not here: {name}: {reason}"
    for name, columns in checked.rescored.items():
        yield f"scored again: {name}, {columns} column{'s' * (columns != 1)}"
    for name, reason in checked.not_rescored.items():
        yield f"not scored again: {name}: {reason}"
    for row, of, again in checked.places:
        place = f"rank {row.rank} of {of}" if row.rank else "no rank"
        value = f"{row.value:.3f}" if math.isfinite(row.value) else "–"
        yield (f"board {row.board} ({row.origin}): {heading((row.metric, row.column))} {place}, {value}, "
               f"{row.covered} of {row.targets} targets, {again} computed again")
    for drift in checked.drifts[:SHOWN]:
        yield f"drift: {drift.where}: packed {drift.packed}, here {drift.here}"


def _verdict(checked: Checked) -> str:
    if checked.drifts:
        more = f", the first {SHOWN} of them above" if len(checked.drifts) > SHOWN else ""
        return f"{len(checked.drifts)} differences above 0.001{more}"
    if not checked.again:
        return "nothing could be computed again from scores: no dataset of the bundle is here as it was"
    return "no difference above 0.001 in what was computed again"


def _code(value: str) -> str:
    """Quote text from a bundle as code, which holds no link, mention or markup."""
    return "`" + _line(value).replace("`", "'").replace("|", "¦") + "`"


def _line(value: str) -> str:
    """Make text printable on one line."""
    short = "".join(sign if sign.isprintable() else " " for sign in value)
    return short if len(short) <= 300 else short[:300] + "…"
