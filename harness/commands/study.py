"""`harness study NAME`: answer a question about metrics or ratings that a paper asks, with its tables beside."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.dataset import SPLITS
from benchmarks.storage.files import sweep, write_atomically
from harness.errors import BadConfig
from harness.run.settings import command_line, expanded
from harness.studies import StudyRequest, files, load, names

if TYPE_CHECKING:
    from harness.studies import Findings

CHOOSING = ("metric", "dataset", "quality", "split", "folder", "corpus")
"""Flags that not every study takes."""
FLAGS = {"metric": "metric", "dataset": "dataset", "quality": "quality", "split": "split", "data": "data",
         "seed": "seed", "draws": "draws", "limit": "limit", "folder": "from", "corpus": "corpus", "encoder": "encoder",
         "lm": "lm", "vectors": "vectors"}
"""What a study depends on, by the flag that says it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Which study, of what."""
    many: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
    parser.add_argument("study", metavar="NAME", help=f"which one: {', '.join(names())}")
    parser.add_argument("--metric", help="as for `harness run`", **many)
    parser.add_argument("--dataset", help="as for `harness run`", **many)
    parser.add_argument("--quality", help="as for `harness run`", **many)
    parser.add_argument("--split", choices=SPLITS, help="only the datasets of one split")
    parser.add_argument("--data", choices=("auto", "real", "sample"), default="auto",
                        help="auto: what was imported or fetched, else the sample (default)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for everything random (default: 0)")
    parser.add_argument("--draws", type=int, default=400, metavar="N", help="bootstrap resamples (default: 400)")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N items of each dataset, or N contexts")
    parser.add_argument("--from", dest="folder", type=Path, metavar="DIR",
                        help="dailydialogpp: the folder of dev.json and test.json (default: what is in the home)")
    parser.add_argument("--corpus", help="seeds: train on this in place of the recipe's corpora", **many)
    parser.add_argument("--encoder", default="", metavar="MODEL", help="as for `harness run`")
    parser.add_argument("--lm", default="", metavar="MODEL", help="as for `harness run`")
    parser.add_argument("--vectors", default="", metavar="FILE", help="as for `harness run`")
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="as for `harness run`")
    parser.add_argument("--offline", action="store_true", help="never ask the hub for a model")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR",
                        help="scores are taken from here and kept here, studies go here (default: ./results)")


def run(args: argparse.Namespace) -> int:
    """Score what has no score yet, study, print, keep. 1: a metric crashed, and is not in the study."""
    study = load(args.study)
    if refused := [FLAGS[name] for name in CHOOSING if getattr(args, name) and name not in study.FLAGS]:
        taken = ", ".join(f"--{FLAGS[name]}" for name in CHOOSING if name in study.FLAGS)
        raise BadConfig(f"{args.study} takes no --{refused[0]}; of the flags that choose what is studied it takes "
                        f"{taken}")
    request = _request(args)
    with request.workspace.progress as progress, progress.stage("studying"):
        found = study.study(request)
    folder = request.out / "studies" / args.study
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    kept = files(args.study, command(args), found)
    for name, content in kept.items():
        write_atomically(folder / name, content)
    _print(found)
    for failure in found.failures:
        print(f"failed: {failure}", file=sys.stderr)
    print(f"kept in {folder.resolve()}: {', '.join(kept)}; "
          "`harness publish` puts it on the pages", file=sys.stderr)
    return 1 if found.failures else 0


def _request(args: argparse.Namespace) -> StudyRequest:
    from harness import own
    from harness.run.plan import Selection
    from metrics.models.service import Choice

    if args.seed < 0:
        raise BadConfig(f"--seed should be 0 or more, not {args.seed}")
    if args.limit is not None and args.limit < 1:
        raise BadConfig(f"--limit should be 1 or more, not {args.limit}")
    selection = Selection(
        metrics=tuple(args.metric), datasets=own.named(args.dataset, args.home), split=args.split,
        qualities=tuple(args.quality), limit=args.limit, seed=args.seed, data=args.data)
    choice = Choice(args.encoder, args.lm, args.vectors, args.device, download=not args.offline)
    return StudyRequest(selection, args.home, expanded(args.out), args.draws,
                        expanded(args.folder) if args.folder else None, choice, tuple(args.corpus))


def command(args: argparse.Namespace) -> str:
    """The command line that repeats the study, without the folders of this machine."""
    parser = argparse.ArgumentParser(add_help=False)
    configure(parser)
    return command_line("study", str(args.study), flags={
        flag: value for name, flag in FLAGS.items() if (value := getattr(args, name)) != parser.get_default(name)})


def _print(found: Findings) -> None:
    from harness.commands._output import table
    from leaderboard.blocks.tables import Kind
    from leaderboard.render.text import WIDTH

    for grid in found.tables:
        first, *others = grid.head
        heads: list[tuple[str, Kind]] = [(first, "stub"), *((name, "number") for name in others)]
        print(table(grid.caption, heads, grid.data, grid.rows))
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)
    for remark in found.remarks:
        print(textwrap.fill(remark, width, break_on_hyphens=False))
