"""Zhao et al. (ACL 2020): replies of many decoders on DailyDialog and PersonaChat, four raters each.

Upstream is `ACL2020_data.zip` with one JSON object per corpus, from dialogue id to {context: [[floor, text]],
reference: [floor, text], responses: {system: {uttr, scores: {hit: {QUALITY: vote}}}}}. The quality that the organisers
call appropriateness is named `overall` there. The format was checked against the authors' code, not against a copy of
the data; the name of the PersonaChat file is guessed from that of the DailyDialog file, `dd_annotations.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.sources import RatedRow, read_json

FILES = {
    "dailydialog-zhao": ("dd_*.json", "*dailydialog*.json", "*DailyDialog*.json"),
    "persona-zhao": ("pc_*.json", "persona*.json", "*persona*.json", "*PersonaChat*.json"),
}
"""File name patterns of each dataset, in order of preference."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the responses that were scored."""
    def read(record: Any) -> Iterator[RatedRow]:
        floor, reference = record["reference"]
        context = [Utterance(SYSTEM if speaker == floor else USER, text) for speaker, text in record["context"]]
        for system, response in record["responses"].items():
            if "scores" in response:
                hits = response["scores"].values()
                votes = {name: [hit[field] for hit in hits if field in hit] for name, field in fields.items()}
                yield RatedRow(context, response["uttr"], {name: rated for name, rated in votes.items() if rated},
                               [reference], system=system)

    names = [quality.name for quality in card.qualities]
    fields = {name: "overall" if name == "appropriateness" else name for name in names}
    return read_json(path, card, read, *FILES[card.name])
