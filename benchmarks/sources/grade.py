"""GRADE (Huang et al., EMNLP 2020): coherence of one reply after two turns, on three corpora.

The repository has `evaluation/human_score/human_judgement.json`, one list for all three, with turns joined by "|||".
Its references are left out, as in the organisers' files, so that a dataset is the same wherever it came from. Verified
against a stored copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.formats.official import alternating
from benchmarks.sources import RatedRow, read_json

CORPORA = {"dailydialog-grade": "dailydialog_EVAL", "empathetic-grade": "empatheticdialogues",
           "convai2-grade": "convai2"}
"""The repository's name for the corpus of each dataset."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the judgements on the corpus of the card."""
    def read(record: Any) -> Iterator[RatedRow]:
        if record["Dataset"] == CORPORA[card.name]:
            yield RatedRow(alternating(record["Context"].split("|||")), record["Response"],
                           {"relevance": json.loads(record["HumanScores"])}, system=record["DialogModel"])

    return read_json(path, card, read, "human_judgement.json")
