"""MRBench (Maurya et al., NAACL 2025): replies of language models and human tutors to a pupil who made a mistake.

Upstream is a list of conversations: {conversation_history, anno_llm_responses: {tutor: {response, annotation}}}. Each
answer was agreed by the annotators. Revealing the answer is turned, so that higher is better. Some conversations share
an id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Utterance
from benchmarks.sources import RatedRow, published, read_json

SCALE = {"No": 0.0, "To some extent": 1.0, "Yes": 2.0}
REVEALS = {"Yes (and the answer is correct)": 0.0, "Yes (but the answer is incorrect)": 0.0, "No": 1.0}
TONE = {"Offensive": 0.0, "Neutral": 1.0, "Encouraging": 2.0}
QUALITIES = {
    "mistake identification": ("Mistake_Identification", SCALE),
    "mistake location": ("Mistake_Location", SCALE),
    "not revealing the answer": ("Revealing_of_the_Answer", REVEALS),
    "providing guidance": ("Providing_Guidance", SCALE),
    "actionability": ("Actionability", SCALE),
    "humanlikeness": ("humanlikeness", SCALE),
    "coherence": ("Coherence", SCALE),
    "tutor tone": ("Tutor_Tone", TONE),
}
"""Name upstream and value of each answer."""

def convert(path: Path, card: DatasetCard) -> Dataset:
    return read_json(published(path, card), card, _read)


def _read(record: Any) -> Iterator[RatedRow]:
    pieces = re.split(r"(?:^|\n)\s*(Tutor|Student): ?", record["conversation_history"].replace("\xa0", " "))
    context = [Utterance(SYSTEM if mark == "Tutor" else USER, " ".join(text.split()))
               for mark, text in zip(pieces[1::2], pieces[2::2], strict=True)]
    for tutor, reply in record["anno_llm_responses"].items():
        yield RatedRow(context, reply["response"],
                       {quality: [values[reply["annotation"][name]]] for quality, (name, values) in QUALITIES.items()},
                       system=tutor)
