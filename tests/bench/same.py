"""The same run by every executor, each from nothing: how long it takes, and whether the reports have the same bytes.

    python tests/bench/same.py [--data sample|real] [--executor NAME ...] [--rounds N] [--out DIR] [-- FLAGS OF RUN]

Prints a line for each executor: seconds, workers, pairs of metric and dataset, parts, files of the report, and how many
of them differ from the first one's. Scores are never shared; what was measured on equal scores (`statistics/`) is,
unless `--statistics` asks for it anew. With `--rounds` the work is a metric that hashes each item so many times, the
same for whoever does it (90,000 are a minute of two cores), so that what is left is what handing it to others costs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.processes import watched

EXECUTORS = ("local", "local:2", "ray")
ROW = "{:<10} {:>9} {:>8} {:>7} {:>7} {:>6} {:>7}"
WORK = """
import hashlib
from dataclasses import dataclass
from typing import ClassVar

from metrics.metric import MetricCard


@dataclass(frozen=True)
class Hashes:
    card: ClassVar[MetricCard] = MetricCard("hashes", "Hashes", ("hashes",), "toy")

    def score(self, items, models):
        return {{"hashes": [float(hashed(item.id.encode())[0]) for item in items]}}


def hashed(text):
    for _ in range({rounds}):
        text = hashlib.sha256(text).digest()
    return text
"""


def digests(out: Path) -> dict[str, str]:
    """What each file of a report holds, but for the timings, which are measured."""
    return {path.relative_to(out / "report").as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in (out / "report").rglob("*") if path.is_file() and path.name != "timings.json"}


def carried_out(executor: str, out: Path, flags: list[str]) -> float:
    """Seconds of a run; one that crashed ends the comparison."""
    workers = ["--jobs", "2"] if executor == "ray" else []
    log = out.parent / f"{out.name}.txt"
    return watched(["run", *flags, "--executor", executor, *workers, "--out", str(out)], log,
                   OMP_NUM_THREADS="1").seconds


def counts(out: Path) -> tuple[int, int, int]:
    """How many workers there were, pairs of metric and dataset, and parts that were scored."""
    events = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    parts = [event for event in events if event["event"] == "part" and event["outcome"] == "scored"]
    return (len({part["worker"] for part in parts}), len({(part["metric"], part["dataset"]) for part in parts}),
            len(parts))


def main() -> None:
    """Run, and print the table; exit status 1 where two reports differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("sample", "real"), default="sample")
    parser.add_argument("--executor", action="append", metavar="NAME", help="may be repeated; the first is the measure")
    parser.add_argument("--rounds", type=int, metavar="N", help="hashes an item, in place of the metrics")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the results there")
    parser.add_argument("--statistics", action="store_true", help="measure anew for each what equal scores are worth")
    parser.add_argument("flags", nargs="*", help="flags of harness run (default: --all)")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        flags = args.flags or ["--all"]
        if args.rounds:
            metric = Path(folder) / "hashes.py"
            metric.write_text(WORK.format(rounds=args.rounds))
            flags = ["--metric", str(metric), "--draws", "0", *args.flags]
        print(ROW.format("executor", "seconds", "workers", "pairs", "parts", "files", "differ"))
        first: Path | None = None
        different = 0
        for executor in args.executor or EXECUTORS:
            out = (args.out or Path(folder)).absolute() / executor.replace(":", "-")
            out.mkdir(parents=True)
            if first and not args.statistics:
                shutil.copytree(first / "statistics", out / "statistics")
            seconds = carried_out(executor, out, [*flags, "--data", args.data])
            first = first or out
            before, after = digests(first), digests(out)
            unlike = sorted(name for name in before | after if before.get(name) != after.get(name))
            different += len(unlike)
            print(ROW.format(executor, f"{seconds:.1f}", *counts(out), len(after), len(unlike)), *unlike[:5],
                  flush=True)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
