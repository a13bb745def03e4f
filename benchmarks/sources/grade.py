"""GRADE (Huang et al., EMNLP 2020): coherence of one reply after two turns, on three corpora.

The repository has `evaluation/human_score/human_judgement.json`, the judgements of all three in one list, with turns
joined by "|||". It also holds a reference for each instance, which is left out here, as in the organisers' files: a
dataset is the same wherever it came from. Verified against a stored copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Quality, Source
from benchmarks.formats.official import alternating
from benchmarks.formats.raw import RatedRow, read_json
from benchmarks.sources import MIRROR, official

REPOSITORY = "https://github.com/li3cmz/GRADE"
COMMIT = "c6cec028e1b4495a388f1c181b10221e4d0c5955"
ARCHIVE = Source(f"{REPOSITORY}/archive/{COMMIT}.zip", form="grade")


def _card(name: str, title: str, size: int, sha256: str, notes: str = "") -> DatasetCard:
    about = "The paper calls the quality coherence, the organisers' file relevance. 8 to 11 votes per item."
    return DatasetCard(
        name=name, title=title, split="dev", level="turn", size=size,
        qualities=(Quality("relevance", 1, 5),),
        sources=(official(sha256), MIRROR, ARCHIVE),
        licence="not stated",
        citation="Huang, Ye, Qin, Lin and Liang (2020). GRADE: Automatic Graph-Enhanced Coherence Metric "
                 "for Evaluating Open-Domain Dialogue Systems. EMNLP.",
        homepage=REPOSITORY,
        notes=f"{about} {notes}".strip(),
    )


CARDS = (
    _card("dailydialog-grade", "DailyDialog-GRADE", 300,
          "212d19bafc2d717c51eb69a4b0b8a55153e5ead3dbe912061f8db2f3e9357c5c"),
    _card("empathetic-grade", "Empathetic-GRADE", 300,
          "b2e7a72e675d6817ea5f57041757f20c7547b3b6bd82688dd6c20b0592ae3051"),
    _card("convai2-grade", "ConvAI2-GRADE", 600,
          "ea7f44fd347b2bc40e862c39f2fd54e4d1c4cfc2aa372c217d02623f60e518ac",
          "600 rows (4 systems of 150) in the file and in the organisers' paper; 300 in the organisers' "
          "table on the web and in the MME-CRS paper."),
)

CORPORA = {"dailydialog-grade": "dailydialog_EVAL", "empathetic-grade": "empatheticdialogues",
           "convai2-grade": "convai2"}
"""What the repository calls the corpus of each dataset."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the judgements on the corpus of the card."""
    def read(record: Any) -> Iterator[RatedRow]:
        if record["Dataset"] == CORPORA[card.name]:
            yield RatedRow(alternating(record["Context"].split("|||")), record["Response"],
                           {"relevance": json.loads(record["HumanScores"])}, system=record["DialogModel"])

    return read_json(path, card, read, "human_judgement.json")
