"""The empty score file, to be filled in: every id with no score, in the form that its ending says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Literal

from benchmarks.dataset import Dataset
from benchmarks.formats.scorefile.expected import EVERY, expected, key
from benchmarks.formats.scorefile.rows import IDS, SCORE

By = Literal["item", "quality"]


def keys(datasets: Iterable[Dataset], by: By | None = None) -> tuple[str, ...]:
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


def content(names: Sequence[str], ending: str) -> bytes:
    """The empty file, as .csv, .tsv, .jsonl (or .ndjson) or .json."""
    if ending in {".jsonl", ".ndjson"}:
        return "".join(json.dumps({IDS[0]: name, SCORE: None}, ensure_ascii=False) + "\n" for name in names).encode()
    if ending == ".json":
        return (json.dumps(dict.fromkeys(names), ensure_ascii=False, indent=0) + "\n").encode()
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
    writer.writerow((IDS[0], SCORE))
    writer.writerows((name, "") for name in names)
    return text.getvalue().encode()
