"""`harness verify RESULTS`: Compute results or a bundle again, and report what differs and why."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from harness.bundle import Bundle, heading, reading
from harness.commands._arguments import MODELS, add
from harness.commands._repetition import repeat
from harness.commands.run import configure_workers
from harness.errors import BadBundle, BadConfig
from harness.verification import bundles as check
from harness.verification.bundles import Checked
from harness.verification.rescoring import rescore

SHOWN = 50
"""Lines of drift that are shown of a bundle; the number of all is told."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS",
                        help="results of a run, which is repeated, or bundles (.zip) of `harness submit`")
    add(parser, "ratings")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("verified"),
                        help="results: folder for the scores, report and site of the repeated run (default: "
                             "./verified)")
    parser.add_argument("--from", dest="folders", type=Path, action="append", default=[], metavar="DIR",
                        help="results: folder with files that the run read, such as metrics, models and dataset "
                             "cards; repeatable (default: the working folder)")
    parser.add_argument("--with", dest="with_", action="append", default=[], metavar="NAME",
                        help="bundle: a metric of it that is not installed, by its file, folder or model; repeatable")
    parser.add_argument("--rescore", choices=("auto", "always", "never"), default="auto",
                        help="bundle: score again with the installed metrics of the same signature; auto: only "
                             "metrics without models (default)")
    parser.add_argument("--markdown", action="store_true", help="bundle: print Markdown, for a pull request")
    add(parser, *MODELS)
    configure_workers(parser)


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
            bundle, checked = reading.read(path), check.Checked()
            here = check.at_hand(bundle, args.home, args.ratings, checked)
            rescore(bundle, here, args.home, args.rescore, checked, args.with_)
            check.ranking(bundle, here, check.correlations(bundle, here, checked), checked)
        except BadBundle as error:
            worst = 2
            print(_refused(path, error) if args.markdown else f"refused: {_line(str(error))}",
                  file=sys.stdout if args.markdown else sys.stderr)
            continue
        print("\n".join((_markdown if args.markdown else _plain)(path, bundle, checked)))
        worst = max(worst, 1 if checked.drifts or not (checked.again or checked.rescored) else 0)
    return worst


def _plain(path: Path, bundle: Bundle, checked: Checked) -> Iterator[str]:
    yield f"{path}: {bundle.name!r}, harness {_line(bundle.run.version)}, commit {_line(str(bundle.run.commit))}"
    yield from map(_line, _told(bundle, checked))
    yield _verdict(checked)


def _markdown(path: Path, bundle: Bundle, checked: Checked) -> Iterator[str]:
    yield from (f"### {_code(path.name)}: {_code(bundle.name)}", "", f"**{_verdict(checked)}**", "")
    yield from (f"- {_code(line)}" for line in _told(bundle, checked))
    yield ""


def _told(bundle: Bundle, checked: Checked) -> Iterator[str]:
    """What was done again and what was not, the places on the boards, and what differs."""
    yield (f"correlations: {sum(checked.again.values())} of {len(bundle.correlations)} computed again, on "
           f"{len(checked.again)} of {len(bundle.datasets)} datasets; places on boards: {checked.ranking}")
    for name, reason in checked.not_here.items():
        yield f"not here: {name}: {reason}"
    for name, columns in checked.rescored.items():
        yield f"scored again: {name}, {columns} column{'s' * (columns != 1)}"
    for name, reason in checked.not_rescored.items():
        yield f"not scored again: {name}: {reason}"
    for row in checked.rows:
        at = row.standing
        place = f"rank {at.rank} of {row.of}" if at.rank else "no rank"
        yield (f"board {at.board} ({at.origin}): {heading((at.metric, at.column))} {place}, {_number(at.value)}, "
               f"{at.covered} of {at.targets} targets, {row.again} computed again")
    for drift in checked.drifts[:SHOWN]:
        yield f"drift: {drift.where}: packed {drift.packed}, here {drift.here}"


def _verdict(checked: Checked) -> str:
    if checked.drifts:
        more = f", the first {SHOWN} of them above" if len(checked.drifts) > SHOWN else ""
        return f"{len(checked.drifts)} differences above 0.001{more}"
    if not checked.again:
        return "nothing could be computed again from scores: no dataset of the bundle is here as it was"
    return "no difference above 0.001 in what was computed again"


def _refused(path: Path, error: BadBundle) -> str:
    return f"### {_code(path.name)}\n\n**refused**: {_code(str(error))}\n"


def _code(value: str) -> str:
    """Text from a bundle inside Markdown: as code, in which nothing is a link, a mention, markup or another cell."""
    return "`" + _line(value).replace("`", "'").replace("|", "¦") + "`"


def _line(value: str) -> str:
    """One line of what a terminal can print."""
    short = "".join(sign if sign.isprintable() else " " for sign in value)
    return short if len(short) <= 300 else short[:300] + "…"


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"
