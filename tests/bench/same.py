"""The same run by every executor, each from nothing: how long it takes, and whether the reports have the same bytes.

    python tests/bench/same.py [--data sample|real] [--executor NAME ...] [--rounds N] [-- FLAGS OF RUN]

With `--rounds` the work is a metric that hashes each item so many times, the same for whoever does it (90,000 are a
minute of two cores), so that what is left is what handing it to others costs.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.processes import Rows, show, watched
from tests.faults.runs import events, metric, report

EXECUTORS = ("local", "local:2", "ray")
HASHES = """import hashlib
for item in items:
    text = item.id.encode()
    for _ in range({rounds}):
        text = hashlib.sha256(text).digest()"""


def main() -> None:
    """Run, and print the table; exit status 1 where two reports differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=("sample", "real"), default="sample")
    parser.add_argument("--executor", action="append", metavar="NAME", help="may be repeated; the first is the measure")
    parser.add_argument("--rounds", type=int, metavar="N", help="hashes an item, in place of the metrics")
    parser.add_argument("flags", nargs="*", help="flags of harness run (default: --all)")
    args = parser.parse_args()
    rows: Rows = []
    first: dict[str, bytes] = {}
    with TemporaryDirectory() as folder:
        flags = args.flags or ["--all"]
        if args.rounds:
            hashes = metric(Path(folder), "hashes", HASHES.format(rounds=args.rounds))
            flags = ["--metric", hashes, "--draws", "0", *args.flags]
        for executor in args.executor or EXECUTORS:
            out = Path(folder) / executor.replace(":", "-")
            jobs = ["--jobs", "2"] if executor == "ray" else []
            cost = watched(["run", *flags, "--data", args.data, "--executor", executor, *jobs, "--out", str(out)],
                           Path(folder) / "run.log", OMP_NUM_THREADS="1")
            files = report(out)
            first = first or files
            parts = [event for event in events(out) if event["event"] == "part" and event["outcome"] == "scored"]
            rows.append({"executor": executor, "seconds": round(cost.seconds, 1), "parts": len(parts),
                         "workers": len({part["worker"] for part in parts}), "files": len(files),
                         "differ": sum(first.get(name) != files.get(name) for name in first | files)})
    show(rows, False)
    sys.exit(any(row["differ"] for row in rows))


if __name__ == "__main__":
    main()
