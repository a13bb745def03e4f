"""Repeat the run behind a results folder, for `harness verify`, and report the differences and their likely cause."""

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
    def error(self, message: str) -> NoReturn:
        raise BadConfig(f"the command recorded in the results is not supported: {message}")


def repeat(folder: Path, args: argparse.Namespace) -> int:
    """Run again and compare; return 1 if a number differs, else 0."""
    before = files.read(folder)
    if args.out.resolve() in (folder.resolve(), folder.resolve().parent):
        raise BadConfig(f"--out {args.out}: holds the results to be verified; name another folder")
    requested = _settings(folder, before, args)
    plan, work = prepare(requested)
    for line in _changed_inputs(before, plan, work):
        print(f"changed: {line}", file=sys.stderr)
    results = command.carry_out(plan, work, requested)
    work.progress.terminal.line(work.progress.summary())
    scored = work.progress.scored
    print(f"written to {requested.out.resolve()}; pairs of metric and dataset: {scored} scored, "
          f"{len(results.timings) - scored} reused from an earlier verification there")
    drifts = differences.drifts(before, results)
    print("\n".join(map(_line, drifts)))
    if all(drift.equal for drift in drifts):
        return 0
    flags = shlex.join(("--out", str(args.out), "--against", str(folder)))
    print(f"`harness publish {flags}` shows every change")
    print(_cause(before, results))
    return 1


def _settings(folder: Path, before: Results, args: argparse.Namespace) -> Settings:
    """Return the settings of the recorded command, with file names replaced by paths on this machine."""
    words = shlex.split(before.run.command)
    if words[:2] != ["harness", "run"]:
        raise BadConfig(f"{folder}: made by `{before.run.command}`, not by `harness run`; it cannot be verified")
    parser = _CommandParser(prog="harness run", add_help=False)
    command.configure(parser)
    repeated = parser.parse_args(words[2:])
    if strange := sorted(name for name in (*UNSAID, "config") if getattr(repeated, name, None) is not None):
        raise BadConfig(f"{folder}: the recorded command has --{strange[0].replace('_', '-')}, which `harness run` "
                        "never records; refusing to run it")
    digest = before.run.options.get(DIGEST)
    if digest and args.ratings is None:
        raise BadConfig(f"{folder}: the run used private ratings; pass their file with --ratings")
    if args.ratings and hashlib.sha256(args.ratings.read_bytes()).hexdigest() != digest:
        raise BadConfig(f"--ratings {args.ratings}: not the file used by the run" if digest else
                        f"--ratings {args.ratings}: the run used no private ratings")
    repeated.columns = repeated.scale = None  # the home has the table as it was read
    for name, value in vars(args).items():
        if value is not None and name not in ("with_", "rescore"):  # both are for bundles
            setattr(repeated, name, value)
    return _with_local_paths(folder, settings(repeated), args.folders)


def _with_local_paths(folder: Path, requested: Settings, folders: Sequence[Path]) -> Settings:
    """Return the settings with files, folders and dataset cards replaced by their paths on this machine."""
    places = [*folders, Path()]
    try:
        values: dict[str, Any] = {name: tuple(paths.placed(each, places) for each in getattr(requested, name))
                                  for name in ("metric", "with_")}
        values |= {name: paths.placed(getattr(requested, name), places) for name in ("encoder", "lm", "vectors")}
        if requested.reuse:
            values["reuse"] = Path(paths.placed(f"./{requested.reuse}", places))
    except FileNotFoundError as error:
        searched = ", ".join(str(place.resolve()) for place in places)
        raise BadConfig(f"{folder}: the run read {error}, which is not in {searched}; pass its folder with "
                        "--from") from error
    cards = {name: str(card) for name in requested.dataset if name not in datasets.built_in()
             for place in reversed(places) if (card := own.find(name, place))}
    if lacking := next((name for name in requested.dataset if name not in {*datasets.names(), *cards}), None):
        raise BadConfig(f"{folder}: dataset {lacking!r} is not installed; `harness import` its card, or pass its "
                        "folder with --from")
    return replace(requested, dataset=tuple(cards.get(name, name) for name in requested.dataset), **values)


def _changed_inputs(before: Results, plan: Plan, work: Workspace) -> Iterator[str]:
    """Yield the differences of code, packages, machine and data that are known before scoring."""
    now = environment.facts(before.run.seed, str(work.models.machine), {}, "")
    for cause in causes.environment(before.run, now):
        yield f"{cause.name}: {cause.old} then, {cause.new} now"
    known = {entry.name: entry for entry in before.datasets}
    for card in plan.cards:
        with contextlib.suppress(BadStore):  # reported when the run loads it
            dataset = load(card, work.home, plan.selection)
            if dataset is None or card.name not in known:
                continue
            old = known[card.name]
            if dataset.fingerprint != old.fingerprint:
                yield f"items of {card.name} differ: {old.origin} then, {dataset.origin} now"
            elif DIGEST not in before.run.options and old.ratings_fingerprint != ratings_fingerprint(dataset.ratings):
                yield f"ratings of {card.name} differ"
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
        text += f"; the largest difference is {drift.largest:.3g}, in {', '.join(map(str, drift.where))}"
    return text + f"; {len(drift.gone)} are gone, {len(drift.new)} are new"


def _cause(before: Results, report: Results) -> str:
    """Name the likely cause of the differences; those that affect single numbers come first."""
    differences = causes.causes(before, report)
    specific = [cause for rows in (*differences.datasets.values(), *differences.metrics.values()) for cause in rows]
    if likely := causes.summary([*specific, *differences.shared]) or causes.summary(differences.run):
        return f"likely cause: {likely}"
    return "likely cause: " + ("uncommitted code" if differences.unsure else "unknown; perhaps the hardware")
