"""`harness study NAME`: Run a study from the literature on metrics or ratings.

    harness study dimensions
    harness study dailydialogpp --metric deb --metric cosine
"""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
from pathlib import Path

from benchmarks.storage.files import sweep, write_atomically
from harness import own
from harness.commands._arguments import add
from harness.commands._output import table
from harness.errors import BadConfig
from harness.run.settings import command_line, expanded, settings
from harness.studies import Findings, StudyRequest, files, load, names
from leaderboard.render.text import wrapped

OPTIONAL_FLAGS = ("metric", "dataset", "quality", "split", "folder")
"""Flags that only some studies support, by destination."""
REPEATED = {name: "from" if name == "folder" else name for name in (
    "metric", "dataset", "quality", "split", "data", "seed", "draws", "limit", "folder", "encoder", "lm", "vectors")}
"""Flags that affect the findings, by destination."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="NAME", help=f"study: {', '.join(names())}")
    add(parser, "metric", "dataset", "quality", "split", "data", "seed")
    add(parser, "draws: bootstrap resamples (default: 400)", default=400)
    add(parser, "limit: only the first N items of each dataset, or N contexts")
    add(parser, "from DIR: dailydialogpp only: folder with dev.json and test.json (default: in the home)",
        dest="folder")
    add(parser, "encoder", "lm", "vectors", "device", "offline",
        "out: folder of scores and studies (default: ./results)")


def run(args: argparse.Namespace) -> int:
    """Score, run the study, print and store it; return 1 if a metric crashed, else 0."""
    study = load(args.study)
    if unsupported := [REPEATED[name] for name in OPTIONAL_FLAGS if getattr(args, name) and name not in study.FLAGS]:
        supported = ", ".join(f"--{REPEATED[name]}" for name in OPTIONAL_FLAGS if name in study.FLAGS)
        raise BadConfig(f"{args.study} does not support --{unsupported[0]}, only {supported}")
    requested = dataclasses.replace(settings(args), dataset=own.import_paths(args.dataset, args.home))
    return carry_out(args.study, StudyRequest(requested, args.home, expanded(args.out), args.draws,
                                              expanded(args.folder) if args.folder else None), command(args))


def carry_out(name: str, request: StudyRequest, repeat_command: str) -> int:
    """Run a study, print and store it with the command that repeats it; return 1 if a metric crashed, else 0.

    Findings replace those of an earlier study, unless every metric failed.
    """
    with request.workspace.progress.stage("studying"):
        findings = load(name).study(request)
    folder = request.out / "studies" / name
    if findings.failures and not any(findings.objects.values()):
        _print_failures(findings)
        print(f"nothing was written to {folder.resolve()}", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    contents = files(name, repeat_command, findings)
    for file, content in contents.items():
        write_atomically(folder / file, content)
    for path in folder.iterdir():
        if path.suffix in (".csv", ".svg") and path.name not in contents:  # of an earlier study
            path.unlink()
    for grid in findings.tables:
        print(table(grid.caption, grid.head, grid.data, grid.rows))
    for remark in findings.remarks:
        print(wrapped(remark, indent=""), end="")
    _print_failures(findings)
    flag = "" if request.out == Path("results") else f" --out {shlex.quote(str(request.out))}"
    run = "" if (request.out / "report").is_dir() else f"`harness run{flag}`, then "
    print(f"written to {folder.resolve()}: {', '.join(contents)}; to show it beside the metrics, run {run}"
          f"`harness publish{flag}`", file=sys.stderr)
    return 1 if findings.failures else 0


def _print_failures(findings: Findings) -> None:
    for failure in findings.failures:
        print(f"failed: {failure}", file=sys.stderr)


def command(args: argparse.Namespace) -> str:
    """Return the command that repeats the study, with paths reduced to their last part."""
    parser = argparse.ArgumentParser(add_help=False)
    configure(parser)
    return command_line("study", str(args.study), flags={
        flag: value for name, flag in REPEATED.items() if (value := getattr(args, name)) != parser.get_default(name)})
