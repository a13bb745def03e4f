"""BEGIN (Dziri et al., TACL 2022): is a reply fully attributable to the knowledge that it was given?

Upstream is a table without quoting: model_name, data_source, knowledge, message, response, begin_label. A generic reply
says nothing that could be attributed: it has no vote on `attributable`, and 0 on `not generic`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import USER, Dataset, DatasetCard, Utterance
from benchmarks.sources import RatedRow, assemble, published, read_each

LABELS = {"Fully attributable": {"attributable": [1.0], "not generic": [1.0]},
          "Not fully attributable": {"attributable": [0.0], "not generic": [1.0]},
          "Generic": {"not generic": [0.0]}}


def convert(path: Path, card: DatasetCard) -> Dataset:
    file = published(path, card)
    with file.open(encoding="utf-8", newline="") as stream:
        return assemble(card, read_each(file, csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), _read))


def _read(record: Any) -> Iterator[RatedRow]:
    yield RatedRow([Utterance(USER, record["message"])], record["response"], LABELS[record["begin_label"].strip()],
                   facts=[record["knowledge"]], system=record["model_name"])
