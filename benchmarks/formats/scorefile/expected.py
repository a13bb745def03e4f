"""What a score file should hold: the items of some datasets, by id or by id and quality; and its empty template."""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from benchmarks.dataset import Dataset

EVERY = ""
"""In place of a quality: one score of an item for all of them."""
BAR = "|"
"""Between the id of an item and a quality, as the organisers write it."""

SPARE = 1_000  # rows that any file may have, however little is expected
LONGEST = 300  # characters of an unknown id that are compared with known ids
ALIKE = 0.6  # similarity, 0 to 1, from which on a known id is suggested for an unknown one


@dataclass(frozen=True)  # without slots, for the cached properties
class Expected:
    """What a file should score: the ids of the items of each dataset, in its order, and its qualities.

    `unrated` holds, by dataset and quality, the items that nobody rated where others were: they need no score.
    Scores of items that are `elsewhere`, each with where that is, are passed over.
    """

    items: Mapping[str, tuple[str, ...]]
    qualities: Mapping[str, tuple[str, ...]]
    unrated: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every `ID` and `ID|quality` that can be scored."""
        return frozenset(key(name, quality) for dataset, ids in self.items.items()
                         for quality in (EVERY, *self.qualities[dataset]) for name in ids)

    @cached_property
    def owners(self) -> dict[str, str]:
        """The dataset of each item."""
        return {name: dataset for dataset, ids in self.items.items() for name in ids}

    @property
    def limit(self) -> int:
        """Rows that a file may have."""
        return 4 * len(self.names) + SPARE

    def nearest(self, name: str) -> str | None:
        """The known id that was probably meant, among those that begin alike."""
        position = bisect_left(self._sorted, name)
        beside = self._sorted[max(position - 3, 0) : position + 3]
        similar = [(SequenceMatcher(None, name[:LONGEST], known).ratio(), known) for known in beside]
        similarity, best = max(similar, default=(0.0, ""))
        return best if similarity >= ALIKE else None

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self.owners)


def key(name: str, quality: str) -> str:
    """How an item is written for one quality, or for all of them."""
    return f"{name}{BAR}{quality}" if quality else name


def expected(datasets: Iterable[Dataset]) -> Expected:
    """What a file should score that is for these datasets."""
    by_name = {dataset.card.name: dataset for dataset in datasets}
    unrated = {}
    for name, dataset in by_name.items():
        rated: dict[str, set[str]] = {}
        for rating in dataset.ratings:
            if rating.votes:
                rated.setdefault(rating.quality, set()).add(rating.item)
        every = frozenset(item.id for item in dataset.items)
        unrated.update({(name, quality): every - items for quality, items in rated.items() if items != every})
    return Expected({name: tuple(item.id for item in dataset.items) for name, dataset in by_name.items()},
                    {name: tuple(quality.name for quality in dataset.card.qualities)
                     for name, dataset in by_name.items()}, unrated)


def template_keys(datasets: Iterable[Dataset], by: Literal["item", "quality"] | None = None) -> tuple[str, ...]:
    """What is to be scored: as the organisers asked, by quality on development sets and by item on test sets.

    An item that nobody rated on a quality that others were rated on needs no score for it.
    """
    names: dict[str, None] = {}
    for dataset in datasets:
        per_quality = by == "quality" or (by is None and dataset.card.split == "dev")
        wanted = expected([dataset])
        for item in dataset.items:
            for quality in wanted.qualities[dataset.card.name] if per_quality else (EVERY,):
                if item.id not in wanted.unrated.get((dataset.card.name, quality), ()):
                    names[key(item.id, quality)] = None
    return tuple(names)


def texts(datasets: Iterable[Dataset]) -> bytes:
    """The items of datasets with what is said, for who scores elsewhere, as JSON Lines."""
    rows = ({
        "dialogue_id": item.id, "dataset": dataset.card.name,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in item.context],
        "response": item.response and item.response.text,
        "references": [reference.text for reference in item.references], "facts": list(item.facts),
    } for dataset in datasets for item in dataset.items)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def template(names: Sequence[str], ending: str) -> bytes:
    """The empty file, as .csv or .tsv."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
    writer.writerow(("dialogue_id", "score"))
    writer.writerows((name, "") for name in names)
    return text.getvalue().encode()
