"""A million items: what `harness run` takes on datasets grown from the sample, with its report and its pages.

`python tests/bench/million.py [ITEMS ...] [--executor WHERE] [--keep DIR]`. Each of the 19 datasets grows by copies of
its items with other ids and slightly other texts, contexts that are shared staying shared; votes move a little. They
are kept in a home as an import keeps them. Then one command scores them with five metrics that need no model, measures
and draws the pages. Memory is that of all processes of the command together, looked at ten times a second.
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Item, Quality, Rating, Utterance
from benchmarks.storage import store
from tests.bench.processes import Rows, show, watched

METRICS = ("length", "distinct", "repetition", "context-overlap", "random")
SIZES = (250_000, 500_000, 1_000_000)
MOST = 2048
"""MiB that all processes may hold together."""
SLACK = 1.1
"""An item of the largest run may take so many times what one of the smallest takes."""
WORDS = ("again", "also", "always", "blue", "book", "early", "friend", "garden", "happy", "house", "later", "maybe",
         "music", "never", "often", "paper", "quiet", "rain", "river", "school", "slowly", "story", "sunday", "table",
         "today", "train", "water", "window", "winter", "yellow", "yesterday")
"""What takes the place of a word in a copy."""


def main() -> int:
    """Measure, print the table and the verdict; 1 where it is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("items", type=int, nargs="*", default=SIZES, help="items of each run, the fewest first")
    parser.add_argument("--executor", default="local")
    parser.add_argument("--keep", type=Path, help="a folder for homes and results, which stay there")
    args = parser.parse_args()
    rows: Rows = []
    for items in sorted(args.items):
        with TemporaryDirectory() as scratch:
            rows.append(measured((args.keep or Path(scratch)).absolute() / str(items), items, args.executor))
    show(rows, False)
    text, fine = verdict(rows)
    print(f"\n{text}")
    return 0 if fine else 1


def verdict(rows: Rows) -> tuple[str, bool]:
    """Whether memory and time are as they should be, in a line."""
    first, last, peak = rows[0], rows[-1], max(row["peak MiB"] for row in rows)
    wall, cpu = (last[name] / first[name] for name in ("wall s per 100,000", "cpu s per 100,000"))
    small, linear = peak <= MOST, max(wall, cpu) <= SLACK
    text = f"memory is {'' if small else 'NOT '}under {MOST} MiB (peak {peak:.0f})"
    if first is not last:
        text += (f"; time is {'' if linear else 'NOT '}linear within {SLACK - 1:.0%} (an item of {last['items']:,} "
                 f"takes {wall:.3f} times the wall time and {cpu:.3f} times the CPU time of one of {first['items']:,})")
    return text, small and linear


def measured(folder: Path, items: int, executor: str) -> dict[str, Any]:
    """Grow the sample to so many items, and run the command on them."""
    home, out = folder / "home", folder / "results"
    if not home.exists():
        growing = multiprocessing.get_context("spawn").Process(target=grow, args=(home, items))
        growing.start()
        growing.join()
        if growing.exitcode:
            raise SystemExit(f"{home}: the datasets could not be grown")
    shutil.rmtree(out, ignore_errors=True)
    metrics = [word for name in METRICS for word in ("--metric", name)]
    cost = watched(["run", *metrics, "--home", str(home), "--data", "real", "--out", str(out), "--executor", executor],
                   folder / "run.log", OMP_NUM_THREADS="1")
    page = max(path.stat().st_size for path in (out / "site").rglob("*.html")) / (1 << 20)
    return {"items": items, "wall s": round(cost.seconds, 1), "cpu s": round(cost.cpu, 1),
            "wall s per 100,000": round(cost.seconds * 100_000 / items, 2),
            "cpu s per 100,000": round(cost.cpu * 100_000 / items, 2), "peak MiB": round(cost.peak),
            "report MiB": round(_size(out / "report"), 1), "site MiB": round(_size(out / "site"), 1),
            "largest page MiB": round(page, 2)}


def grow(home: Path, items: int) -> None:
    """Keep the sample's datasets, grown to so many items in all, each by the same factor."""
    given = [registry.sample(card) for card in registry.cards().values()]
    ends = [0]
    for dataset in given:
        ends.append(ends[-1] + len(dataset.items))
    for place, dataset in enumerate(given):
        store.save(grown(dataset, items * ends[place + 1] // ends[-1] - items * ends[place] // ends[-1]), home)


def grown(dataset: Dataset, number: int) -> Dataset:
    """A dataset of so many items: copies of those that are there, all of a copy before the next."""
    items = tuple(islice((_item(item, copy) for copy in count() for item in dataset.items), number))
    kept = {item.id for item in items}
    ratings = tuple(rating for copy in range(-(-number // len(dataset.items))) for one in dataset.ratings
                    if (rating := _rating(one, copy, dataset.card)).item in kept)
    return Dataset(dataset.card, items, ratings, "imported")


def _item(item: Item, copy: int) -> Item:
    return replace(item, id=_name(item.id, copy), context=tuple(_turn(turn, copy) for turn in item.context),
                   response=item.response and _turn(item.response, copy))


def _rating(rating: Rating, copy: int, card: DatasetCard) -> Rating:
    quality = card.quality(rating.quality)
    votes = tuple(_vote(vote, copy + place, quality) for place, vote in enumerate(rating.votes))
    return Rating(_name(rating.item, copy), rating.quality, votes)


def _vote(vote: float, turn: int, quality: Quality | None) -> float:
    """A vote, one step higher or lower in some copies, where the scale has room for it."""
    moved = vote + (0, 0, 1, 0, -1)[turn % 5]
    return moved if quality and None not in (quality.low, quality.high) and quality.takes(moved) else vote


def _turn(turn: Utterance, copy: int) -> Utterance:
    """A turn with one word of it in the place of another; the first copy is as it was."""
    words = turn.text.split()
    if copy and words:
        words[copy % len(words)] = WORDS[copy // len(words) % len(WORDS)]
    return Utterance(turn.speaker, " ".join(words) if copy else turn.text)


def _name(name: str, copy: int) -> str:
    return f"{name}-{copy:04d}"


def _size(folder: Path) -> float:
    """MiB of the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / (1 << 20)


if __name__ == "__main__":
    sys.exit(main())
