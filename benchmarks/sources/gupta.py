"""Gupta et al. (SIGDIAL 2019): five systems on DailyDialog, with several references for each context.

Upstream is a CSV with the mean rating of each response; turns are joined by "||||", references by tabs.
Verified against a stored copy.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.formats.official import alternating
from benchmarks.sources import RatedRow, assemble, find, read_each


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read one response per line."""
    file = find(path, "mturk_rating_processed_output.csv")
    with file.open(encoding="utf-8", newline="") as stream:
        return assemble(card, read_each(file, csv.DictReader(stream), _read))


def _read(record: Any) -> Iterator[RatedRow]:
    yield RatedRow(alternating(record["context"].split("||||")), record["response"],
                   {"overall": [float(record["human_average_rating"])]}, record["all_references"].split("\t"),
                   system=record["model"])
