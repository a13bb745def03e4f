"""`harness verify RESULTS`: Recompute results or a bundle, and report differences and their causes.

    harness verify results
    harness verify submission.zip
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.errors import plural
from harness.bundle import reading
from harness.commands._arguments import MODELS, WORKERS, add
from harness.commands._repetition import repeat
from harness.errors import BadBundle, BadConfig
from harness.results.differences import TableDifference, causes, compare
from harness.verification import bundles
from harness.verification.bundles import Recomputed

SHOWN = 20
"""Maximum number of differences shown per table."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS",
                        help="a results folder, whose run is repeated, or bundles (.zip) made by `harness submit`")
    add(parser, "ratings", default=None)
    add(parser, "out DIR: results: folder for the scores, report and site of the repeated run (default: ./verified)",
        default=Path("verified"))
    add(parser, "from DIR: results: folder with files used by the run, such as metrics, models and dataset cards; "
                "repeatable (default: the working folder)", dest="folders")
    add(parser, "with NAME: bundle: file, folder or model of a packed metric that is not installed; repeatable",
        dest="with_")
    parser.add_argument("--rescore", choices=("auto", "always", "never"), default="auto",
                        help="bundle: score again with installed metrics that have the same signature; auto: only "
                             "metrics without models (default)")
    add(parser, "markdown: print Markdown, for a pull request")
    add(parser, *MODELS, *WORKERS, default=None)


def run(args: argparse.Namespace) -> int:
    """Return 0 if nothing differs, 1 if something does or nothing could be computed, 2 if a bundle is refused."""
    folders = [path for path in args.results if path.is_dir()]
    if folders and len(args.results) > 1:
        raise BadConfig(f"{folders[0]}: verify one results folder at a time")
    worst = 0
    for path in args.results:
        try:
            recomputed = repeat(path, args) if folders else bundles.recompute(
                reading.read(path), args.home, args.ratings, args.rescore, args.with_)
        except BadBundle as error:
            worst = 2
            if args.markdown:
                print(f"### {_code(path.name)}\n\n**refused**: {_code(str(error))}\n")
            else:
                print(f"refused: {_line(str(error))}", file=sys.stderr)
            continue
        tables = compare(recomputed.before, recomputed.after, recomputed.tables, recomputed.tolerance)
        verdict, lines = _verdict(tables, recomputed.tolerance), _lines(recomputed, tables)
        if args.markdown:
            print(f"### {_code(path.name)}: {_code(recomputed.name)}", "", f"**{verdict}**", "",
                  *(f"- {_code(line)}" for line in lines), "", sep="\n")
        else:
            print(f"{path}: {_line(recomputed.name)}", *map(_line, lines), verdict, sep="\n")
        worst = max(worst, 0 if _computed(tables) and all(table.equal for table in tables) else 1)
    return worst


def _computed(tables: Sequence[TableDifference]) -> bool:
    """Return True if anything but cards and ranks was recomputed; these need no dataset."""
    return any(table.common for table in tables if table.table not in ("metrics", "ranking")) or not all(
        table.equal for table in tables)


def _lines(recomputed: Recomputed, tables: Sequence[TableDifference]) -> Iterator[str]:
    """Describe what was recomputed, the differences and their causes."""
    run = recomputed.before.run
    yield f"made by harness {run.version}, commit {run.commit or 'unknown'}"
    yield from recomputed.notes
    yield from (_summary(table) for table in tables if table.common or not table.equal)
    for table in tables:
        yield from itertools.islice(_differences(table), SHOWN)
    differences = causes(recomputed.before, recomputed.after)
    for owner, cause in differences.with_owners():
        yield f"changed: {owner}{cause.name}: {cause.old or 'none'} then, {cause.new or 'none'} now"
    if not all(table.equal for table in tables):
        yield f"likely cause: {differences.likely}"


def _summary(table: TableDifference) -> str:
    if table.equal:
        return f"{table.table}: {plural(table.common, 'row')}, all equal"
    differing = {difference.key for difference in table.fields}
    text = f"{table.table}: {len(differing)} of {plural(table.common, 'row')} differ"
    if table.fields:
        largest = max(table.fields, key=lambda difference: difference.size)
        size = f"{largest.size:.3g}" if math.isfinite(largest.size) else "a missing value"
        text += f"; the largest difference is {size}, in {', '.join(map(str, largest.key))}"
    return text + f"; {len(table.gone)} gone, {len(table.new)} new"


def _differences(table: TableDifference) -> Iterator[str]:
    for difference in table.fields:
        yield (f"differs: {', '.join(map(str, difference.key))}, {difference.field}: {_text(difference.before)} then, "
               f"{_text(difference.after)} now")
    for word, keys in (("gone", table.gone), ("new", table.new)):
        yield from (f"{word}: {', '.join(map(str, key))} ({table.table})" for key in keys)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "missing" if math.isnan(value) else f"{value:.6g}"
    return str(value) or "none"


def _verdict(tables: Sequence[TableDifference], tolerance: float) -> str:
    count = sum(len(table.fields) + len(table.gone) + len(table.new) for table in tables)
    above = f" above {tolerance:g}" if tolerance else ""
    if count:
        limit = f", up to {SHOWN} of each table shown" if count > SHOWN else ""
        return f"{plural(count, 'difference')}{above}{limit}"
    if not _computed(tables):
        return "nothing could be recomputed: no dataset on this machine is unchanged"
    return f"no difference{above} in what was recomputed"


def _code(value: str) -> str:
    """Quote text from a bundle as code, so that links, mentions and markup have no effect."""
    return "`" + _line(value).replace("`", "'").replace("|", "¦") + "`"


def _line(value: str) -> str:
    """Make text printable on one line."""
    short = "".join(character if character.isprintable() else " " for character in value)
    return short if len(short) <= 300 else short[:300] + "…"
