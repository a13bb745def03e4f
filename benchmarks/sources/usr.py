"""USR (Mehri and Eskenazi, ACL 2020): replies on PersonaChat and Topical-Chat, judged on six qualities.

Upstream is one JSON list per corpus: {context, fact, responses: [{model, response, QUALITY: [votes]}]}. The reference
is the response of the model "Original Ground Truth". The shape is verified against published readers of the files,
not against a stored copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset, DatasetCard, Quality, Source
from benchmarks.formats.official import alternating, lines
from benchmarks.formats.raw import RatedRow, read_json
from benchmarks.sources import MIRROR, official

TRUTH = "Original Ground Truth"
QUALITIES = (
    Quality("Understandable", 0, 1, "understandability"),
    Quality("Natural", 1, 3, "naturalness"),
    Quality("Maintains Context", 1, 3),
    Quality("Engaging", 1, 3, "engagement"),
    Quality("Uses Knowledge", 0, 1),
    Quality("Overall", 1, 5),
)


PERSONA = DatasetCard(
    name="persona-usr", title="PersonaChat-USR", split="dev", level="turn", size=300, qualities=QUALITIES,
    sources=(official("a9ec370dec3ae60aa8f2f4f1d40041661c6060ea1e6a89e23c12df08ba663fab"), MIRROR,
             Source("http://shikib.com/pc_usr_data.json", form="usr")),
    licence="not stated",
    citation="Mehri and Eskenazi (2020). USR: An Unsupervised and Reference Free Evaluation Metric "
             "for Dialog Generation. ACL.",
    homepage="http://shikib.com/usr",
    notes="3 votes per quality, on scales that differ. 60 replies are the original ground truth, "
          "so they equal their own reference.",
)
CARDS = (PERSONA, replace(
    PERSONA, name="topical-usr", title="TopicalChat-USR", size=360,
    sources=(official("936a0963c6476bd29edb5710f6f6b510ae450e174655773f9d5a2ce18dd96ad3"), MIRROR,
             Source("http://shikib.com/tc_usr_data.json", form="usr"))))


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every response to every context."""
    return read_json(path, card, _read, "*_usr_data.json")


def _read(record: Any) -> Iterator[RatedRow]:
    context, facts = alternating(record["context"].split("\n")), lines(record["fact"])
    truths = [response["response"] for response in record["responses"] if response["model"] == TRUTH]
    for response in record["responses"]:
        yield RatedRow(context, response["response"], {quality.name: response[quality.name] for quality in QUALITIES},
                       truths, facts, response["model"])
