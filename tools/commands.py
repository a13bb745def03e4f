"""Time and memory of `harness` commands, each run as a process: `python -m tools.commands [--real] [--items N ...]`.

Without --items: a first run up to its board, a repeated run, one more metric, and the commands that use its results;
--real adds the ten real datasets. With --items: a run of five metrics without models on the sample enlarged to N items.
Each of the 19 datasets is enlarged by copies of its items with new ids, one changed word per text and slightly
different votes; shared contexts remain shared. Memory is the total of all processes of a command.
"""

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Item, Rating, Utterance
from benchmarks.storage import store
from harness.scoring.progress import LOG
from tools import DATA, ROOT, print_table

RUNS = 3  # number of times that repeatable commands are run; the fastest run counts
METRICS = ("length", "distinct", "repetition", "context-overlap", "random")
WORDS = ("again", "also", "always", "blue", "book", "early", "friend", "garden", "happy", "house", "later", "maybe",
         "music", "never", "often", "paper", "quiet", "rain", "river", "school", "slowly", "story", "sunday", "table",
         "today", "train", "water", "window", "winter", "yellow", "yesterday")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--items", type=int, nargs="+")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        print_table([enlarged_run(Path(folder) / str(items), items) for items in arguments.items]
             if arguments.items else list(first_session(Path(folder), arguments.real)))


def measure(argv: list[str], log: Path, **environment: str) -> dict[str, float]:
    """Run a command; return its wall and CPU seconds and the peak memory of its processes (PSS, in MiB)."""
    start, peak = time.perf_counter(), 0.0
    with log.open("wb") as stream:
        child = psutil.Popen([sys.executable, "-m", "dialogue_harness", *argv], stdout=stream, stderr=stream, cwd=ROOT,
                             env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment})
    for tick in count():
        process, status, usage = os.wait4(child.pid, os.WNOHANG)
        if process:
            break
        if tick % 10 == 0:  # measuring memory slows the processes down
            peak = max(peak, sum(map(memory, [child, *child.children(recursive=True)])))
        time.sleep(0.01)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"harness {' '.join(argv)} exited with {code}:\n{log.read_text()[-3000:]}")
    return {"seconds": round(time.perf_counter() - start, 2), "cpu": round(usage.ru_utime + usage.ru_stime, 2),
            "peak MiB": round(max(peak, usage.ru_maxrss / 1024))}


def memory(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss) / (1 << 20)
    except psutil.Error:  # the process has exited
        return 0.0


def first_session(folder: Path, real: bool) -> Iterator[dict[str, Any]]:
    (exclaims,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    plugin, out = folder / "exclaims.py", str(folder / "sample")
    plugin.write_text(exclaims)

    def timed(command: str, *argv: str, home: str = "home", repeat: int = 1) -> dict[str, Any]:
        environment = {"HARNESS_HOME": str(folder / home), "NLTK_DATA": str(DATA / "resources" / "nltk_data")}
        return {"command": command, **min((measure([*argv], folder / "log", **environment) for _ in range(repeat)),
                                          key=lambda cost: cost["seconds"])}

    def board(name: str, out: str, home: str) -> Iterator[dict[str, Any]]:
        run = ("run", "--all", "--data", name, "--out", out)
        first = timed(f"run --all --data {name}, from nothing", *run, home=home)
        lines = map(json.loads, (Path(out) / LOG).read_text().splitlines())
        yield {**first, "first board": next((line["at"] for line in lines if "first board" in json.dumps(line)), None)}
        yield timed("the same again", *run, home=home, repeat=RUNS)
        yield timed("one more metric, --with", *run, "--with", str(plugin), home=home)
        yield timed("leaderboard --with", "leaderboard", "--with", str(plugin), "--out", out, home=home)

    for command in ("--help", "list metrics", "show meteor"):
        yield timed(command, *command.split(), repeat=RUNS)
    yield from board("sample", out, "home")
    for flags in ([], ["--json"], ["--compare"]):
        yield timed(" ".join(["report", *flags]), "report", "--out", out, *flags, repeat=RUNS)
    if real:
        yield timed("import", "import", str(DATA / "human_evaluation_data"), home="real")
        yield from board("real", str(folder / "real-results"), "real")


def enlarged_run(folder: Path, items: int) -> dict[str, Any]:
    home, out = folder / "home", folder / "results"
    process = multiprocessing.get_context("spawn").Process(target=enlarge, args=(home, items))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{home}: the datasets could not be enlarged")
    metrics = [word for name in METRICS for word in ("--metric", name)]
    cost = measure(["run", *metrics, "--home", str(home), "--data", "real", "--out", str(out)], folder / "run.log",
                    OMP_NUM_THREADS="1")
    report, site = ([path for path in (out / name).rglob("*") if path.is_file()] for name in ("report", "site"))
    return {"items": items, **cost, "cpu per 100,000": round(cost["cpu"] * 100_000 / items, 2),
            "report MiB": mebibytes(*report), "site MiB": mebibytes(*site),
            "largest page MiB": max(mebibytes(path) for path in site if path.suffix == ".html")}


def mebibytes(*paths: Path) -> float:
    return round(sum(path.stat().st_size for path in paths) / (1 << 20), 2)


def enlarge(home: Path, items: int) -> None:
    samples = [registry.sample(card) for card in registry.cards().values()]
    total, end = sum(len(dataset.items) for dataset in samples), 0
    for dataset in samples:
        start, end = end, end + len(dataset.items)
        store.save(enlarged(dataset, items * end // total - items * start // total), home)


def enlarged(dataset: Dataset, size: int) -> Dataset:
    """Return a dataset of `size` items: repeated copies of all its items."""
    items = tuple(islice((copy_item(item, copy) for copy in count() for item in dataset.items), size))
    ids = {item.id for item in items}
    ratings = (copy_rating(rating, copy, dataset.card) for copy in range(-(-size // len(dataset.items)))
               for rating in dataset.ratings)
    return Dataset(dataset.card, items, tuple(rating for rating in ratings if rating.item in ids), "imported")


def copy_item(item: Item, copy: int) -> Item:
    return replace(item, id=f"{item.id}-{copy:04d}", context=tuple(reword(turn, copy) for turn in item.context),
                   response=item.response and reword(item.response, copy))


def copy_rating(rating: Rating, copy: int, card: DatasetCard) -> Rating:
    """Copy a rating; some votes move by one if the scale is known and allows it."""
    quality, votes = card.quality(rating.quality), rating.votes
    if quality and None not in (quality.low, quality.high):
        shifted = [vote + (0, 0, 1, 0, -1)[(copy + index) % 5] for index, vote in enumerate(votes)]
        votes = tuple(moved if quality.accepts(moved) else vote for moved, vote in zip(shifted, votes, strict=True))
    return Rating(f"{rating.item}-{copy:04d}", rating.quality, votes)


def reword(turn: Utterance, copy: int) -> Utterance:
    words = turn.text.split()
    if not copy or not words:
        return turn
    words[copy % len(words)] = WORDS[copy // len(words) % len(WORDS)]
    return Utterance(turn.speaker, " ".join(words))


if __name__ == "__main__":
    main()
