"""Seconds and memory of `harness` commands, each run as a process: `python -m tools.commands [--real] [--items N ...]`.

Without --items: from nothing to the first board, the same again, one more metric, and the commands that answer from
results; --real adds the ten real datasets. With --items: one run of five metrics without models on the sample grown to
N items. Each of the 19 datasets grows by copies of its items with other ids, one word changed in each text and votes
that differ a little; shared contexts stay shared. Memory is that of all processes of a command together.
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
from tools import DATA, ROOT, show

RUNS = 3
"""Repetitions of commands that repeat; the fastest counts."""
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
        show([grown_run(Path(folder) / str(items), items) for items in arguments.items]
             if arguments.items else list(waiting(Path(folder), arguments.real)))


def measured(argv: list[str], log: Path, **environment: str) -> dict[str, float]:
    """Run a command to its end; return wall and CPU seconds, and the peak memory of its processes (PSS)."""
    start, peak = time.perf_counter(), 0.0
    with log.open("wb") as stream:
        child = psutil.Popen([sys.executable, "-m", "dialogue_harness", *argv], stdout=stream, stderr=stream, cwd=ROOT,
                             env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment})
    for tick in count():
        process, status, used = os.wait4(child.pid, os.WNOHANG)
        if process:
            break
        if tick % 10 == 0:  # reading the memory slows the processes
            peak = max(peak, sum(map(held, [child, *child.children(recursive=True)])))
        time.sleep(0.01)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"harness {' '.join(argv)} ended with {code}:\n{log.read_text()[-3000:]}")
    return {"seconds": round(time.perf_counter() - start, 2), "cpu": round(used.ru_utime + used.ru_stime, 2),
            "peak MiB": round(max(peak, used.ru_maxrss / 1024))}


def held(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss) / (1 << 20)
    except psutil.Error:  # it has ended
        return 0.0


def waiting(folder: Path, real: bool) -> Iterator[dict[str, Any]]:
    """Measure every command of a first session."""
    (exclaims,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    plugin, out = folder / "exclaims.py", str(folder / "sample")
    plugin.write_text(exclaims)

    def timed(command: str, *argv: str, home: str = "home", repeat: int = 1) -> dict[str, Any]:
        environment = {"HARNESS_HOME": str(folder / home), "NLTK_DATA": str(DATA / "resources" / "nltk_data")}
        return {"command": command, **min((measured([*argv], folder / "log", **environment) for _ in range(repeat)),
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


def grown_run(folder: Path, items: int) -> dict[str, Any]:
    """Grow the sample, and measure one run on it with its files."""
    home, out = folder / "home", folder / "results"
    growing = multiprocessing.get_context("spawn").Process(target=grow, args=(home, items))
    growing.start()
    growing.join()
    if growing.exitcode:
        raise SystemExit(f"{home}: the datasets could not be grown")
    metrics = [word for name in METRICS for word in ("--metric", name)]
    cost = measured(["run", *metrics, "--home", str(home), "--data", "real", "--out", str(out)], folder / "run.log",
                    OMP_NUM_THREADS="1")
    report, site = ([path for path in (out / name).rglob("*") if path.is_file()] for name in ("report", "site"))
    return {"items": items, **cost, "cpu per 100,000": round(cost["cpu"] * 100_000 / items, 2),
            "report MiB": mebibytes(*report), "site MiB": mebibytes(*site),
            "largest page MiB": max(mebibytes(path) for path in site if path.suffix == ".html")}


def mebibytes(*paths: Path) -> float:
    return round(sum(path.stat().st_size for path in paths) / (1 << 20), 2)


def grow(home: Path, items: int) -> None:
    """Store the sample's datasets, grown by the same factor to `items` items in all."""
    samples = [registry.sample(card) for card in registry.cards().values()]
    total, end = sum(len(dataset.items) for dataset in samples), 0
    for dataset in samples:
        start, end = end, end + len(dataset.items)
        store.save(grown(dataset, items * end // total - items * start // total), home)


def grown(dataset: Dataset, size: int) -> Dataset:
    """Return a dataset of `size` items: copies of all its items, one copy after the other."""
    items = tuple(islice((copied(item, copy) for copy in count() for item in dataset.items), size))
    ids = {item.id for item in items}
    ratings = (rated(rating, copy, dataset.card) for copy in range(-(-size // len(dataset.items)))
               for rating in dataset.ratings)
    return Dataset(dataset.card, items, tuple(rating for rating in ratings if rating.item in ids), "imported")


def copied(item: Item, copy: int) -> Item:
    return replace(item, id=f"{item.id}-{copy:04d}", context=tuple(reworded(turn, copy) for turn in item.context),
                   response=item.response and reworded(item.response, copy))


def rated(rating: Rating, copy: int, card: DatasetCard) -> Rating:
    """Copy a rating; some votes move by one where the scale is known and has room."""
    quality, votes = card.quality(rating.quality), rating.votes
    if quality and None not in (quality.low, quality.high):
        moved = [vote + (0, 0, 1, 0, -1)[(copy + index) % 5] for index, vote in enumerate(votes)]
        votes = tuple(new if quality.takes(new) else vote for new, vote in zip(moved, votes, strict=True))
    return Rating(f"{rating.item}-{copy:04d}", rating.quality, votes)


def reworded(turn: Utterance, copy: int) -> Utterance:
    """Replace one word; the first copy is unchanged."""
    words = turn.text.split()
    if not copy or not words:
        return turn
    words[copy % len(words)] = WORDS[copy // len(words) % len(WORDS)]
    return Utterance(turn.speaker, " ".join(words))


if __name__ == "__main__":
    main()
