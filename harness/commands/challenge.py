"""`harness challenge init|template|validate|rank|publish DIR`: run a challenge, from its rules to its pages."""

from __future__ import annotations

import argparse
import re
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.errors import nearest
from harness.errors import BadConfig

if TYPE_CHECKING:
    from harness.challenge.rulebook import Rulebook
    from harness.results.rows import Exhibit, Grid, Results

NAME = "challenge"
HELP = "run a challenge: its rules, its submissions, the official table and its pages"
MOST = 40
"""As many lines of a table are printed."""

WIDTH = 100
HEAD, WRAP, REASON = 16, 32, 64
"""Characters at which a heading, a text beside others and a reason to refuse go on in the next line."""


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which challenge."""
    parser.add_argument("action", choices=("init", "template", "validate", "rank", "publish"),
                        help="init: write a new one; template: write template.csv and README.md for participants "
                             "anew from the rules; validate: look at every submission; rank: make the official "
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
    if args.action == "template":
        return _template(folder, args)
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
    from harness.challenge import setup

    written = setup.init(folder, args.home, args.example)
    print(f"{folder}: {len(written)} files; the rules are in {folder / 'challenge.toml'}")
    print("submissions lie in submissions/TEAM/N/, each with one score file")
    print(f"once the rules are yours: harness challenge template {shlex.quote(str(folder))}")
    return 0


def _template(folder: Path, args: argparse.Namespace) -> int:
    from harness.challenge import setup

    print(f"{folder}: written anew from {folder / 'challenge.toml'}: {', '.join(setup.template(folder, args.home))}")
    return 0


def _validate(folder: Path, args: argparse.Namespace) -> int:
    from harness.challenge import outcome, rulebook

    if rulebook.read(folder).published:
        print(f"{folder.name}: published results, without submissions; nothing to validate")
        return 0
    rules, ground, taken = outcome.validated(folder, args.home)
    print(f"{rules.title}: {', '.join(f'{one.name} ({len(one.dataset.items)} items)' for one in ground.fields)}")
    if rules.counts == "last" and rules.submissions:
        print(f"note: the last valid one of a team's first {rules.submissions} counts; what it hands in after these "
              "is refused and replaces nothing")
    for entry in taken.whole.entries:
        missing = "".join(f"; {count} of {name} without a score" for name, count in entry.missing.items())
        print(f"taken    {entry.name}{missing}{''.join(f'; {line}' for line in entry.told)}")
    for refused in sorted(taken.refused, key=lambda one: one.name):
        print(f"refused  {refused.name}")
        for reason in refused.reasons:
            print(textwrap.fill(reason, WIDTH, initial_indent="         - ", subsequent_indent="           "))
    print(f"{len(taken.whole.entries)} taken, {len(taken.refused)} refused")
    return 1 if taken.refused else 0


def _ranked(folder: Path, args: argparse.Namespace) -> tuple[Results, Exhibit, Path]:
    from harness.challenge import folder as written
    from harness.challenge import outcome, published, rulebook

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


def _publish(report: Results, shown: Exhibit, folder: Path) -> None:
    import dataclasses

    from harness.commands._output import write_site
    from leaderboard import site

    write_site(site.site(dataclasses.replace(report, exhibits=(shown,))), folder)
    print(f"leaderboard: {(folder / 'challenge.html').resolve()}")


def _print(rules: Rulebook, shown: Exhibit) -> None:
    print(f"{rules.title}: {shown.lead}")
    for grid in shown.grids:
        if grid.name in ("official", "refused", "winners"):
            print(_text(grid))


def _text(grid: Grid) -> str:
    """A table for the terminal: nothing is cut. Long words wrap; columns for which there is no room are named below."""
    from leaderboard.render.text import plain

    rows = [tuple(map(plain, row)) for row in grid.rows[:MOST]]
    columns = [_column(plain(name), [row[place] for row in rows], WRAP if len(grid.head) > 2 else REASON)
               for place, name in enumerate(grid.head)]
    sizes = [max(len(line) for lines in column for line in lines) for column in columns]
    fitting = max(1, sum(sum(sizes[:count]) + 2 * (count - 1) <= WIDTH for count in range(1, len(sizes) + 1)))
    right = [place > 0 and not any(re.search(r"[^\W\d]{3}", row[place]) for row in rows) for place in range(fitting)]
    head, *lines = [_row([column[number] for column in columns[:fitting]], sizes, right)
                    for number in range(len(rows) + 1)]
    found = [textwrap.fill(plain(f"{grid.caption}. Data: {grid.data}."), WIDTH), "", *head,
             "-" * max(len(line) for row in (head, *lines) for line in row), *(line for row in lines for line in row)]
    if fitting < len(columns):
        left = "; ".join(map(plain, grid.head[fitting:]))
        found.append(textwrap.fill(f"no room here for: {left}; {grid.name}.csv has them", WIDTH))
    if len(grid.rows) > MOST:
        found.append(f"... and {len(grid.rows) - MOST} more")
    return "\n".join([*found, ""])


def _column(head: str, cells: list[str], most: int) -> list[list[str]]:
    """The lines of every cell of a column, the heading first, which is no wider than it must be."""
    found = [textwrap.wrap(cell, most) or [""] for cell in cells]
    widest = max((len(line) for lines in found for line in lines), default=0)
    return [textwrap.wrap(head, max(widest, HEAD)) or [""], *found]


def _row(cells: list[list[str]], sizes: list[int], right: list[bool]) -> list[str]:
    """A row of the table as lines."""
    found = []
    for number in range(max(map(len, cells))):
        given = [lines[number] if number < len(lines) else "" for lines in cells]
        found.append("  ".join(value.rjust(size) if numbers else value.ljust(size)
                               for value, size, numbers in zip(given, sizes, right, strict=False)).rstrip())
    return found
