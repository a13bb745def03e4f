"""Whole conversations of graded quality by construction, for the two dialogue-level sets.

A construction changes the model's turns only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.sample.raters import Crowd, scales
from benchmarks.sample.texts import SAYINGS, TABLES, Long, garble, levels, pick

LEVELS = levels("dialogue")


def dialogue_rows(name: str, talks: Sequence[Long], rng: np.random.Generator) -> list[dict[str, Any]]:
    """The rows of a dialogue-level set, without ids, as the real file of that name spells them."""
    fed, constructions = name == "fed-dial", tuple(LEVELS)
    pairs = [(talk, construction) for talk in talks for construction in constructions]
    crowd, judged_on = Crowd.draw(*((3, 5) if fed else (1, 1)), rng), scales(name, TABLES["dialogue"]["weights"])
    key, speakers = ("dialog", {"H": "human", "M": "model"}) if fed else (
        "dialogue", {"H": "human_evaluator", "M": "model"})
    rows = []
    for talk, construction in pairs:
        turns = _turns(construction, talk, talks, rng)
        rows.append({"dialogue_id": "", "model": construction,
                     key: [{"speaker": speakers[speaker], "text": text} for speaker, text in turns],
                     "annotations": crowd.votes(judged_on, LEVELS[construction], rng)})
    if fed:
        _not_applicable(rows, rng)
    return rows


def _not_applicable(rows: Sequence[dict[str, Any]], rng: np.random.Generator) -> None:
    """Drop votes on error recovery, mostly where the model made no error; one list stays empty."""
    for row in rows:
        chance = 0.45 if row["model"] == "engaged" else 0.85
        votes = row["annotations"]["Error recovery"]
        remaining = [value for value in votes if rng.random() < chance]
        row["annotations"]["Error recovery"] = remaining or votes[:1]
    flawless = next(row for row in reversed(rows) if row["model"] == "engaged")
    flawless["annotations"]["Error recovery"] = []


def _turns(construction: str, talk: Long, every: Sequence[Long], rng: np.random.Generator) -> list[tuple[str, str]]:
    """The conversation as a construction changes it: at the slip, or in two of four turns of the model."""
    turns, (at, slip) = list(talk.turns), talk.slip
    if construction in {"contradicting", "recovering"}:
        turns[at] = ("M", slip)
    if construction == "recovering":
        turns[at + 2] = ("M", f"{pick(SAYINGS['apologies'], rng)} {turns[at + 2][1]}")
    if construction in {"engaged", "contradicting", "recovering"}:
        return turns
    own = [place for place, (speaker, _) in enumerate(turns) if speaker == "M"]
    texts = {"generic": SAYINGS["generic"], "repetitive": [turns[place][1] for place in own[:2]],
             "off-topic": [text for other in every if other is not talk for who, text in other.turns if who == "M"]}
    for number, place in enumerate(own):
        if number % 3:  # the first one is left as it is
            said = turns[place][1]
            turns[place] = ("M", pick(texts[construction], rng) if construction in texts else garble(said, rng))
    return turns
