"""Gupta et al. (SIGDIAL 2019): five systems on DailyDialog, with several references for each context.

Upstream is a CSV with the mean rating of each response; turns are joined by "||||", references by tabs.
Verified against a stored copy.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Quality, Source
from benchmarks.formats.official import alternating
from benchmarks.formats.raw import RatedRow, assemble, find, read_each
from benchmarks.sources import MIRROR, official

REPOSITORY = "https://github.com/prakharguptaz/multirefeval"
COMMIT = "2a4b5440e21dba518dffd6d535dfb1450ab9c4a7"
FILE = "mturk_rating_processed_output.csv"
RATINGS = f"https://raw.githubusercontent.com/prakharguptaz/multirefeval/{COMMIT}/multiref-dataset/{FILE}"

CARDS = (
    DatasetCard(
        name="dailydialog-gupta", title="DailyDialog-Gupta", split="dev", level="turn", size=500,
        qualities=(Quality("overall", 1, 5),),
        sources=(official("d2e92474e39849572df78a6735e62af1367160b905279f2afd5737c0a41288aa"), MIRROR,
                 Source(RATINGS, form="gupta")),
        licence="not stated",
        citation="Gupta, Mehri, Zhao, Pavel, Eskenazi and Bigham (2019). Investigating Evaluation of "
                 "Open-Domain Dialogue Systems With Human Generated Multiple References. SIGDIAL.",
        homepage=REPOSITORY,
        notes="Only the mean rating is published: one vote, which is a fraction. "
              "Papers give 1500 or 2500 annotations. 4 references per item.",
    ),
)


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read one response a line of the table."""
    file = find(path, FILE)
    with file.open(encoding="utf-8", newline="") as stream:
        return assemble(card, read_each(file, csv.DictReader(stream), _read))


def _read(record: Any) -> Iterator[RatedRow]:
    yield RatedRow(alternating(record["context"].split("||||")), record["response"],
                   {"overall": [float(record["human_average_rating"])]}, record["all_references"].split("\t"),
                   system=record["model"])
