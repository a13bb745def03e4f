"""`harness challenge ACTION DIR`: run a challenge: its rules, its submissions, the official table and its pages."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import itertools
import re
import shlex
import textwrap
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from benchmarks.errors import nearest
from harness.challenge import entries, outcome, published, ranking, receipts, rulebook, setup, submissions
from harness.challenge import folder as written
from harness.commands._output import write_site
from harness.errors import BadConfig
from harness.results.rows import Grid
from leaderboard import site
from leaderboard.render.text import plain

MOST = 40
"""As many lines of a table are printed."""

WIDTH = 100
HEAD, WRAP, REASON = 16, 32, 64
"""Characters at which a heading, a text beside others and a reason to refuse go on in the next line."""


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which challenge."""
    parser.add_argument("action", choices=("init", "template", "receive", "validate", "rank", "publish", "freeze"),
                        help="init: write a new one; template: write what participants get; receive: take in a score "
                             "file; validate: look at every submission; rank: make the official table; publish: draw "
                             "the pages too; freeze: end a phase, for the final table")
    parser.add_argument("folder", type=Path, metavar="DIR",
                        help="the folder of the challenge, or the name of one that is shipped: dstc10-track5")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE",
                        help="receive: the score file; without DIR for the challenge in the current folder")
    parser.add_argument("--team", default="", metavar="NAME", help="receive: whose file it is")
    parser.add_argument("--column", default="", metavar="NAME", help="receive: the column of the scores")
    parser.add_argument("--phase", default="", metavar="NAME",
                        help="which phase (default: receive: the one that is open; else each with submissions)")
    parser.add_argument("--allow-refused", action="store_true", help="end with 0 though a submission is refused")
    parser.add_argument("--example", action="store_true",
                        help="init: with five made-up teams, one of them with a broken file")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where ranking/ and site/ go (default: the folder of the challenge)")


def run(args: argparse.Namespace) -> int:
    """Do it. 0: done; 1: a submission is refused."""
    if args.action == "init":
        folder = args.folder
        print(f"{folder}: {len(setup.init(folder, args.home, args.example))} files; the rules are in "
              f"{folder / 'challenge.toml'}")
        print("submissions lie in submissions/TEAM/N/, each with one score file")
        print(f"once the rules are yours: harness challenge template {shlex.quote(str(folder))}")
        return 0
    if args.action == "receive":
        return _receive(args)
    folder = _folder(args.folder)
    if args.action == "template":
        names = setup.template(folder, args.home)
        print(f"{folder}: written anew from {folder / 'challenge.toml'}: {', '.join(names)}")
        return 0
    refused = 0
    for phase in _phases(folder, args):
        if args.action == "freeze":
            count = receipts.freeze(folder, args.home, phase, datetime.datetime.now(datetime.UTC))
            print(f"{phase or folder}: {count} submissions are frozen; from now on `publish` makes the final table")
        elif args.action == "validate":
            refused += _validate(folder, phase, args.home)
        else:
            refused += _rank(folder, phase, args)
    return 1 if refused and not args.allow_refused else 0


def _receive(args: argparse.Namespace) -> int:
    folder, file = (args.folder, args.file) if args.file else (Path(), args.folder)
    if not args.team:
        raise BadConfig("receive needs the team whose file it is: --team NAME")
    name, reasons = receipts.receive(folder, args.home, file, args.team, phase=args.phase, column=args.column,
                                     now=datetime.datetime.now(datetime.UTC))
    print(f"{'refused ' if reasons else 'received'} {submissions.shown(name)}; noted in {folder / receipts.FILE}")
    _list(reasons)
    return 1 if reasons else 0


def _phases(folder: Path, args: argparse.Namespace) -> list[str]:
    """The phase that is named, or each that has submissions; "" for a challenge without phases."""
    every = rulebook.phases(folder)
    if args.phase or len(every) == 1:
        return [args.phase or every[0].phase]
    if args.action == "freeze":
        raise BadConfig(f"say which phase to freeze by --phase: {', '.join(rules.phase for rules in every)}")
    begun = [rules.phase for rules in every if rules.inbox.is_dir()]
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
    """Print what becomes of every submission; how many are refused."""
    if rulebook.read(folder).published:
        print(f"{folder.name}: published results, without submissions; nothing to validate")
        return 0
    rules, ground, taken, values = outcome.validated(folder, home, phase)
    print(f"{rules.name}: {', '.join(f'{one.name} ({len(one.dataset.items)} items)' for one in ground.fields)}")
    for line in ground.partial:
        print(f"note: {line}")
    if rules.counts == "last" and rules.submissions:
        print(f"note: the last valid one of a team's first {rules.submissions} counts; what it hands in after these "
              "is refused and replaces nothing")
    counting = ranking.chosen_of(rules, ground, taken.whole, values)[-1] if taken.whole.entries else []
    for place, entry in enumerate(taken.whole.entries):
        missing = "".join(f"; {count} of {name} without a score" for name, count in entry.missing.items())
        print(f"{'counts ' if place in counting else 'taken  '}  {entry.name}{missing}")
        _list(entry.told)
    for refused in sorted(taken.refused, key=lambda one: one.name):
        print(f"refused  {refused.name}")
        _list(refused.reasons)
    for line in entries.alike(taken.whole):
        print(f"note: {line}")
    print(f"{len(taken.whole.entries)} taken, {len(taken.refused)} refused")
    return len(taken.refused)


def _list(reasons: Iterable[str]) -> None:
    for reason in reasons:
        print(textwrap.fill(reason, WIDTH, initial_indent="         - ", subsequent_indent="           "))


def _rank(folder: Path, phase: str, args: argparse.Namespace) -> int:
    """Rank, and draw the pages if asked for; how many submissions are refused."""
    rules = rulebook.read(folder, phase)
    out, refused = args.out or folder, 0
    if rules.published:
        out = args.out or Path(folder.name)
        report, shown = published.drawn(rules)
        written.write_published(report, shown, out / "ranking")
    else:
        ranked = outcome.outcome(folder, args.home, phase)
        refused = len(ranked.refused)
        report, shown = written.write(ranked, out / "ranking" / phase)
    print(f"{rules.name}: {shown.lead}")
    for grid in shown.grids:
        if grid.name in ("official", "refused", "winners"):
            print(_text(grid))
    print(f"kept in {(out / 'ranking' / phase).resolve()}")
    if args.action == "publish":
        write_site(site.site(dataclasses.replace(report, exhibits=(shown,))), out / "site" / phase)
        print(f"leaderboard: {(out / 'site' / phase / 'challenge.html').resolve()}")
    return refused


def _text(grid: Grid) -> str:
    """A table for the terminal: nothing is cut. Long words wrap; columns for which there is no room are named below."""
    most = WRAP if len(grid.head) > 2 else REASON
    columns: list[list[list[str]]] = []
    sizes: list[int] = []
    for place, name in enumerate(grid.head):
        cells = [row[place] for row in grid.rows[:MOST]]
        lines = [textwrap.wrap(plain(cell), most) or [""] for cell in cells]
        widest = max((len(line) for cell in lines for line in cell), default=0)
        lines.insert(0, textwrap.wrap(plain(name), max(widest, HEAD)) or [""])  # no wider than it must be
        sizes.append(max(len(line) for cell in lines for line in cell))
        words = not place or any(re.search(r"[^\W\d]{3}", plain(cell)) for cell in cells)
        columns.append([[f"{line:{'<' if words else '>'}{sizes[-1]}}" for line in cell] for cell in lines])
    fitting = max(1, sum(sum(sizes[:count]) + 2 * (count - 1) <= WIDTH for count in range(1, len(sizes) + 1)))
    blanks = [" " * size for size in sizes]
    head, *rows = [["  ".join(part or blank for part, blank in zip(parts, blanks, strict=False)).rstrip()
                    for parts in itertools.zip_longest(*cells)] for cells in zip(*columns[:fitting], strict=True)]
    below = [textwrap.fill(f"no room here for: {'; '.join(map(plain, grid.head[fitting:]))}; {grid.name}.csv has them",
                           WIDTH)] if fitting < len(columns) else []
    below += [f"... and {len(grid.rows) - MOST} more"] if len(grid.rows) > MOST else []
    body = [line for row in rows for line in row]
    return "\n".join([textwrap.fill(plain(f"{grid.caption}. Data: {grid.data}."), WIDTH), "", *head,
                      "-" * max(map(len, (*head, *body))), *body, *below, ""])
