"""`harness validate FILE`: List all problems of a score file with line numbers.

    harness validate scores.csv
    harness validate scores.csv --dataset fed-turn
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from benchmarks.formats.scorefile import ScoreFile, counts, describe, expected, hint_of_real_data, printable, read
from harness.commands._arguments import add
from harness.commands.template import available
from harness.results import files
from leaderboard.render.text import wrapped


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help=".csv or .tsv with dialogue_id and score")
    add(parser, "dataset: dataset that the file should score; repeatable (default: datasets with any scored item)")
    add(parser, "column NAME: column of the scores (default: score)")
    add(parser, "json: print one JSON object with all problems")


def run(args: argparse.Namespace) -> int:
    """Print the problems; return 0 if there are none, 1 if there are any, 2 if the file cannot be read."""
    file, origin = _read(args.file, args.home, args.dataset, args.column)
    if args.json:
        print(files.json_object({
            "file": args.file.name, "sha256": file.digest, "rows": file.rows, "origin": origin,
            "datasets": file.datasets, "refused": bool(file.fatal), "counts": counts(file.problems),
            "problems": [dataclasses.asdict(problem) for problem in file.problems]}), end="")
    else:
        _print(args.file, file, origin)
    if not file.rows and any(problem.kind == "unreadable" for problem in file.problems):
        return 2
    return 1 if any(not problem.is_remark for problem in file.problems) else 0


def _read(path: Path, home: Path, names: list[str], column: str) -> tuple[ScoreFile, str]:
    """Read the file and return it with the origin of its datasets: `sample` only if no real dataset matches."""
    real, sample = available(home, names)
    if names:
        return read(path.expanduser(), expected([*real, *sample]), column=column), "real" if real else "sample"
    file = read(path.expanduser(), expected(real or sample), all_datasets=False, column=column)
    if file.datasets or not (real and sample) or file.problems[0].kind == "unreadable":
        return file, "real" if real else "sample"
    sample_file = read(path.expanduser(), expected(sample), all_datasets=False, column=column)
    return (sample_file, "sample") if sample_file.datasets else (file, "real")


def _print(path: Path, file: ScoreFile, origin: str) -> None:
    name = printable(path.name)
    unknown = [problem for problem in file.problems if problem.kind == "unknown" and problem.line]
    warning = hint_of_real_data(len(unknown), file.rows) if origin == "sample" and file.datasets else ""
    summary = ", ".join(f"{count:,} {kind}" for kind, count in counts(file.problems).items())
    if file.datasets:
        sample = ", from the bundled sample" if origin == "sample" else ""
        print(f"{name}: {file.rows:,} scores, for {', '.join(file.datasets)}{sample}; sha256 {file.digest[:12]}")
    lines = describe([problem for problem in file.problems if not (warning and problem in unknown)])
    for line in (*filter(None, [warning]), *lines):
        print(wrapped(line, indent="      ", start="  "), end="")
    state = "refused" if file.fatal else "valid" if all(problem.is_remark for problem in file.problems) else (
        "accepted with warnings")
    print(f"{name}: {state}{summary and f': {summary}'}")
