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
from benchmarks.formats.raw import RatedRow, assemble, find, read_each
from benchmarks.sources import MIRROR, official

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
        sources=(official(), MIRROR, Source(LOGS, form="see")),
        licence="MIT (ParlAI)",
        citation="See, Roller, Kiela and Weston (2019). What makes a good conversation? How controllable "
                 "attributes affect human judgments. NAACL.",
        homepage="https://github.com/facebookresearch/ParlAI/tree/main/projects/controllable_dialogue",
        notes="One vote per quality: the person who held the conversation. Printed as Persona-Chatlog in "
              "the MME-CRS paper.",
    ),
)


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every log of the folder."""
    first = find(path, "*.jsonl")
    logs = [first] if path.is_file() else sorted(path.rglob("*.jsonl"))
    return assemble(card, (row for log in logs for row in read_each(
        log, filter(str.strip, log.read_text(encoding="utf-8").split("\n")), _read)))


def _read(line: str) -> Iterator[RatedRow]:
    record: Any = json.loads(line)
    turns, scores = record["dialog"], record.get("evaluation_results")
    if any(turn["speaker"] == "model" for turn in turns):
        yield RatedRow([Utterance(SPEAKERS.get(turn["speaker"], turn["speaker"]), turn["text"]) for turn in turns],
                       None, {quality.name: [scores[quality.name]] for quality in QUALITIES},
                       system=record["model_name"])
