"""`harness challenge init|validate|rank|publish DIR`: run a challenge, from its rules to its pages."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.errors import nearest
from harness.errors import BadConfig

if TYPE_CHECKING:
    from harness.organising.rulebook import Rulebook
    from harness.results import Exhibit, Grid, Report

NAME = "challenge"
HELP = "run a challenge: its rules, its submissions, the official table and its pages"
MOST = 40
"""As many lines of a table are printed."""

WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which challenge."""
    parser.add_argument("action", choices=("init", "validate", "rank", "publish"),
                        help="init: write a new one; validate: look at every submission; rank: make the official "
                             "table; publish: rank, and draw the pages")
    parser.add_argument("folder", type=Path, metavar="DIR",
                        help="the folder of the challenge, or the name of one that is shipped: dstc10-track5")
    parser.add_argument("--example", action="store_true",
                        help="init: with five made-up teams, one of them with a broken file")
    parser.add_argument("--out", type=Path, metavar="DIR",
                        help="where ranking/ and site/ go (default: the folder of the challenge)")


def run(args: argparse.Namespace) -> int:
    """Do it. 0: done; validate 1: a submission is refused."""
    folder = args.folder if args.action == "init" else _folder(args.folder)
    if args.action == "init":
        return _init(folder, args)
    if args.action == "validate":
        return _validate(folder, args)
    report, shown, out = _ranked(folder, args)
    if args.action == "publish":
        _publish(report, shown, out / "site")
    return 0


def _folder(given: Path) -> Path:
    """A challenge by its folder, else by the name of one that is shipped."""
    from importlib.resources import files

    shipped = {one.name: one for one in (files("benchmarks") / "challenges").iterdir() if one.is_dir()}
    if given.is_dir() and ((given / "challenge.toml").exists() or str(given) not in shipped):
        return given
    if str(given) in shipped:
        return Path(str(shipped[str(given)]))
    raise BadConfig(f"{given}: no such folder, and no challenge of that name is shipped; "
                    f"{nearest(str(given), shipped)}")


def _init(folder: Path, args: argparse.Namespace) -> int:
    from harness.organising import setup

    written = setup.init(folder, args.home, args.example)
    print(f"{folder}: {len(written)} files; the rules are in {folder / 'challenge.toml'}")
    print("submissions lie in submissions/TEAM/N/, each with one score file")
    return 0


def _validate(folder: Path, args: argparse.Namespace) -> int:
    from harness.organising import outcome, rulebook

    if rulebook.read(folder).published:
        print(f"{folder.name}: published results, without submissions; nothing to validate")
        return 0
    rules, ground, taken = outcome.validated(folder, args.home)
    print(f"{rules.title}: {', '.join(f'{one.name} ({len(one.dataset.items)} items)' for one in ground.fields)}")
    for entry in taken.whole.entries:
        missing = "".join(f"; {count} of {name} without a score" for name, count in entry.missing.items())
        print(f"taken    {entry.name}{missing}{''.join(f'; {line}' for line in entry.told)}")
    for refused in sorted(taken.refused, key=lambda one: one.name):
        print(f"refused  {refused.name}")
        for reason in refused.reasons:
            print(textwrap.fill(reason, WIDTH, initial_indent="         - ", subsequent_indent="           "))
    print(f"{len(taken.whole.entries)} taken, {len(taken.refused)} refused")
    return 1 if taken.refused else 0


def _ranked(folder: Path, args: argparse.Namespace) -> tuple[Report, Exhibit, Path]:
    from harness.organising import folder as written
    from harness.organising import outcome, published, rulebook

    rules = rulebook.read(folder)
    if rules.published:
        out = args.out or Path(folder.name)
        report, shown = published.drawn(rules)
        written.write_published(report, shown, out / "ranking")
    else:
        out = args.out or folder
        report, shown = written.write(outcome.outcome(folder, args.home), out / "ranking")
    _print(rules, shown)
    print(f"kept in {(out / 'ranking').resolve()}")
    return report, shown, out


def _publish(report: Report, shown: Exhibit, folder: Path) -> None:
    import dataclasses

    from harness.commands._output import write_site
    from leaderboard import page

    write_site(page.site(dataclasses.replace(report, exhibits=(shown,))), folder)
    print(f"leaderboard: {(folder / 'challenge.html').resolve()}")


def _print(rules: Rulebook, shown: Exhibit) -> None:
    print(f"{rules.title}: {shown.lead}")
    for grid in shown.grids:
        if grid.name in ("official", "refused", "winners"):
            print(_text(grid))


def _text(grid: Grid) -> str:
    from leaderboard.render import text
    from leaderboard.tables import Cell, Group, Heading, Table

    rows = tuple(tuple(map(Cell, row[:7])) for row in grid.rows[:MOST])
    first, *others = grid.head[:7]
    headings = (Heading(first, "stub"), *(Heading(name, "number" if len(grid.head) > 2 else "text") for name in others))
    more = f"... and {len(grid.rows) - MOST} more\n" if len(grid.rows) > MOST else ""
    return text(Table(grid.name, grid.caption, headings, (Group(rows),), grid.data)) + more
