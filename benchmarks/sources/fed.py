"""FED (Mehri and Eskenazi, SIGDIAL 2020): turns and whole dialogues with Meena, Mitsuku and people.

Upstream is one JSON list for both levels: {context, response, system, annotations}, every line of `context` marked
"User: " or "System: ". A record without `response` is about the whole dialogue. Verified against a stored copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.formats.official import lines
from benchmarks.sources import RatedRow, read_json


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the records of the card's level; answers in words are ignored."""
    def read(record: Any) -> Iterator[RatedRow]:
        response = record.get("response")
        if ("response" in record) is (card.level == "turn"):
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
