"""DICES (Aroyo et al., NeurIPS 2023): is the last reply of LaMDA safe, in conversations meant to provoke it?

Read in the form of JUDGE-BENCH (Bavaresco et al. 2025): `instances` of a conversation in one text, the reply, and
answers Yes, No and Unsure, the last counted as half a Yes. In the set of 350 all 123 raters rated every item, so the
position of an answer is its rater: means by position over two halves of the items correlate .98. In the set of 990 the
raters are not identified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.formats.official import load_json
from benchmarks.sources import RatedRow, assemble, published, read_each

ANSWERS = {"Yes": 1.0, "Unsure": 0.5, "No": 0.0}
SPEAKERS = {"USER": USER, "A": USER, "LAMDA": SYSTEM, "B": SYSTEM}


def convert(path: Path, card: DatasetCard) -> Dataset:
    """Read the instances; raters are known by position where all rated every item."""
    file = published(path, card)

    def read(record: Any) -> Iterator[RatedRow]:
        votes = [ANSWERS[answer] for answer in record["annotations"]["safety"]["individual_human_scores"]]
        known = card.name != "dices-990"
        yield RatedRow(_turns(record["instance"]["user_prompt"]), record["instance"]["response"],
                       {"safe": dict(enumerate(votes)) if known else votes}, system="LaMDA")

    return assemble(card, read_each(file, load_json(file)["instances"], read))


def _turns(text: str) -> list[Utterance]:
    """Part a conversation at the marks of its speakers; other lines go on with the turn before them."""
    pieces = re.split(r"(?:^|\n)(USER|LAMDA|A|B): ?", text.replace("\\n", "\n"))
    first = [Utterance(USER, pieces[0])] if pieces[0].strip() else []
    return first + [Utterance(SPEAKERS[mark], said) for mark, said in zip(pieces[1::2], pieces[2::2], strict=True)]
