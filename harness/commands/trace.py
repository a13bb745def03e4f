"""`harness trace`: where the time of a run went, as a picture that a browser draws."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

NAME = "trace"
HELP = "write a Chrome trace of the last run"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which run, and where to."""
    parser.add_argument("--out", type=Path, metavar="DIR", default=Path("results"),
                        help="where the run wrote its results (default: ./results)")
    parser.add_argument("--to", type=Path, metavar="FILE", help="where the trace goes (default: DIR/trace.json)")


def run(args: argparse.Namespace) -> int:
    """Write it."""
    from benchmarks.storage.files import write_atomically
    from harness.scoring.executors import tracing

    path = args.to or args.out / "trace.json"
    found = tracing.chrome(tracing.read(args.out / tracing.NAME))
    write_atomically(path, (json.dumps(found, indent=0, ensure_ascii=False) + "\n").encode(errors="backslashreplace"))
    print(f"trace: {path.resolve()}; open it in https://ui.perfetto.dev or chrome://tracing")
    return 0
