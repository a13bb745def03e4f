"""FED (Mehri and Eskenazi, SIGDIAL 2020): turns and whole dialogues with Meena, Mitsuku and people.

Upstream is one JSON list for both levels: {context, response, system, annotations}, every line of `context` marked
"User: " or "System: ". Without `response` the record is about the whole dialogue. Verified against a stored copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Level, Quality, Source, Utterance
from benchmarks.formats.official import lines
from benchmarks.formats.raw import RatedRow, read_json
from benchmarks.sources import MIRROR, official

DATA = "http://shikib.com/fed_data.json"
TURN = (
    Quality("Interesting", 0, 2, "interestingness"),
    Quality("Engaging", 0, 2, "engagement"),
    Quality("Specific", 0, 2, "specificity"),
    Quality("Relevant", 0, 2, "relevance"),
    Quality("Correct", 0, 2, "correctness"),
    Quality("Semantically appropriate", 0, 2, "semantic appropriateness"),
    Quality("Understandable", 0, 1, "understandability"),
    Quality("Fluent", 0, 2, "fluency"),
    Quality("Overall", 0, 4),
)
DIALOGUE = (
    Quality("Coherent", 0, 2, "coherence"),
    Quality("Error recovery", 0, 2),
    Quality("Consistent", 0, 1, "consistency"),
    Quality("Diverse", 0, 2, "diversity"),
    Quality("Depth", 0, 2),
    Quality("Likeable", 0, 2, "likeability"),
    Quality("Understanding", 0, 2),
    Quality("Flexible", 0, 2, "flexibility"),
    Quality("Informative", 0, 2, "informativeness"),
    Quality("Inquisitive", 0, 2, "inquisitiveness"),
    Quality("Overall", 0, 4),
)


def _card(name: str, title: str, level: Level, qualities: tuple[Quality, ...], size: int, sha256: str,
          notes: str) -> DatasetCard:
    return DatasetCard(
        name=name, title=title, split="dev", level=level, size=size, qualities=qualities,
        sources=(official(sha256), MIRROR, Source(DATA, form="fed")),
        licence="not stated",
        citation="Mehri and Eskenazi (2020). Unsupervised Evaluation of Interactive Dialog with DialoGPT. "
                 "SIGDIAL.",
        homepage=DATA, dialogues="fed",
        notes=f"Answers in words ('N/A ...') are no votes and are left out. {notes} "
              "Papers disagree on the number of annotations. FED-Turn and FED-Dial are of the same conversations.",
    )


CARDS = (
    _card("fed-turn", "FED-Turn", "turn", TURN, 375,
          "9feb0d8911d0b85bcc69f3f011f1e5bb24ac9be403298aedf10a0df601e8c3db", "3 to 5 votes per quality."),
    _card("fed-dial", "FED-Dial", "dialogue", DIALOGUE, 125,
          "0b4f0459f71d1a8bbafe1ee3cbeabd106737f96d1f612440891f49105302ad3f",
          "0 to 5 votes: nobody could judge 'Error recovery' of fed-dial_00099."),
)


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the records of the level of the card; marks name the speakers, and words are no votes."""
    def read(record: Any) -> Iterator[RatedRow]:
        if ("response" in record) is (card.level == "turn"):
            response = record.get("response")
            yield RatedRow(
                context=[_turn(line) for line in lines(record["context"])],
                response=None if response is None else response.removeprefix("System: "),
                votes={name: [vote for vote in votes if not isinstance(vote, str)]
                       for name, votes in record["annotations"].items()},
                system=record["system"],
            )

    return read_json(path, card, read, "fed_data.json")


def _turn(line: str) -> Utterance:
    mark, _, text = line.partition(":")
    return {"System": Utterance(SYSTEM, text), "User": Utterance(USER, text)}.get(mark, Utterance(USER, line))
