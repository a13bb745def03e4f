"""How long the commands take, and how much memory a dataset of full size needs, each as a process of its own.

`python tests/bench/commands.py [--runs N] [--json]`. The large dataset has 40,000 items with 11 references each, as
dstc6 has, written from texts of dstc7-partial where the real data is, else of the sample.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.processes import DATA, ROOT, Rows, show, watched

ITEMS, REFERENCES = 40_000, 11


def large(folder: Path) -> Path:
    """Write a dstc6 of full size."""
    partial = DATA / "side" / "dstc7-partial.json"
    source = partial if partial.is_file() else ROOT / "benchmarks" / "sample" / "data" / "dstc7_eval.json"
    rows = json.loads(source.read_text())
    texts = [text for row in rows for text in (row["response"], *row.get("reference", ())) if text]
    made: list[dict[str, Any]] = []
    for number in range(ITEMS):
        first = number * (REFERENCES + 2)
        picked = [texts[(first + place * 7) % len(texts)] for place in range(REFERENCES + 2)]
        made.append({"dialogue_id": f"dstc6_{number:05d}", "context": picked[0], "response": picked[1],
                     "reference": [f"{text} {number}" for text in picked[2:]], "model": f"S_{number % 20:02d}",
                     "annotations": {"overall": [number * place % 5 + 1 for place in range(1, 11)]}})
    path = folder / "dstc6_eval.json"
    path.write_text(json.dumps(made))
    return path


def bench(folder: Path, runs: int) -> Rows:
    """Every figure: what, how often, median seconds and peak memory."""
    rows: Rows = []
    wordnet = DATA / "resources" / "nltk_data"
    environment = {"NLTK_DATA": str(wordnet)} if wordnet.is_dir() else {}

    def measure(what: str, home: str, *commands: list[str]) -> None:
        costs = [watched(argv, **environment, HARNESS_HOME=str(folder / home)) for argv in commands]
        rows.append({"command": what, "runs": len(costs), "peak MiB": round(max(cost.peak for cost in costs)),
                     "seconds": round(statistics.median(cost.seconds for cost in costs), 2)})

    def twice(what: str, home: str, *flags: str) -> None:
        for when in ("scored", "a second time"):
            measure(f"{what}, {when}", home, ["run", *flags, "--out", str(folder / f"out-{home}-{len(flags)}")])

    measure("harness --help", "home", *[["--help"]] * runs)
    measure("harness run --all, sample, nothing scored before", "home",
            *(["run", "--all", "--out", str(folder / f"out{number}")] for number in range(runs)))
    measure("the same, a second time", "home", *[["run", "--all", "--out", str(folder / "out0")]] * runs)
    measure(f"harness import, {ITEMS:,} items x {REFERENCES} references", "home", ["import", str(large(folder))])
    twice("harness run --dataset dstc6, the same", "home", "--dataset", "dstc6")
    official = DATA / "human_evaluation_data"
    if official.is_dir():
        measure("harness import, the ten real datasets", "real", ["import", str(official)])
        twice("harness run --all --data real", "real", "--all", "--data", "real")
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        show(bench(Path(temporary), args.runs), args.json)
