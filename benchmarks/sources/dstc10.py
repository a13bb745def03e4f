"""DSTC10 Track 5 (Zhang et al. 2021): the five hidden test sets, to be had from the organisers alone."""

from __future__ import annotations

from typing import Literal

from benchmarks.dataset import DatasetCard, Quality
from benchmarks.sources import CHATEVAL, official

FOUR = tuple(Quality(name) for name in ("appropriateness", "content", "grammar", "relevance"))
ONE = (Quality("appropriateness"),)
CLEAN = ("The cleaned file (<name>_clean_eval.json) is the one of the challenge. Some rows have no "
         "annotations, and rows with an empty response are not judged.")
WON = ("The quality is read from the field win_ratio, as the challenge's own scripts do. "
       "Papers disagree on the number of annotations.")


def _card(name: str, title: str, size: int, qualities: tuple[Quality, ...], notes: str,
          rated_by: Literal["annotations", "win_ratio"] = "annotations") -> DatasetCard:
    return DatasetCard(
        name=name, title=title, split="test", level="turn", size=size, qualities=qualities,
        sources=(official(),),
        licence="not stated",
        citation="Zhang, Sedoc, D'Haro, Banchs and Rudnicky (2021). Automatic Evaluation and Moderation of "
                 "Open-domain Dialogue Systems. arXiv:2111.02110.",
        homepage=CHATEVAL,
        notes=notes,
        rated_by=rated_by,
    )


CARDS = (
    _card("jsalt", "JSALT", 741, ONE, "Conversations between people."),
    _card("esl", "ESL", 1242, ONE, WON, "win_ratio"),
    _card("ncm", "NCM", 2461, ONE, WON, "win_ratio"),
    _card("dstc10-topical", "Topical-DSTC10", 4500, FOUR, CLEAN),
    _card("dstc10-persona", "Persona-DSTC10", 4829, FOUR,
          f"{CLEAN} 4829 rows in the cleaned file and in the organisers' paper, 5000 in the uncleaned file "
          "and in the MME-CRS paper."),
)
