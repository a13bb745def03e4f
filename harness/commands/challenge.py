"""`harness challenge ACTION DIR`: run a challenge: its rules, its submissions, the official table and its pages."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
import shlex
import textwrap
from importlib.resources import files
from pathlib import Path

from benchmarks.errors import nearest
from harness.challenge import folder as written
from harness.challenge import outcome, published, rulebook, setup
from harness.commands._output import write_site
from harness.errors import BadConfig
from harness.results.rows import Exhibit, Grid, Results
from leaderboard import site
from leaderboard.render.text import plain

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
    if args.action == "init":
        folder = args.folder
        print(f"{folder}: {len(setup.init(folder, args.home, args.example))} files; the rules are in "
              f"{folder / 'challenge.toml'}")
        print("submissions lie in submissions/TEAM/N/, each with one score file")
        print(f"once the rules are yours: harness challenge template {shlex.quote(str(folder))}")
        return 0
    folder = _folder(args.folder)
    if args.action == "template":
        names = setup.template(folder, args.home)
        print(f"{folder}: written anew from {folder / 'challenge.toml'}: {', '.join(names)}")
        return 0
    if args.action == "validate":
        return _validate(folder, args)
    report, shown, out = _ranked(folder, args)
    if args.action == "publish":
        write_site(site.site(dataclasses.replace(report, exhibits=(shown,))), out / "site")
        print(f"leaderboard: {(out / 'site' / 'challenge.html').resolve()}")
    return 0


def _folder(given: Path) -> Path:
    """A challenge by its folder, else by the name of one that is shipped."""
    shipped = {one.name: one for one in (files("benchmarks") / "challenges").iterdir() if one.is_dir()}
    if given.is_dir() and ((given / "challenge.toml").exists() or str(given) not in shipped):
        return given
    if str(given) in shipped:
        return Path(str(shipped[str(given)]))
    raise BadConfig(f"{given}: no such folder, and no challenge of that name is shipped; "
                    f"{nearest(str(given), shipped)}")


def _validate(folder: Path, args: argparse.Namespace) -> int:
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
    rules = rulebook.read(folder)
    if rules.published:
        out = args.out or Path(folder.name)
        report, shown = published.drawn(rules)
        written.write_published(report, shown, out / "ranking")
    else:
        out = args.out or folder
        report, shown = written.write(outcome.outcome(folder, args.home), out / "ranking")
    print(f"{rules.title}: {shown.lead}")
    for grid in shown.grids:
        if grid.name in ("official", "refused", "winners"):
            print(_text(grid))
    print(f"kept in {(out / 'ranking').resolve()}")
    return report, shown, out


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
