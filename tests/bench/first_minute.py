"""What somebody waits for: the first board, the second, one more metric, an answer; each as a process of its own.

`python tests/bench/first_minute.py [--runs N] [--real] [--large] [--json]`. `--real` adds the ten real datasets,
`--large` 40,000 items with 11 references each, as dstc6 has, written from texts of dstc7-partial where that is, else of
the sample.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from harness.scoring.progress import LOG
from tests.bench.processes import DATA, ROOT, Rows, show, watched

ITEMS, REFERENCES = 40_000, 11
LEXICAL = ("bleu", "chrf", "distinct", "length", "meteor", "rouge-l")


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


def bench(folder: Path, runs: int, real: bool, big: bool) -> Rows:
    """Every figure: what, how often, least seconds and peak memory."""
    rows: Rows = []
    wordnet = DATA / "resources" / "nltk_data"
    environment = {"NLTK_DATA": str(wordnet)} if wordnet.is_dir() else {}
    (readme,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (folder / "exclaims.py").write_text(readme)

    def measure(what: str, home: str, argv: list[str], count: int = 1) -> float:
        log = folder / "log"
        costs = [watched(argv, log, **environment, HARNESS_HOME=str(folder / home)) for _ in range(count)]
        least = min(cost.seconds for cost in costs)
        rows.append({"command": what, "runs": count, "seconds": round(least, 2),
                     "cpu": round(min(cost.cpu for cost in costs), 2),
                     "peak MiB": round(max(cost.peak for cost in costs))})
        return least

    def board(what: str, home: str, out: str, *flags: str) -> None:
        """From nothing, again, with a metric more; the ratio of the first two holds on noisy machines."""
        run = ["run", *flags, "--out", str(folder / out)]
        first = measure(f"{what}, from nothing", home, run)
        drawn = next((json.loads(line)["at"] for line in (folder / out / LOG).read_text().splitlines()
                      if "first board" in line), None)
        rows[-1]["first board"] = drawn
        second = measure("the same again", home, run, runs)
        rows[-1]["of the first"] = f"1/{first / second:.0f}"
        measure("one metric more, `--with`", home, [*run, "--with", str(folder / "exclaims.py")])
        measure("`leaderboard --with` it", home, ["leaderboard", "--with", str(folder / "exclaims.py"),
                                                  "--out", str(folder / out)])

    for command in (["--help"], ["list", "metrics"], ["show", "meteor"]):
        measure(f"harness {' '.join(command)}", "home", command, runs)
    board("run --all, sample", "home", "out", "--all", "--data", "sample")
    for flags in ([], ["--json"], ["--compare"]):
        measure(" ".join(["harness report", *flags]), "home", ["report", "--out", str(folder / "out"), *flags], runs)
    if real:
        measure("import, ten real datasets", "real", ["import", str(DATA / "human_evaluation_data")])
        board("run --all, ten real datasets", "real", "out-real", "--all", "--data", "real")
    if big:
        measure(f"import, {ITEMS:,} items with {REFERENCES} references", "big", ["import", str(large(folder))])
        board("run --dataset dstc6, the same, without models", "big", "out-big", "--dataset", "dstc6",
              *(word for name in LEXICAL for word in ("--metric", name)))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    for flag in ("--real", "--large", "--json"):
        parser.add_argument(flag, action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        show(bench(Path(temporary), args.runs, args.real, args.large), args.json)
