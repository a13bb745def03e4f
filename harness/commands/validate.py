"""`harness validate FILE`: say everything that is wrong with a score file, with line numbers."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from pathlib import Path

from benchmarks.formats.scorefile import ScoreFile, counts, describe, expected, printable, read
from harness.commands.template import at_hand

WIDTH = 110


def configure(parser: argparse.ArgumentParser) -> None:
    """A file, and which datasets it is for."""
    parser.add_argument("file", type=Path, help=".csv or .tsv with dialogue_id and score")
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME",
                        help="what it should score; may be repeated (default: datasets of which it scores any item)")
    parser.add_argument("--column", default="", metavar="NAME", help="the column of the scores (default: score)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with every problem")


def run(args: argparse.Namespace) -> int:
    """Print the problems. 0: there are none, 1: there are, 2: the file cannot be read."""
    file, origin = _read(args.file, args.home, args.dataset, args.column)
    if args.json:
        print(json.dumps({
            "file": args.file.name, "sha256": file.digest, "rows": file.rows, "origin": origin,
            "datasets": file.datasets, "refused": bool(file.fatal), "counts": counts(file.problems),
            "problems": [dataclasses.asdict(one) for one in file.problems]}))
    else:
        _say(args.file, file, origin)
    if not file.rows and any(one.kind == "unreadable" for one in file.problems):
        return 2
    return 1 if any(not one.note for one in file.problems) else 0


def _read(path: Path, home: Path, names: list[str], column: str) -> tuple[ScoreFile, str]:
    """The file against the datasets it is for, and whether they are real; the sample only where nothing real fits."""
    real, sample = at_hand(home, names)
    if names:
        return read(path.expanduser(), expected([*real, *sample]), column=column), "real" if real else "sample"
    file = read(path.expanduser(), expected(real or sample), whole=False, column=column)
    if file.datasets or not (real and sample) or file.problems[0].kind == "unreadable":
        return file, "real" if real else "sample"
    other = read(path.expanduser(), expected(sample), whole=False, column=column)
    return (other, "sample") if other.datasets else (file, "real")


def _say(path: Path, file: ScoreFile, origin: str) -> None:
    name = printable(path.name)
    if file.datasets:
        of_sample = ", of the bundled sample" if origin == "sample" else ""
        print(f"{name}: {file.rows:,} scores, for {', '.join(file.datasets)}{of_sample}; sha256 {file.digest[:12]}")
    for line in describe(file.problems):
        print(textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="      ",
                            break_on_hyphens=False))
    summary = ", ".join(f"{number:,} {kind}" for kind, number in counts(file.problems).items())
    if file.fatal:
        print(f"{name}: is refused: {summary}")
    elif any(not one.note for one in file.problems):
        print(f"{name}: can be taken, but look at: {summary}")
    else:
        print(f"{name}: nothing is wrong with it{f' ({summary})' if summary else ''}")
