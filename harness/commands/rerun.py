"""`harness rerun REPORT`: repeat the run behind a report, and say what differs."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from benchmarks import registry as datasets
from benchmarks.errors import BadStore
from benchmarks.storage.store import ratings_fingerprint
from harness import own
from harness.commands import run as command
from harness.commands._arguments import MODELS, add
from harness.errors import BadConfig
from harness.results import differences, files
from harness.results.differences import TableDifference
from harness.results.rows import Results
from harness.run import entries, environment
from harness.run.plan import Plan, load
from harness.run.prepare import UNSAID, prepare
from harness.run.settings import Settings, settings
from harness.run.workspace import Workspace
from leaderboard.model import causes
from metrics import paths

DIGEST = "ratings sha256"


class _CommandParser(argparse.ArgumentParser):
    """Reads the command of a report."""

    def error(self, message: str) -> NoReturn:
        """Say in one line what is not known here."""
        raise BadConfig(f"the command of the report is not one of this harness: {message}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Which report, and what it does not hold: where files are, and who scores."""
    parser.add_argument("report", type=Path, metavar="REPORT", help="the results of a run, or the report in them")
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("rerun"),
                        help="scores, report and site of the repetition go here (default: ./rerun)")
    parser.add_argument("--ratings", type=Path, metavar="FILE", help="the private ratings, where the run had some")
    parser.add_argument("--from", dest="folders", type=Path, action="append", default=[], metavar="DIR",
                        help="where files and folders that the run read are now: metrics, models, cards of datasets; "
                             "may be repeated (default: the working folder)")
    add(parser, *MODELS)
    command.configure_workers(parser)


def run(args: argparse.Namespace) -> int:
    """Repeat and compare. 0: every number is what it was; 1: some are not."""
    before = files.read(args.report)
    if args.out.resolve() in (args.report.resolve(), args.report.resolve().parent):
        raise BadConfig(f"--out {args.out}: holds the report that is to be repeated; name another folder")
    requested = _settings(before, args)
    plan, work = prepare(requested)
    for line in _differs_already(before, plan, work):
        print(f"not as it was: {line}", file=sys.stderr)
    results = command.carry_out(plan, work, requested)
    work.progress.terminal.line(work.progress.summary())
    scored = work.progress.scored
    print(f"repeated: {requested.out.resolve()}; pairs of metric and dataset: {scored} scored, "
          f"{len(results.timings) - scored} kept from an earlier repetition there")
    drifts = differences.drifts(before, results)
    print("\n".join(map(_line, drifts)))
    if all(drift.equal for drift in drifts):
        return 0
    flags = shlex.join(("--out", str(args.out), "--against", str(args.report)))
    print(f"`harness publish {flags}` draws every change")
    print(_cause(before, results))
    return 1


def _settings(before: Results, args: argparse.Namespace) -> Settings:
    """The settings in the command of the results, with the paths of this machine in place of file names."""
    words = shlex.split(before.run.command)
    if words[:2] != ["harness", "run"]:
        raise BadConfig(f"{args.report}: was not made by `harness run` but by `{before.run.command}`; repeat that")
    parser = _CommandParser(prog="harness run", add_help=False)
    command.configure(parser)
    repeated = parser.parse_args(words[2:])
    if strange := sorted(name for name in (*UNSAID, "config") if getattr(repeated, name, None) is not None):
        raise BadConfig(f"{args.report}: its command says --{strange[0].replace('_', '-')}, which `harness run` never "
                        "writes there; it is not repeated")
    digest = before.run.options.get(DIGEST)
    if digest and args.ratings is None:
        raise BadConfig(f"{args.report}: the run had private ratings; name their file with --ratings")
    if args.ratings and hashlib.sha256(args.ratings.read_bytes()).hexdigest() != digest:
        raise BadConfig(f"--ratings {args.ratings}: not the file of that run" if digest else
                        f"--ratings {args.ratings}: the run had no private ratings")
    for name, value in vars(args).items():
        if value is not None:
            setattr(repeated, name, value)
    return _placed(settings(repeated), args)


def _placed(requested: Settings, args: argparse.Namespace) -> Settings:
    """The settings with the paths that files, folders and cards of datasets have now."""
    places = [*args.folders, Path()]
    try:
        values: dict[str, Any] = {name: tuple(paths.placed(each, places) for each in getattr(requested, name))
                                  for name in ("metric", "with_")}
        values |= {name: paths.placed(getattr(requested, name), places) for name in ("encoder", "lm", "vectors")}
        if requested.reuse:
            values["reuse"] = Path(paths.placed(f"./{requested.reuse}", places))
    except FileNotFoundError as error:
        raise BadConfig(f"{args.report}: the run read {error}, which is not in {_listed(places)}; name its folder with "
                        "--from") from error
    cards = {name: str(card) for name in requested.dataset if name not in datasets.built_in()
             for place in reversed(places) if (card := own.find(name, place))}
    if lacking := next((name for name in requested.dataset if name not in {*datasets.names(), *cards}), None):
        raise BadConfig(f"{args.report}: the run had a dataset {lacking!r}, which is not here; `harness import` its "
                        "card, or name with --from the folder where it is")
    return replace(requested, dataset=tuple(cards.get(name, name) for name in requested.dataset), **values)


def _listed(places: Sequence[Path]) -> str:
    return ", ".join(str(place.resolve()) for place in places)


def _differs_already(before: Results, plan: Plan, work: Workspace) -> Iterator[str]:
    """What differs before anything is scored: code, packages, the machine, the items."""
    now = environment.facts(before.run.seed, str(work.models.machine), {}, "")
    for cause in causes.environment(before.run, now):
        yield f"{cause.name}: {cause.old} then, {cause.new} now"
    known = {entry.name: entry for entry in before.datasets}
    for card in plan.cards:
        with contextlib.suppress(BadStore):  # reported when the run comes to it
            dataset = load(card, work.home, plan.selection)
            if dataset is None or card.name not in known:
                continue
            old = known[card.name]
            if dataset.fingerprint != old.fingerprint:
                yield f"items of {card.name}: {old.origin} then, {dataset.origin} now, and not the same"
            elif DIGEST not in before.run.options and old.ratings_fingerprint != ratings_fingerprint(dataset.ratings):
                yield f"ratings of {card.name}: not the same"
    signatures = {entry.name: entry.signature for entry in before.metrics}
    for chosen in plan.chosen:
        entry = entries.metric_entry(chosen, work.models)
        for cause in causes.signature_causes(signatures.get(entry.name, entry.signature), entry.signature):
            yield f"{entry.name}, {cause.name}: {cause.old or 'none'} then, {cause.new or 'none'} now"


def _line(drift: TableDifference) -> str:
    if drift.equal:
        return f"{drift.table}: {drift.common} rows, all equal"
    text = f"{drift.table}: {len(drift.differ)} of {drift.common} rows differ"
    if drift.where:
        text += f", most by {drift.largest:.3g}: {', '.join(drift.where)}"
    return text + f"; {len(drift.gone)} are gone, {len(drift.new)} are new"


def _cause(before: Results, report: Results) -> str:
    """What differs between the runs, those things first that a number depends on by itself."""
    found = causes.causes(before, report)
    own = [cause for rows in (*found.datasets.values(), *found.metrics.values()) for cause in rows]
    if likely := causes.summary([*own, *found.every]) or causes.summary(found.run):
        return f"likely cause: {likely}"
    return "likely cause: " + ("code that no commit names" if found.unsure else "none is known; look at the machine")
