"""See et al. (NAACL 2019): whole PersonaChat dialogues with controllable systems, on nine questions.

Upstream is a folder of JSON-lines logs, one per system: {dialog: [{speaker, text}], evaluation_results: {QUALITY:
score}, model_name, ...}. The scores already go up with quality, but for `inquisitive`, whose 4 is too many questions.
The shape is verified against the authors' own notebook, not against a stored copy. Logs are read by file name, so
the numbers differ from the organisers'. Dialogues between two people are left out: theirs have none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Quality, Source, Utterance
from benchmarks.formats.official import SPEAKERS
from benchmarks.sources.dstc11 import mirror
from benchmarks.sources.rows import RatedRow, assemble, find, official, read_each

HOMEPAGE = "https://github.com/facebookresearch/ParlAI/tree/main/projects/controllable_dialogue"
LOGS = "https://parl.ai/downloads/controllable_dialogue/evaluation_logs_reproducible_v1.tar.gz"
QUALITIES = (
    Quality("enjoy", 1, 4, "enjoyment"),
    Quality("interest", 1, 4, "interestingness"),
    Quality("listen", 1, 4, "listening"),
    Quality("turing", 1, 4, "humanness"),
    Quality("avoid_rep", 1, 3, "avoiding repetition"),
    Quality("make_sense", 1, 4, "making sense"),
    Quality("fluency", 1, 4),
    Quality("inquisitive", 1, 4, "inquisitiveness"),
    Quality("persona_guess", 0, 1, "persona retrieval"),
)

CARDS = (
    DatasetCard(
        name="persona-see", title="Persona-See", split="dev", level="dialogue", size=3316,
        qualities=QUALITIES,
        sources=(official(), mirror(), Source(LOGS, form="see")),
        licence="MIT (ParlAI)",
        citation="See, Roller, Kiela and Weston (2019). What makes a good conversation? How controllable "
                 "attributes affect human judgments. NAACL.",
        homepage=HOMEPAGE,
        notes="One vote per quality: the person who held the conversation. Printed as Persona-Chatlog in "
              "the MME-CRS paper.",
    ),
)


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every log of the folder."""
    first = find(path, "*.jsonl")
    logs = [first] if path.is_file() else sorted(path.rglob("*.jsonl"))
    return assemble(card, (row for log in logs for row in read_each(log, _lines(log), _read)))


def _lines(log: Path) -> Iterator[str]:
    with log.open(encoding="utf-8") as stream:
        yield from (line for line in stream if line.strip())


def _read(line: str) -> Iterator[RatedRow]:
    record: Any = json.loads(line)
    if all(turn["speaker"] != "model" for turn in record["dialog"]):
        return
    scores = record["evaluation_results"]
    yield RatedRow(
        context=[Utterance(SPEAKERS.get(turn["speaker"], turn["speaker"]), turn["text"]) for turn in record["dialog"]],
        response=None,
        votes={quality.name: [scores[quality.name]] for quality in QUALITIES},
        system=record["model_name"],
    )
