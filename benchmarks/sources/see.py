"""See et al. (NAACL 2019): PersonaChat dialogues with controllable systems, rated as a whole on nine questions.

Upstream is a folder of JSON-lines logs, one per system: {dialog: [{speaker, text}], evaluation_results: {QUALITY:
score}, model_name, ...}. A higher score is better, except for `inquisitive`, where 4 means too many questions. The
format was checked against the authors' notebook, not against a copy of the data. Logs are read in order of file name,
so items are numbered differently from the organisers'. Dialogues between two people have no scores and are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Utterance
from benchmarks.formats.official import SPEAKERS
from benchmarks.sources import RatedRow, assemble, find, read_each


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every log of the folder."""
    def read(line: str) -> Iterator[RatedRow]:
        record: Any = json.loads(line)
        if any(turn["speaker"] == "model" for turn in record["dialog"]):
            yield RatedRow([Utterance(SPEAKERS.get(turn["speaker"], turn["speaker"]), turn["text"])
                            for turn in record["dialog"]], None,
                           {quality.name: [record["evaluation_results"][quality.name]] for quality in card.qualities},
                           system=record["model_name"])

    first = find(path, "*.jsonl")
    logs = [first] if path.is_file() else sorted(path.rglob("*.jsonl"))
    return assemble(card, (row for log in logs for row in read_each(
        log, filter(str.strip, log.read_text(encoding="utf-8").split("\n")), read)))
