"""`harness rerun REPORT`: repeat the run behind a report, and tell what differs."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from benchmarks.errors import BadStore
from harness.commands import run as command
from harness.errors import BadConfig
from harness.run.settings import Settings, settings

if TYPE_CHECKING:
    from harness.results.differences import Drift
    from harness.results.rows import Results
    from harness.run.preparing import Context

NAME = "rerun"
HELP = "repeat the run behind a report, and tell what differs"
DIGEST = "ratings sha256"


class _Told(argparse.ArgumentParser):
    """Reads the command of a report."""

    def error(self, message: str) -> NoReturn:
        """Say in one line what is not known here."""
        raise BadConfig(f"the command of the report is not one of this harness: {message}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Which report, and what it cannot tell: where files are, and who scores."""
    parser.add_argument("report", type=Path, metavar="REPORT", help="the results of a run, or the report in them")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("rerun"),
                        help="scores, report and site of the repetition go here (default: ./rerun)")
    parser.add_argument("--ratings", type=Path, metavar="FILE", help="the private ratings, where the run had some")
    parser.add_argument("--tolerance", type=float, default=0.0, metavar="X",
                        help="numbers that differ by no more are the same (default: 0)")
    command.configure_models(parser)
    command.configure_workers(parser)


def run(args: argparse.Namespace) -> int:
    """Repeat and compare. 0: every number is what it was; 1: some are not."""
    from harness.commands._against import earlier, lines
    from harness.results import differences

    before = earlier(args.report)
    if before is None or args.out.resolve() in (args.report.resolve(), args.report.resolve().parent):
        raise BadConfig(f"--out {args.out}: holds the report that is to be repeated; name another folder")
    chosen = _settings(before, args)
    context = command.prepared(chosen)
    for line in _otherwise(before, context):
        print(f"not as it was: {line}", file=sys.stderr)
    report, found = command.carried_out(context, chosen)
    context.progress.line(context.seen.summary())
    print(f"repeated: {chosen.out.resolve()}; pairs of metric and dataset: {found.scored} scored, "
          f"{len(report.timings) - found.scored} kept from an earlier repetition there")
    drifts = differences.drifts(before, report, args.tolerance)
    if all(one.equal for one in drifts):
        print("\n".join(map(_shown, drifts)))
        return 0
    print("\n".join((*lines(before, report), "", *map(_shown, drifts), _cause(before, report))))
    return 1


def _settings(before: Results, args: argparse.Namespace) -> Settings:
    """What the run was told, by its own command, with what only this machine knows in place of the names of files."""
    words = shlex.split(before.run.command)
    if words[:2] != ["harness", "run"]:
        raise BadConfig(f"{args.report}: was not made by `harness run` but by `{before.run.command}`; repeat that")
    parser = _Told(prog="harness run", add_help=False)
    command.configure(parser)
    told = parser.parse_args(words[2:])
    if strange := sorted(name for name in (*command.UNTOLD, "config") if getattr(told, name, None) is not None):
        raise BadConfig(f"{args.report}: its command says --{strange[0].replace('_', '-')}, which `harness run` never "
                        "writes there; it is not repeated")
    _check_ratings(before, args)
    for name, value in vars(args).items():
        if value is not None:
            setattr(told, name, value)
    return settings(told)


def _check_ratings(before: Results, args: argparse.Namespace) -> None:
    digest = before.run.options.get(DIGEST)
    if digest and args.ratings is None:
        raise BadConfig(f"{args.report}: the run had private ratings; name their file with --ratings")
    if args.ratings and hashlib.sha256(args.ratings.read_bytes()).hexdigest() != digest:
        raise BadConfig(f"--ratings {args.ratings}: not the file of that run" if digest else
                        f"--ratings {args.ratings}: the run had no private ratings")


def _otherwise(before: Results, context: Context) -> Iterator[str]:
    """What is known to differ before anything is scored: code, packages, the machine, the items."""
    from harness.run import environment, plan
    from leaderboard.model.causes import environment as environment_causes

    now = environment.facts(before.run.seed, str(context.models.machine), {}, "")
    for cause in environment_causes(before.run, now):
        yield f"{cause.name}: {cause.old} then, {cause.new} now"
    told = {entry.name: entry for entry in before.datasets}
    for card in context.plan.cards:
        with contextlib.suppress(BadStore):  # told when the run comes to it
            dataset = plan.load(card, context.home, context.plan.selection)
            if dataset and card.name in told and dataset.fingerprint != told[card.name].fingerprint:
                yield f"items of {card.name}: {told[card.name].origin} then, {dataset.origin} now, and not the same"


def _shown(one: Drift) -> str:
    if one.equal:
        return f"{one.table}: {one.common} rows, all equal"
    text = f"{one.table}: {len(one.differ)} of {one.common} rows differ"
    if one.where:
        text += f", most by {one.largest:.3g}: {', '.join(one.where)}"
    return text + f"; {len(one.gone)} are gone, {len(one.new)} are new"


def _cause(before: Results, report: Results) -> str:
    """What differs between the runs, those things first that a number depends on by itself."""
    from leaderboard.model.causes import causes, summary

    found = causes(before, report)
    own = [cause for rows in (*found.datasets.values(), *found.metrics.values()) for cause in rows]
    if likely := summary([*own, *found.every]) or summary(found.run):
        return f"likely cause: {likely}"
    return "likely cause: " + ("code that no commit names" if found.unsure else "none is known; look at the machine")
