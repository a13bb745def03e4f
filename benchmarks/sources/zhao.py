"""Zhao et al. (ACL 2020): replies of many decoders on DailyDialog and PersonaChat, four raters each.

Upstream is `ACL2020_data.zip` with one JSON object per corpus, from dialogue id to {context: [[floor, text]],
reference: [floor, text], responses: {system: {uttr, scores: {hit: {QUALITY: vote}}}}}. What the organisers call
appropriateness is `overall` there. The shape is verified against the authors' code, not against a stored copy, and
the name of the PersonaChat file is a guess after that of the DailyDialog file, `dd_annotations.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Quality, Source, Utterance
from benchmarks.formats.raw import RatedRow, read_json
from benchmarks.sources import MIRROR, official

RECORD = "https://zenodo.org/records/3828180"
DATA = Source(f"{RECORD}/files/ACL2020_data.zip", form="zhao")
APPROPRIATENESS = Quality("appropriateness", 1, 5)
FOUR = (Quality("content", 1, 5), Quality("grammar", 1, 5), Quality("relevance", 1, 5), APPROPRIATENESS)


def _card(name: str, title: str, qualities: tuple[Quality, ...], sha256: str) -> DatasetCard:
    return DatasetCard(
        name=name, title=title, split="dev", level="turn", size=900, qualities=qualities,
        sources=(official(sha256), MIRROR, DATA),
        licence="Apache-2.0 (code repository)",
        citation="Zhao, Lala and Kawahara (2020). Designing Precise and Robust Dialogue Response Evaluators. "
                 "ACL.",
        homepage=RECORD,
        notes="4 votes per quality. The organisers' baseline script calls overall what the files call "
              "appropriateness. Ground-truth replies equal their own reference.",
    )


CARDS = (
    _card("dailydialog-zhao", "DailyDialog-Zhao", FOUR,
          "fe9479aaf91c45887cc84085c281aab4591ac01766bde5aae6ee79bcbd9d99bb"),
    _card("persona-zhao", "PersonaChat-Zhao", (APPROPRIATENESS,),
          "f4ff1886b08979bd2a0d24ba0a46fdf1cb2d0cf46d242bd9e6e3ba6ae039c86e"),
)

FILES = {
    "dailydialog-zhao": ("dd_*.json", "*dailydialog*.json", "*DailyDialog*.json"),
    "persona-zhao": ("pc_*.json", "persona*.json", "*persona*.json", "*PersonaChat*.json"),
}
"""What the file of each dataset may be called, best first."""


UPSTREAM = {"content": "content", "grammar": "grammar", "relevance": "relevance", "appropriateness": "overall"}
"""What upstream calls each quality."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the responses that were scored."""
    return read_json(path, card, _read, *FILES[card.name])


def _read(record: Any) -> Iterator[RatedRow]:
    floor, reference = record["reference"]
    context = [Utterance(SYSTEM if speaker == floor else USER, text) for speaker, text in record["context"]]
    for system, response in record["responses"].items():
        if "scores" in response:
            votes = {name: [hit[field] for hit in response["scores"].values() if field in hit]
                     for name, field in UPSTREAM.items()}
            yield RatedRow(context, response["uttr"], {name: given for name, given in votes.items() if given},
                           [reference], system=system)
