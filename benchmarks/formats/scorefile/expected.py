"""The scores expected in a file, by item id or by id and quality, and an empty template for it."""

from __future__ import annotations

import csv
import io
import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal

from benchmarks.dataset import Dataset

ALL_QUALITIES = ""  # stands for the quality of a score that applies to all qualities
SEPARATOR = "|"  # separator of id and quality in the organisers' files
EXTRA_ROWS = 1_000  # rows allowed in any file in addition to four times the expected number
MAX_COMPARED = 300  # maximum number of characters of an unknown id to compare with known ids
MIN_SIMILARITY = 0.6  # minimum similarity, from 0 to 1, of a suggested id


@dataclass(frozen=True)  # without slots, for the cached properties
class Expected:
    """The item ids of each dataset, in its order, and its qualities.

    Items in `unrated` (by dataset and quality: items without votes where other items have votes) need no score. Scores
    of items in `elsewhere`, which maps an id to a description of where it belongs, are ignored.
    """

    items: Mapping[str, tuple[str, ...]]
    qualities: Mapping[str, tuple[str, ...]]
    unrated: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(key(name, quality) for dataset, ids in self.items.items()
                         for quality in (ALL_QUALITIES, *self.qualities[dataset]) for name in ids)

    @cached_property
    def owners(self) -> dict[str, str]:
        return {name: dataset for dataset, ids in self.items.items() for name in ids}

    @property
    def max_rows(self) -> int:
        return 4 * len(self.names) + EXTRA_ROWS

    def nearest(self, name: str) -> str | None:
        """Return the most similar of the ids sorted next to `name`, as written or reversed; None if none is similar."""
        neighbours = list[str]()
        for direction, ordered in self._sorted.items():
            position = bisect_left(ordered, name[::direction])
            neighbours += (known_id[::direction] for known_id in ordered[max(position - 3, 0) : position + 3])
        similar = [(SequenceMatcher(None, name[:MAX_COMPARED], known_id).ratio(), known_id) for known_id in neighbours]
        similarity, most_similar = max(similar, default=(0.0, ""))
        return most_similar if similarity >= MIN_SIMILARITY else None

    @cached_property
    def _sorted(self) -> dict[int, list[str]]:
        return {direction: sorted(name[::direction] for name in self.owners) for direction in (1, -1)}


def key(name: str, quality: str) -> str:
    """Return the id of an item's score for one quality, or for all qualities."""
    return f"{name}{SEPARATOR}{quality}" if quality else name


def expected(datasets: Iterable[Dataset]) -> Expected:
    items, qualities = {}, {}
    unrated: dict[tuple[str, str], frozenset[str]] = {}
    for dataset in datasets:
        name = dataset.card.name
        items[name] = tuple(item.id for item in dataset.items)
        qualities[name] = tuple(quality.name for quality in dataset.card.qualities)
        rated_ids: defaultdict[str, set[str]] = defaultdict(set)
        for rating in dataset.ratings:
            if rating.votes:
                rated_ids[rating.quality].add(rating.item)
        unrated |= {(name, quality): frozenset(items[name]) - ids for quality, ids in rated_ids.items()
                    if len(ids) < len(items[name])}
    return Expected(items, qualities, unrated)


def template_keys(datasets: Iterable[Dataset], by: Literal["item", "quality"] | None = None) -> tuple[str, ...]:
    """Return the ids of the expected scores, by default as in the challenge: by quality on development sets only."""
    names: dict[str, None] = {}
    for dataset in datasets:
        per_quality = by == "quality" or (by is None and dataset.card.split == "dev")
        expected_scores = expected([dataset])
        for item in dataset.items:
            for quality in expected_scores.qualities[dataset.card.name] if per_quality else (ALL_QUALITIES,):
                if item.id not in expected_scores.unrated.get((dataset.card.name, quality), ()):
                    names[key(item.id, quality)] = None
    return tuple(names)


def template(names: Sequence[str], suffix: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t" if suffix == ".tsv" else ",", lineterminator="\n")
    writer.writerow(("dialogue_id", "score"))
    writer.writerows((name, "") for name in names)
    return text.getvalue().encode()


def texts(datasets: Iterable[Dataset]) -> bytes:
    """Return the items of datasets as JSON Lines, for scoring elsewhere."""
    rows = ({
        "dialogue_id": item.id, "dataset": dataset.card.name,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in item.context],
        "response": item.response and item.response.text,
        "references": [reference.text for reference in item.references], "facts": list(item.facts),
    } for dataset in datasets for item in dataset.items)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
