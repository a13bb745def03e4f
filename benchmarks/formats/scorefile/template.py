"""The empty file of scores, to be filled in: every id with no score, in the form that its ending says."""

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
HEAD = (IDS[0], SCORE)


def keys(datasets: Iterable[Dataset], by: By | None = None) -> tuple[str, ...]:
    """What is to be scored: as the organisers asked, by quality on development sets and by item on test sets.

    An item that nobody rated on a quality that others were rated on needs no score for it.
    """
    found: dict[str, None] = {}
    for dataset in datasets:
        per_quality = by == "quality" or (by is None and dataset.card.split == "dev")
        wanted = expected([dataset])
        for item in dataset.items:
            for quality in wanted.qualities[dataset.card.name] if per_quality else (EVERY,):
                if item.id not in wanted.unrated.get((dataset.card.name, quality), ()):
                    found[key(item.id, quality)] = None
    return tuple(found)


def packed(wanted: Sequence[str], ending: str) -> bytes:
    """The empty file, as .csv, .tsv, .jsonl (or .ndjson), .json or .parquet."""
    if ending == ".parquet":
        return _parquet(wanted)
    if ending in {".jsonl", ".ndjson"}:
        return "".join(json.dumps(dict(zip(HEAD, (name, None), strict=True)), ensure_ascii=False) + "\n"
                       for name in wanted).encode()
    if ending == ".json":
        return (json.dumps(dict.fromkeys(wanted), ensure_ascii=False, indent=0) + "\n").encode()
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows((name, "") for name in wanted)
    return text.getvalue().encode()


def _parquet(wanted: Sequence[str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    columns = pa.array(wanted, pa.string()), pa.nulls(len(wanted), pa.float64())
    pq.write_table(pa.table(columns, names=HEAD), sink)
    return sink.getvalue()
