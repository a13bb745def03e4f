"""What somebody waits for: the first board, the second, one more metric, an answer; each as a process of its own.

`python tools/first_minute.py [--runs N] [--real] [--json]`. `--real` adds the ten real datasets.
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.scoring.progress import LOG
from tools.processes import DATA, ROOT, Rows, show, watched


def bench(folder: Path, runs: int, real: bool) -> Rows:
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
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    for flag in ("--real", "--json"):
        parser.add_argument(flag, action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        show(bench(Path(temporary), args.runs, args.real), args.json)
