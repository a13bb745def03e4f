"""DECO (Ghazarian et al., ACL 2023, ACCENT): does a reply make sense, and the events in it?

Upstream is a list of {history, response, system, general_cs_raw, event_cs_raw}: turns parted by </UTT>, three votes
each by raters who are not identified.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.formats.official import alternating
from benchmarks.sources import RatedRow, published, read_json


def convert(path: Path, card: DatasetCard) -> Dataset:
    return read_json(published(path, card), card, _read)


def _read(record: Any) -> Iterator[RatedRow]:
    turns = [turn for turn in record["history"].split("</UTT>") if turn.strip()]
    yield RatedRow(alternating(turns), record["response"],
                   {"commonsense": record["general_cs_raw"], "event commonsense": record["event_cs_raw"]},
                   system=record["system"])
