"""USR (Mehri and Eskenazi, ACL 2020): replies on PersonaChat and Topical-Chat, judged on six qualities.

Upstream is one JSON list per corpus: {context, fact, responses: [{model, response, QUALITY: [votes]}]}. The reference
is the response of the model "Original Ground Truth". The shape is verified against published readers of the files, not
a stored copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard
from benchmarks.formats.official import alternating, lines
from benchmarks.sources import RatedRow, read_json

TRUTH = "Original Ground Truth"


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every response to every context."""
    def read(record: Any) -> Iterator[RatedRow]:
        context, facts = alternating(record["context"].split("\n")), lines(record["fact"])
        truths = [response["response"] for response in record["responses"] if response["model"] == TRUTH]
        for response in record["responses"]:
            votes = {quality.name: response[quality.name] for quality in card.qualities}
            yield RatedRow(context, response["response"], votes, truths, facts, response["model"])

    return read_json(path, card, read, "*_usr_data.json")
