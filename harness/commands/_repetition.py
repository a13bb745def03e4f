"""Repeat the run behind a results folder, for `harness verify`."""

from __future__ import annotations

import argparse
import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import registry as datasets
from harness import cli, own
from harness.commands import run as command
from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import Results
from harness.run.prepare import OMITTED, prepare
from harness.run.settings import Settings, settings
from harness.verification.bundles import Recomputed
from metrics import paths

DIGEST = "ratings sha256"


def repeat(folder: Path, args: argparse.Namespace) -> Recomputed:
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
    digest = before.run.options.get(DIGEST)
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
        values: dict[str, Any] = {name: tuple(paths.placed(value, roots) for value in getattr(requested, name))
                                  for name in ("metric", "with_")}
        values |= {name: paths.placed(getattr(requested, name), roots) for name in ("encoder", "lm", "vectors")}
        if requested.reuse:
            values["reuse"] = Path(paths.placed(f"./{requested.reuse}", roots))
    except FileNotFoundError as error:
        searched = ", ".join(str(root.resolve()) for root in roots)
        raise BadConfig(f"{folder}: the run used {error}, which is not in {searched}; pass its folder with "
                        "--from") from error
    cards = {name: str(card) for name in requested.dataset if name not in datasets.built_in()
             for root in reversed(roots) if (card := own.find(name, root))}
    if lacking := next((name for name in requested.dataset if name not in {*datasets.names(), *cards}), None):
        raise BadConfig(f"{folder}: dataset {lacking!r} is not installed; `harness import` its card, or pass its "
                        "folder with --from")
    return replace(requested, dataset=tuple(cards.get(name, name) for name in requested.dataset), **values)
