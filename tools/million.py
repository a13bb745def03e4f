"""A million items: what `harness run` takes on datasets grown from the sample, with its report and its pages.

`python tools/million.py [ITEMS ...] [--executor WHERE]`. Each of the 19 datasets grows by copies of
its items with other ids and slightly other texts, contexts that are shared staying shared; votes move a little. They
are kept in a home as an import keeps them. Then one command scores them with five metrics that need no model, measures
and draws the pages. Memory is that of all processes of the command together, looked at ten times a second.
"""

import argparse
import multiprocessing
import sys
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard, Item, Rating, Utterance
from benchmarks.storage import store
from tools.processes import Rows, show, watched

METRICS = ("length", "distinct", "repetition", "context-overlap", "random")
WORDS = ("again", "also", "always", "blue", "book", "early", "friend", "garden", "happy", "house", "later", "maybe",
         "music", "never", "often", "paper", "quiet", "rain", "river", "school", "slowly", "story", "sunday", "table",
         "today", "train", "water", "window", "winter", "yellow", "yesterday")
"""What takes the place of a word in a copy."""


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("items", type=int, nargs="*", default=[250_000, 1_000_000], help="items of each run")
    parser.add_argument("--executor", default="local")
    args = parser.parse_args()
    rows: Rows = []
    for items in args.items:
        with TemporaryDirectory() as folder:
            rows.append(measured(Path(folder), items, args.executor))
    show(rows, False)


def measured(folder: Path, items: int, executor: str) -> dict[str, Any]:
    """Grow the sample to so many items, and run the command on them."""
    home, out = folder / "home", folder / "results"
    growing = multiprocessing.get_context("spawn").Process(target=grow, args=(home, items))
    growing.start()
    growing.join()
    if growing.exitcode:
        raise SystemExit(f"{home}: the datasets could not be grown")
    metrics = [word for name in METRICS for word in ("--metric", name)]
    cost = watched(["run", *metrics, "--home", str(home), "--data", "real", "--out", str(out), "--executor", executor],
                   folder / "run.log", OMP_NUM_THREADS="1")
    report, site = ({path: path.stat().st_size / (1 << 20) for path in (out / name).rglob("*") if path.is_file()}
                    for name in ("report", "site"))
    return {"items": items, "wall s": round(cost.seconds, 1), "cpu s": round(cost.cpu, 1),
            "cpu s per 100,000": round(cost.cpu * 100_000 / items, 2), "peak MiB": round(cost.peak),
            "report MiB": round(sum(report.values()), 1), "site MiB": round(sum(site.values()), 1),
            "largest page MiB": round(max(size for path, size in site.items() if path.suffix == ".html"), 2)}


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
    return replace(item, id=f"{item.id}-{copy:04d}", context=tuple(_turn(turn, copy) for turn in item.context),
                   response=item.response and _turn(item.response, copy))


def _rating(rating: Rating, copy: int, card: DatasetCard) -> Rating:
    """The votes, one step higher or lower in some copies, where the scale is known and has room for it."""
    quality, votes = card.quality(rating.quality), list(rating.votes)
    if quality and None not in (quality.low, quality.high):
        moved = [vote + (0, 0, 1, 0, -1)[(copy + place) % 5] for place, vote in enumerate(votes)]
        votes = [new if quality.takes(new) else vote for new, vote in zip(moved, votes, strict=True)]
    return Rating(f"{rating.item}-{copy:04d}", rating.quality, tuple(votes))


def _turn(turn: Utterance, copy: int) -> Utterance:
    """A turn with one word of it in the place of another; the first copy is as it was."""
    words = turn.text.split()
    if copy and words:
        words[copy % len(words)] = WORDS[copy // len(words) % len(WORDS)]
    return Utterance(turn.speaker, " ".join(words) if copy else turn.text)


if __name__ == "__main__":
    main()
