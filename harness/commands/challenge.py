"""`harness challenge ACTION DIR`: Organise a challenge: rules, submissions, official ranking and pages.

    harness challenge init my-challenge --example
    harness challenge publish my-challenge
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.errors import BenchmarkError, nearest, plural
from benchmarks.formats.scorefile import listed, printable
from benchmarks.storage.files import write_atomically
from harness.challenge import ground, outcome, receipts, rulebook, setup, submissions
from harness.challenge import report as reports
from harness.challenge.ground import Ground
from harness.commands._arguments import add
from harness.commands._output import table, write_site
from harness.contract import dataset as contract
from harness.errors import BadConfig
from harness.published import results as published
from harness.results.exhibits import Grid
from harness.run.correlate import detectable_difference
from leaderboard import site
from leaderboard.render.text import wrapped

ROWS, COLUMNS, WIDEST = 40, 7, 200
"""Maximum rows, columns and width of a printed table."""

TERMINAL = {"team", "rank", "value", "95 % of the rank", "letters", "cluster"}
"""Columns of the official table that fit in a terminal."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("init", "template", "receive", "validate", "rank", "publish", "freeze"),
                        help="init: create a challenge; template: write the files for participants; receive: accept a "
                             "score file; validate: check everything; rank: make the official table; publish: also "
                             "draw the pages; freeze: close a phase before the final table")
    parser.add_argument("folder", type=Path, metavar="DIR",
                        help="folder of the challenge, or a shipped one: dstc10-track5, dstc11-track4 or "
                             "dstc12-track1 (init: copies its rules)")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE",
                        help="receive: the score file (give only FILE for a challenge in the current folder)")
    add(parser, "team NAME: receive: submitting team")
    add(parser, "column NAME: receive: column of the scores")
    add(parser, "primary: receive: mark as primary")
    add(parser, "phase NAME: phase (default: receive: that of the scored items; template: all with data; validate: "
                "all; rank, publish: all with submissions; freeze: required if several)")
    add(parser, "dry-run: receive: change nothing")
    add(parser, "undo: freeze: reopen the phase")
    add(parser, "allow-refused: exit with 0 if submissions are refused, and rank even if files changed since the "
                "freeze")
    add(parser, "example: init: include five fictional teams, one with a broken file")
    add(parser, "out DIR: rank, publish: parent of ranking/ and site/ (default: folder of the challenge)")


def run(args: argparse.Namespace) -> int:
    """Return 1 if a submission is refused after receipt, 2 if validation finds wrong rules, data or ratings, else 0."""
    if args.action == "init":
        return _init(args)
    if args.action == "receive":
        return _receive(args)
    folder = _folder(args.folder)
    if args.action == "template":
        return _template(folder, args)
    action = {"freeze": _freeze, "validate": _validate, "rank": _rank, "publish": _rank}[args.action]
    refused, known_problems, phases = 0, set[str](), _phases(folder, args)
    for phase in phases:
        try:
            refused += action(folder, phase, args)
        except (BadConfig, BenchmarkError) as error:
            if len(phases) == 1 and args.action != "validate":
                raise
            problems = getattr(error, "problems", (str(error),))
            refused += 1
            print(f"{phase or folder} cannot be ranked: {plural(len(problems), 'problem')}"
                  f"{', listed above' if known_problems.issuperset(problems) else ''}")
            _print_list(problem for problem in problems if problem not in known_problems)
            known_problems.update(problems)
    return 2 if known_problems and args.action == "validate" else 1 if refused and not args.allow_refused else 0


def _init(args: argparse.Namespace) -> int:
    folder, shipped = args.folder, _shipped()
    names = setup.init(folder, args.home, args.example)
    description = ("a copy of the shipped rules" if folder.resolve().name in shipped else
            f"a new challenge on the bundled sample (rules are shipped only for {', '.join(shipped)})")
    phases = rulebook.phases(folder)
    advice, actions = ("edit data, ratings and rules; then run", ("template", "validate")) if (
        phases[0].accepts_submissions) else ("run", ("publish",))
    print(wrapped(f"{folder}: {description}; the rules are in {folder / 'challenge.toml'}, "
                  f"{plural(len(names), 'file')} in all") + f"next: {advice}",
          *(f"harness challenge {action} {shlex.quote(str(folder))}" for action in actions), sep="\n    ")
    for rules in phases:
        for dataset in ground.load_datasets(rules, args.home) if rules.ready else ():
            print(f"{dataset.card.name}: {detectable_difference(dataset)}")
    return 0


def _template(folder: Path, args: argparse.Namespace) -> int:
    """Write the files for participants of one phase, else of all phases whose data exist."""
    phases = rulebook.phases(folder)
    chosen = [rulebook.read(folder, args.phase)] if args.phase else [
        rules for rules in phases if rules.ready] or list(phases)
    names = setup.template(folder, args.home, chosen)
    print(f"{folder}: written from {folder / 'challenge.toml'}: {', '.join(names)}")
    if not args.phase:
        _print_notes(f"{rules.phase} is left out: {line}" for rules in phases for line in ground.missing(rules))
    _print_notes(dict.fromkeys(line for rules in phases for line in _rating_notes(rules)))
    return 0


def _freeze(folder: Path, phase: str, args: argparse.Namespace) -> int:
    """Freeze a phase; return the number of submissions that are left out."""
    now = datetime.datetime.now(datetime.UTC)
    if args.undo:
        receipts.unfreeze(folder, phase, now)
        print(f"{phase or folder}: no longer frozen; next: `publish`")
        return 0
    count, left_out = receipts.freeze(folder, args.home, phase, now)
    closes = rulebook.read(folder, phase).closes
    _print_refusals(left_out)
    if closes and now.date() <= closes:
        print(wrapped(f"note: {phase or folder} was to close on {closes} and no longer accepts submissions. To reopen "
                      "it, run `freeze` again with --undo"), end="")
    print(f"{phase or folder}: {plural(count, 'submission')} frozen, {len(left_out)} left out; next: `publish`")
    return len(left_out)


def _receive(args: argparse.Namespace) -> int:
    folder, file = (args.folder, args.file) if args.file else (Path(), args.folder)
    if not args.team:
        raise BadConfig("receive requires --team NAME")
    if not file.exists():
        raise BadConfig(f"{file}: no such file; usage: harness challenge receive DIR FILE --team NAME")
    name, reasons, remarks = receipts.receive(folder, args.home, file, args.team, phase=args.phase, column=args.column,
                                              primary=args.primary, now=datetime.datetime.now(datetime.UTC),
                                              dry=args.dry_run)
    state = "refused" if reasons else "valid:" if args.dry_run else "received"
    recorded = "dry run, not recorded" if args.dry_run else f"recorded in {folder / receipts.FILE}"
    print(f"{state} {printable(name)}; {recorded}")
    _print_list((*reasons, *remarks))
    return 1 if reasons else 0


def _phases(folder: Path, args: argparse.Namespace) -> list[str]:
    """Return the phases to process; [""] for a challenge without phases."""
    all_rules = rulebook.phases(folder)
    if args.phase or len(all_rules) == 1:
        return [args.phase or all_rules[0].phase]
    if args.action == "freeze":
        raise BadConfig(f"name the phase to freeze with --phase: {', '.join(rules.phase for rules in all_rules)}")
    log = receipts.read(folder)
    begun = [rules.phase for rules in all_rules
             if args.action == "validate" or rules.inbox.is_dir() or log.receipts(rules.phase)]
    if not begun and not all_rules[0].published:
        raise BadConfig(f"{folder}: no phase has submissions in submissions/PHASE/TEAM/N/")
    return begun or [""]


def _shipped() -> dict[str, Path]:
    return {folder.name: folder for folder in sorted(rulebook.SHIPPED.iterdir()) if folder.is_dir()}


def _folder(path: Path) -> Path:
    """Find a challenge by its folder, else by the name of a shipped one."""
    shipped = _shipped()
    if path.is_dir() and ((path / "challenge.toml").exists() or str(path) not in shipped):
        return path
    if str(path) in shipped:
        return shipped[str(path)]
    raise BadConfig(f"{path}: no such folder or shipped challenge; {nearest(str(path), shipped)}")


def _validate(folder: Path, phase: str, args: argparse.Namespace) -> int:
    """Print targets, remarks and the state of every submission; return the number of refused and unusable files."""
    rules = rulebook.read(folder)
    if not rules.accepts_submissions:
        print(f"{folder.name}: published results have no submissions to validate")
        return 0
    checked = outcome.read(folder, args.home, phase)
    accepted = checked.entries.entries
    counted = checked.chosen if accepted else []
    print(checked.rules.name)
    _print_list(ranked.description for ranked in checked.ground.datasets)
    _print_notes((*checked.ground.partial, *_rule_remarks(checked.rules, checked.ground)))
    for index, entry in enumerate(accepted):
        print(f"{'counts  ' if index in counted else 'accepted'}  {entry.name}")
        _print_list(entry.remarks)
    _print_refusals((*checked.refused, *checked.at_receipt))
    unusable = [f"{outcome.BASELINES}/{name}: {'; '.join(file.reasons)}"
                for name, file in checked.baseline_files.items() if file.reasons]
    _print_notes((*checked.similar, *unusable))
    print(f"{len(accepted)} accepted, {submissions.refused_count(checked.refused, checked.at_receipt)}")
    return len(checked.refused) + len(unusable)


def _rule_remarks(rules: rulebook.Rulebook, ground: Ground) -> Iterator[str]:
    if rules.changed:
        yield f"changed since the freeze: {', '.join(rules.changed)}"
    if rules.counts == "last" and rules.submissions:
        yield f"the last valid submission among a team's first {rules.submissions} counts; later ones are refused"
    if ground.shared:
        hidden = f", which reveals items hidden by {rules.phase}" if rules.public else ""
        yield f"{len(ground.shared)} items are also in another phase{hidden}: {listed(ground.shared)}"
    yield from _rating_notes(rules)
    custom = {dataset.card.name for dataset in rules.custom}
    yield from (f"{ranked.name}: {line}" for ranked in ground.datasets if ranked.name in custom
                for line in contract.remarks(ranked.dataset, {}))


def _rating_notes(rules: rulebook.Rulebook) -> Iterator[str]:
    yield from (f"{file} contains ratings: do not publish it. `template` lists it in .gitignore until you move them "
                "to the file of `ratings`" for file in ground.with_ratings(rules))


def _print_refusals(refused: Iterable[submissions.Refused]) -> None:
    for submission in sorted(refused, key=lambda submission: submission.name):
        print(f"refused   {submission.name}")
        _print_list(submission.reasons)


def _print_notes(lines: Iterable[str]) -> None:
    print(*(wrapped(f"note: {line}") for line in lines), sep="", end="")


def _print_list(reasons: Iterable[str]) -> None:
    print(*(wrapped(reason, indent=" " * 11, start=f"{' ' * 9}- ") for reason in reasons), sep="", end="")


def _rank(folder: Path, phase: str, args: argparse.Namespace) -> int:
    """Rank, and with `publish` draw the pages; return the number of refused submissions."""
    rules = rulebook.read(folder, phase)
    out, ranked, unscored = args.out or folder, None, list[str]()
    if rules.published_only:
        out = args.out or Path(folder.name)
        report, exhibit = published.results(rules.published, rules.title, f"harness challenge publish {folder.name}")
        reports.write_published(report, exhibit, out / "ranking")
    elif (ranked := outcome.read(folder, args.home, phase)).rules.blind and not ranked.rules.final:
        report, exhibit = reports.receipts_only(ranked)
        reports.write_published(report, exhibit, out / "ranking" / phase)
    else:
        if ranked.rules.changed and not args.allow_refused:
            raise BadConfig(f"{rules.name}: changed since the freeze: {', '.join(ranked.rules.changed)}; restore it, "
                            "or rank anyway with --allow-refused; the page will say so")
        report, exhibit = reports.write(ranked, out / "ranking" / phase)
        unscored = [f"the baseline {baseline.name} has no value: {baseline.reason}" for baseline in ranked.baselines
                    if baseline.reason]
    print(wrapped(f"{exhibit.title}: {exhibit.lead}", indent=""), end="")
    for grid in exhibit.grids:
        if rules.published_only or grid.name == "official":
            _print_grid(grid)
    _print_refusals((*ranked.refused, *ranked.at_receipt) if ranked else ())
    _print_notes((*ranked.similar, *unscored) if ranked else ())
    print(f"written to {(out / 'ranking' / phase).resolve()}")
    if args.action == "publish":
        pages = out / "site"
        write_site(site.site(dataclasses.replace(report, exhibits=(exhibit,))), pages / phase)
        names = sorted(path.parent.name for path in pages.glob("*/challenge.html"))
        for name, content in site.list_of_phases(rules.title, names).items() if phase else ():
            write_atomically(pages / name, content)
        print(f"leaderboard: {(pages / phase / 'challenge.html').resolve()}")
    return len(ranked.refused) if ranked else 0


def _print_grid(grid: Grid) -> None:
    """Print the rows of a table that fit in a terminal, and of the official table only the columns that fit."""
    columns = [index for index, name in enumerate(grid.head) if grid.name != "official" or name in TERMINAL][:COLUMNS]
    head, *rows = ([row[index] for index in columns] for row in (grid.head, *grid.rows[:ROWS]))
    print(table(grid.caption, head, grid.data, rows, WIDEST))
    remainder = f"; {len(grid.rows) - ROWS} more rows" if len(grid.rows) > ROWS else ""
    print(f"all columns: {grid.name.replace(' ', '-').casefold()}.csv{remainder}")
