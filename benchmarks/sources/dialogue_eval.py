"""Ji et al. (ACL 2022): dialogues with ten chatbots, rated by the person who talked, on seven scales from 0 to 100.

Upstream is a list of tasks: {WorkerId, data: [{model, dialogue: [{user, bot}], raw scores, z scores}]}. Votes are the
raw scores. Robotic and repetitive were turned upstream, so that higher is better for all seven. Each task has a
dialogue with `QualityControl`, a bot made worse on purpose to test the worker; these dialogues are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.sources import RatedRow, published, read_json

CONTROL = "QualityControl"
SCALES = {
    "not robotic": ("robotic", "humanlikeness"),
    "interesting": ("interesting", "interestingness"),
    "fun": ("fun", "fun"),
    "consistent": ("consistent", "consistency"),
    "fluent": ("fluent", "fluency"),
    "not repetitive": ("repetitive", "avoiding repetition"),
    "topic": ("topic", "topic"),
}
"""Name upstream and dimension of each quality."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    return read_json(published(path, card), card, _read)


def _read(record: Any) -> Iterator[RatedRow]:
    for entry in record["data"]:
        if entry["model"] != CONTROL:
            turns = [Utterance(speaker, turn[side]) for turn in entry["dialogue"]
                     for side, speaker in (("user", USER), ("bot", SYSTEM))]
            votes = {quality: {record["WorkerId"]: float(entry["raw scores"][name])}
                     for quality, (name, _) in SCALES.items()}
            yield RatedRow(turns, None, votes, system=entry["model"])
