"""ABC-Eval as labelled again for GPT-ABCEval (Finch et al., SIGDIAL 2023): nine behaviours, in every turn of a chatbot.

Upstream is an object from dialogue to its turns: {user, system, behaviors: {NAME: {human: [0, 1], gpt, specialized}}}.
All but `empathetic` are faults and are turned, so that higher is better. The labels of GPT-3.5 and of specialised
classifiers are its published scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.formats.official import load_json
from benchmarks.sources import RatedRow, assemble, published, read_each

GOOD = "empathetic"
BEHAVIOURS = {
    "no self contradiction": "self contradiction",
    GOOD: GOOD,
    "no lack of empathy": "lack of empathy",
    "not irrelevant": "irrelevant",
    "not ignoring": "ignore",
    "no incorrect fact": "incorrect fact",
    "no commonsense contradiction": "commonsense contradiction",
    "no partner contradiction": "partner contradiction",
    "not redundant": "redundant",
}
"""Name upstream of each quality."""
AUTHORS = ("gpt", "specialized")
"""Programs that labelled the turns."""


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read every turn with the turns before it."""
    file = published(path, card)
    return assemble(card, read_each(file, load_json(file).items(), _read))


def _read(record: tuple[str, Any]) -> Iterator[RatedRow]:
    dialogue, turns = record
    context: list[Utterance] = []
    for turn in turns:
        context.append(Utterance(USER, turn["user"]))
        labels = {quality: turn["behaviors"][name] for quality, name in BEHAVIOURS.items()}
        yield RatedRow(
            tuple(context), turn["system"], {quality: [_turned(quality, vote) for vote in values["human"]]
                                             for quality, values in labels.items()},
            system=dialogue.rpartition(")_")[2],
            scores={author: {quality: _turned(quality, values[author]) for quality, values in labels.items()
                             if author in values} for author in AUTHORS})
        context.append(Utterance(SYSTEM, turn["system"]))


def _turned(quality: str, label: float) -> float:
    return float(label) if quality == GOOD else 1.0 - float(label)
