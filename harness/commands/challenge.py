"""`harness challenge ACTION DIR`: run a challenge: its rules, its submissions, the official table and its pages."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import html
import shlex
import textwrap
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

from benchmarks.errors import BenchmarkError, nearest
from benchmarks.formats.scorefile import listed
from benchmarks.storage.files import write_atomically
from harness.challenge import entries, outcome, published, ranking, receipts, rulebook, setup, submissions
from harness.challenge import folder as written
from harness.challenge.ground import Ground
from harness.commands._output import table, write_site
from harness.contract import dataset as contract
from harness.errors import BadConfig
from harness.results.rows import Grid
from leaderboard import site
from leaderboard.blocks.tables import Kind

MOST = 40
"""As many lines of a table are printed."""

WIDTH = 100
PHASES = ('<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>'
          "<ul>{phases}</ul>\n")
"""The page that leads to those of the phases."""
TERMINAL: dict[str, Kind] = {"team": "stub", "rank": "rank", "value": "number", "95 % of the rank": "text",
                             "letters": "text", "cluster": "number"}
"""The columns of the official table that a terminal has room for."""


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which challenge."""
    parser.add_argument("action", choices=("init", "template", "receive", "validate", "rank", "publish", "freeze"),
                        help="init: write a new one; template: write what participants get; receive: take in a score "
                             "file; validate: look at all of it; rank: make the official table; publish: draw the "
                             "pages too; freeze: end a phase, for the final table")
    parser.add_argument("folder", type=Path, metavar="DIR",
                        help="the folder of the challenge, or the name of one that is shipped: dstc10-track5")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE",
                        help="receive: the score file; without DIR for the challenge in the current folder")
    parser.add_argument("--team", default="", metavar="NAME", help="receive: whose file it is")
    parser.add_argument("--column", default="", metavar="NAME", help="receive: the column of the scores")
    parser.add_argument("--phase", default="", metavar="NAME",
                        help="which phase (default: receive: whose items the file scores; validate: each; else each "
                             "with submissions)")
    parser.add_argument("--dry-run", action="store_true", help="receive: say what would happen, and note nothing")
    parser.add_argument("--allow-refused", action="store_true",
                        help="end with 0 though a submission is refused, and rank what was changed since the freeze")
    parser.add_argument("--example", action="store_true",
                        help="init: with five made-up teams, one of them with a broken file")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="rank, publish: where ranking/ and site/ go (default: the folder of the challenge)")


def run(args: argparse.Namespace) -> int:
    """Do it. 0: done; 1: a submission is refused; 2: validate: the rules, data or ratings are wrong."""
    if args.action == "init":
        folder = args.folder
        print(f"{folder}: {len(setup.init(folder, args.home, args.example))} files; the rules are in "
              f"{folder / 'challenge.toml'}")
        print("once data, ratings and rules are yours: harness challenge template, then validate, "
              f"{shlex.quote(str(folder))}")
        return 0
    if args.action == "receive":
        return _receive(args)
    folder = _folder(args.folder)
    if args.action == "template":
        names = setup.template(folder, args.home)
        print(f"{folder}: written anew from {folder / 'challenge.toml'}: {', '.join(names)}")
        return 0
    refused, faults = 0, dict[str, str]()
    phases = _phases(folder, args)
    for phase in phases:
        try:
            refused += _of_phase(folder, phase, args)
        except (BadConfig, BenchmarkError) as error:
            if len(phases) == 1 and args.action != "validate":
                raise
            own = getattr(error, "problems", (str(error),))
            refused += 1
            print(f"skipped {phase or folder}: {len(own)} fault{'s' * (len(own) > 1)}"
                  f"{', listed above' if faults.keys() >= set(own) else ''}")
            _list(problem for problem in own if problem not in faults)
            faults |= dict.fromkeys(own, phase)
    return 2 if faults and args.action == "validate" else 1 if refused and not args.allow_refused else 0


def _of_phase(folder: Path, phase: str, args: argparse.Namespace) -> int:
    """Freeze, validate or rank a phase; how many submissions are refused."""
    if args.action == "freeze":
        now = datetime.datetime.now(datetime.UTC)
        count, closes = receipts.freeze(folder, args.home, phase, now), rulebook.read(folder, phase).closes
        if closes and now.date() <= closes:
            print(f"note: {phase or folder} was to close on {closes}; nothing more is received for it. To undo this, "
                  f"delete the last line of {folder / receipts.FILE}")
        print(f"{phase or folder}: {count} submissions are frozen; from now on `publish` makes the final table")
        return 0
    return _validate(folder, phase, args.home) if args.action == "validate" else _rank(folder, phase, args)


def _receive(args: argparse.Namespace) -> int:
    folder, file = (args.folder, args.file) if args.file else (Path(), args.folder)
    if not args.team:
        raise BadConfig("receive needs the team whose file it is: --team NAME")
    if not file.exists():
        raise BadConfig(f"{file}: no such file; harness challenge receive DIR FILE --team NAME")
    name, reasons = receipts.receive(folder, args.home, file, args.team, phase=args.phase, column=args.column,
                                     now=datetime.datetime.now(datetime.UTC), dry=args.dry_run)
    done = f"{'would be ' if args.dry_run else ''}{'refused' if reasons else 'received'}"
    noted = "nothing is noted" if args.dry_run else f"noted in {folder / receipts.FILE}"
    print(f"{done} {submissions.shown(name)}; {noted}")
    _list(reasons)
    return 1 if reasons else 0


def _phases(folder: Path, args: argparse.Namespace) -> list[str]:
    """The phase that is named, each to validate, else each with submissions; "" for a challenge without phases."""
    every = rulebook.phases(folder)
    if args.phase or len(every) == 1:
        return [args.phase or every[0].phase]
    if args.action == "freeze":
        raise BadConfig(f"say which phase to freeze by --phase: {', '.join(rules.phase for rules in every)}")
    log = receipts.read(folder)
    begun = [rules.phase for rules in every
             if args.action == "validate" or rules.inbox.is_dir() or log.receipts(rules.phase)]
    if not begun:
        raise BadConfig(f"{folder}: no phase has submissions; they lie in submissions/PHASE/TEAM/N/")
    return begun


def _folder(given: Path) -> Path:
    """A challenge by its folder, else by the name of one that is shipped."""
    shipped = {one.name: one for one in (files("benchmarks") / "challenges").iterdir() if one.is_dir()}
    if given.is_dir() and ((given / "challenge.toml").exists() or str(given) not in shipped):
        return given
    if str(given) in shipped:
        return Path(str(shipped[str(given)]))
    raise BadConfig(f"{given}: no such folder, and no challenge of that name is shipped; "
                    f"{nearest(str(given), shipped)}")


def _validate(folder: Path, phase: str, home: Path) -> int:
    """Print what is ranked on, what to look at, and what becomes of every submission; how many are refused."""
    if rulebook.read(folder).published:
        print(f"{folder.name}: published results, without submissions; nothing to validate")
        return 0
    rules, ground, taken, values = outcome.validated(folder, home, phase)
    print(rules.name)
    _list(field.about for field in ground.fields)
    for line in (*ground.partial, *_remarks(rules, ground)):
        print(f"note: {line}")
    counting = ranking.chosen_of(rules, ground, taken.whole, values)[-1] if taken.whole.entries else []
    for place, entry in enumerate(taken.whole.entries):
        print(f"{'counts ' if place in counting else 'taken  '}  {entry.name}")
        _list(entry.told)
    _refusals(taken.refused)
    for line in entries.alike(taken.whole):
        print(f"note: {line}")
    print(f"{len(taken.whole.entries)} taken, {submissions.counted(taken.refused, taken.at_receipt)}")
    return len(taken.refused)


def _remarks(rules: rulebook.Rulebook, ground: Ground) -> Iterator[str]:
    """What an organiser should look at."""
    if rules.changed:
        yield f"changed since the freeze: {', '.join(rules.changed)}"
    if rules.counts == "last" and rules.submissions:
        yield (f"the last valid one of a team's first {rules.submissions} counts; what it hands in after these is "
               "refused and replaces nothing")
    if ground.shared:
        hidden = f", where the part that {rules.phase} hides is open" if rules.public else ""
        yield f"{len(ground.shared)} items are in another phase too{hidden}: {listed(ground.shared)}"
    own = {dataset.card.name for dataset in rules.own}
    yield from (f"{field.name}: {line}" for field in ground.fields if field.name in own
                for line in contract.remarks(field.dataset, {}))


def _refusals(refused: Iterable[submissions.Refused]) -> None:
    for one in sorted(refused, key=lambda one: one.name):
        print(f"refused  {one.name}")
        _list(one.reasons)


def _list(reasons: Iterable[str]) -> None:
    for reason in reasons:
        print(textwrap.fill(reason, WIDTH, initial_indent="         - ", subsequent_indent="           ",
                            break_on_hyphens=False))


def _rank(folder: Path, phase: str, args: argparse.Namespace) -> int:
    """Rank, and draw the pages if asked for; how many submissions are refused."""
    rules = rulebook.read(folder, phase)
    out, ranked = args.out or folder, None
    if rules.published:
        out = args.out or Path(folder.name)
        report, shown = published.drawn(rules)
        written.write_published(report, shown, out / "ranking")
    else:
        ranked = outcome.outcome(folder, args.home, phase)
        if ranked.rules.changed and not args.allow_refused:
            raise BadConfig(f"{rules.name}: changed since the freeze: {', '.join(ranked.rules.changed)}; restore it, "
                            "or rank with --allow-refused, and the page says so")
        report, shown = written.write(ranked, out / "ranking" / phase)
    print(f"{rules.name}: {shown.lead}")
    for grid in shown.grids:
        if grid.name == "official":
            _show(grid)
        elif grid.name == "winners":
            print("\n".join(f"{board}; {rule}: {first} ({value})" for board, rule, first, value, *_ in grid.rows))
    _refusals(ranked.refused if ranked else ())
    for line in ranked.alike if ranked else ():
        print(f"note: {line}")
    print(f"kept in {(out / 'ranking' / phase).resolve()}")
    if args.action == "publish":
        write_site(site.site(dataclasses.replace(report, exhibits=(shown,))), out / "site" / phase)
        if phase:
            drawn = sorted(path.parent.name for path in (out / "site").glob("*/challenge.html"))
            write_atomically(out / "site" / "index.html", PHASES.format(title=html.escape(rules.title), phases="".join(
                f'<li><a href="{name}/challenge.html">{name}</a>' for name in drawn)).encode())
        print(f"leaderboard: {(out / 'site' / phase / 'challenge.html').resolve()}")
    return len(ranked.refused) if ranked else 0


def _show(grid: Grid) -> None:
    """Print the first rows and columns of a table, as many as a terminal has room for."""
    columns = [place for place, name in enumerate(grid.head) if name in TERMINAL]
    heads: list[tuple[str, Kind]] = [(name, TERMINAL[name]) for name in grid.head if name in TERMINAL]
    print(table(grid.caption, heads, grid.data, [[row[place] for place in columns] for row in grid.rows[:MOST]]))
    more = f"; it has {len(grid.rows) - MOST} more rows" if len(grid.rows) > MOST else ""
    print(f"submissions and targets: {grid.name}.csv{more}")
