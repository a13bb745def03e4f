"""Conversion of upstream files to datasets.

The `form` of a source names its function in until_2021.py or recent.py; "official" and "mirror" are the organisers' own
files. A function yields a RatedRow for each response or dialogue that people judged, in upstream order.
Items are numbered NAME_00000 and so on, and texts are stripped, as in the organisers' files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.sources import recent, until_2021
from benchmarks.sources.rows import Rows, assemble


def convert(form: str, path: Path, card: DatasetCard) -> Dataset:
    """Convert the file or folder of a source."""
    read: Callable[[Path, DatasetCard], Rows] = getattr(recent, form, None) or getattr(until_2021, form)
    return assemble(card, read(path, card))
