"""`harness verify RESULTS`: Recompute results or a bundle, and report differences and their causes.

    harness verify results
    harness verify submission.zip
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import registry as datasets
from benchmarks.errors import plural
from harness import cli, own, verification
from harness.bundle import reading
from harness.commands import run as command
from harness.commands._arguments import MODELS, WORKERS, add
from harness.errors import BadBundle, BadConfig
from harness.results import files
from harness.results.differences import TableDifference, causes, compare
from harness.results.rows import Results
from harness.run.prepare import OMITTED, prepare
from harness.run.settings import Settings, settings
from harness.verification import Recomputed
from metrics import paths

SHOWN = 20
"""Maximum number of differences shown per table."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS",
                        help="a results folder, whose run is repeated, or bundles (.zip) made by `harness submit`")
    add(parser, "ratings", default=None)
    add(parser, "out DIR: results folder only: folder for scores, report and site of the repeated run (default: "
                "./verified)", default=Path("verified"))
    add(parser, "from DIR: results folder only: folder with files used by the run, such as metrics, models and "
                "dataset cards; repeatable (default: the working folder)", dest="folders")
    add(parser, "with NAME: bundle only: file, folder or model of a packed metric that is not installed; repeatable",
        dest="with_")
    parser.add_argument("--rescore", choices=("auto", "always", "never"), default="auto",
                        help="bundle only: score again with installed metrics of the same signature; auto: "
                             "only metrics without models (default)")
    add(parser, "markdown: print Markdown, for a pull request")
    add(parser, *MODELS, *WORKERS, default=None)


def run(args: argparse.Namespace) -> int:
    """Return 0 if nothing differs, 1 if anything differs or nothing was recomputed, 2 if a bundle is refused."""
    folders = [path for path in args.results if path.is_dir()]
    if folders and len(args.results) > 1:
        raise BadConfig(f"{folders[0]}: verify one results folder at a time")
    exit_status = 0
    for path in args.results:
        try:
            recomputed = _repeat(path, args) if folders else verification.recompute(
                reading.read(path), args.home, args.ratings, args.rescore, args.with_)
        except BadBundle as error:
            exit_status = 2
            if args.markdown:
                print(f"### {_as_code(path.name)}\n\n**refused**: {_as_code(str(error))}\n")
            else:
                print(f"refused: {_one_line(str(error))}", file=sys.stderr)
            continue
        tables = compare(recomputed.before, recomputed.after, recomputed.tables, recomputed.tolerance)
        verdict, lines = _verdict(tables, recomputed.tolerance), _lines(recomputed, tables)
        if args.markdown:
            print(f"### {_as_code(path.name)}: {_as_code(recomputed.name)}", "", f"**{verdict}**", "",
                  *(f"- {_as_code(line)}" for line in lines), "", sep="\n")
        else:
            print(f"{path}: {_one_line(recomputed.name)}", *map(_one_line, lines), verdict, sep="\n")
        exit_status = max(exit_status, 0 if _computed(tables) and all(table.equal for table in tables) else 1)
    return exit_status


def _repeat(folder: Path, args: argparse.Namespace) -> Recomputed:
    before = files.read(folder)
    if args.out.resolve() in (folder.resolve(), folder.resolve().parent):
        raise BadConfig(f"--out {args.out}: holds the results to be verified; name another folder")
    requested = _settings(folder, before, args)
    plan, work = prepare(requested)
    after = command.carry_out(plan, work, requested)
    work.progress.terminal.line(work.progress.summary())
    scored = work.progress.scored
    note = (f"written to {requested.out.resolve()}; pairs of metric and dataset: {scored} scored, "
            f"{len(after.timings) - scored} reused from an earlier verification there")
    return Recomputed(before.run.command, before, after, (note,))


def _settings(folder: Path, before: Results, args: argparse.Namespace) -> Settings:
    """Return the settings of the recorded command, with file names replaced by paths on this machine."""
    words = shlex.split(before.run.command)
    if words[:2] != ["harness", "run"]:
        raise BadConfig(f"{folder}: made by `{before.run.command}`, not by `harness run`; it cannot be verified")
    repeated = cli.parser("run").parse_args(words[1:])
    if unexpected := sorted(name for name in (*OMITTED, "config") if getattr(repeated, name, None) is not None):
        raise BadConfig(f"{folder}: the recorded command has --{unexpected[0].replace('_', '-')}, which `harness run` "
                        "never records; refusing to run it")
    digest = before.run.options.get("ratings sha256")
    if digest and args.ratings is None:
        raise BadConfig(f"{folder}: the run used private ratings; pass their file with --ratings")
    if args.ratings and hashlib.sha256(args.ratings.read_bytes()).hexdigest() != digest:
        raise BadConfig(f"--ratings {args.ratings}: not the file used by the run" if digest else
                        f"--ratings {args.ratings}: the run used no private ratings")
    repeated.columns = repeated.scale = None  # the home stores tables with the columns and scales already applied
    for name, value in vars(args).items():
        if value is not None and name not in ("with_", "rescore"):  # these two are for bundles
            setattr(repeated, name, value)
    return _with_local_paths(folder, settings(repeated), args.folders)


def _with_local_paths(folder: Path, requested: Settings, folders: Sequence[Path]) -> Settings:
    """Return the settings with files, folders and dataset cards replaced by their paths on this machine."""
    roots = [*folders, Path()]
    try:
        values: dict[str, Any] = {name: tuple(paths.resolved(value, roots) for value in getattr(requested, name))
                                  for name in ("metric", "with_")}
        values |= {name: paths.resolved(getattr(requested, name), roots) for name in ("encoder", "lm", "vectors")}
        if requested.reuse:
            values["reuse"] = Path(paths.resolved(f"./{requested.reuse}", roots))
    except FileNotFoundError as error:
        searched = ", ".join(str(root.resolve()) for root in roots)
        raise BadConfig(f"{folder}: the run used {error}, which is not in {searched}; pass its folder with "
                        "--from") from error
    cards = {name: str(card) for name in requested.dataset if name not in datasets.built_in()
             for root in reversed(roots) if (card := own.find(name, root))}
    if missing := next((name for name in requested.dataset if name not in {*datasets.names(), *cards}), None):
        raise BadConfig(f"{folder}: dataset {missing!r} is not installed; `harness import` its card, or pass its "
                        "folder with --from")
    return replace(requested, dataset=tuple(cards.get(name, name) for name in requested.dataset), **values)


def _computed(tables: Sequence[TableDifference]) -> bool:
    """Return True if anything differs, or if more was recomputed than cards and ranks, which need no dataset."""
    return any(table.common for table in tables if table.table not in ("metrics", "ranking")) or not all(
        table.equal for table in tables)


def _lines(recomputed: Recomputed, tables: Sequence[TableDifference]) -> Iterator[str]:
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
        before, after = _format_value(difference.before), _format_value(difference.after)
        yield f"differs: {', '.join(map(str, difference.key))}, {difference.field}: {before} then, {after} now"
    for word, keys in (("gone", table.gone), ("new", table.new)):
        yield from (f"{word}: {', '.join(map(str, key))} ({table.table})" for key in keys)


def _format_value(value: Any) -> str:
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
        return "nothing could be recomputed: every dataset is missing on this machine or has changed"
    return f"no difference{above} in what was recomputed"


def _as_code(value: str) -> str:
    """Quote text from a bundle as code, so that links, mentions and markup have no effect."""
    return "`" + _one_line(value).replace("`", "'").replace("|", "¦") + "`"


def _one_line(value: str) -> str:
    """Make text printable on one line."""
    short = "".join(character if character.isprintable() else " " for character in value)
    return short if len(short) <= 300 else short[:300] + "…"
