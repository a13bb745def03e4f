"""Whole conversations of graded quality by construction, for the two dialogue-level sets.

A construction changes the model's turns only. `LEVELS` says what that does to each latent dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.sample.raters import Crowd, scales
from benchmarks.sample.texts import GENERIC, Long, garble, pick

SIZE = 40
DIMENSIONS = ("coherence", "fluency", "consistency", "diversity", "depth", "warmth", "listening", "asking", "recovery")

LEVELS: dict[str, tuple[float, ...]] = {
    #                coher fluen consi diver depth warm  liste askin recov
    "engaged":       (0.95, 0.96, 0.96, 0.88, 0.80, 0.88, 0.92, 0.66, 0.80),  # the conversation as written
    "recovering":    (0.74, 0.94, 0.58, 0.82, 0.70, 0.76, 0.78, 0.60, 0.92),  # denies itself once, then says sorry
    "contradicting": (0.62, 0.94, 0.10, 0.80, 0.66, 0.54, 0.58, 0.60, 0.18),  # denies itself once and goes on
    "ungrammatical": (0.60, 0.12, 0.74, 0.72, 0.52, 0.46, 0.62, 0.52, 0.40),  # two turns in three have lost words
    "generic":       (0.52, 0.92, 0.80, 0.20, 0.12, 0.28, 0.32, 0.10, 0.34),  # two turns in three fit everywhere
    "repetitive":    (0.40, 0.90, 0.66, 0.05, 0.24, 0.20, 0.22, 0.38, 0.20),  # says two of its turns again and again
    "off-topic":     (0.10, 0.92, 0.34, 0.66, 0.36, 0.26, 0.06, 0.56, 0.10),  # turns from other conversations
}  # fmt: skip

_OVERALL = {"coherence": 4, "depth": 2, "warmth": 3, "listening": 2, "fluency": 1, "consistency": 2, "diversity": 1}
WEIGHTS = {
    "Coherent": {"coherence": 8, "consistency": 2},
    "Error recovery": {"recovery": 1},
    "Consistent": {"consistency": 8, "coherence": 2},
    "Diverse": {"diversity": 1},
    "Depth": {"depth": 1},
    "Likeable": {"warmth": 8, "listening": 2},
    "Understanding": {"listening": 7, "coherence": 3},
    "Flexible": {"listening": 5, "diversity": 5},
    "Informative": {"depth": 8, "diversity": 2},
    "Inquisitive": {"asking": 1},
    "Overall": _OVERALL,
    "enjoy": {"warmth": 6, "listening": 2, "depth": 2},
    "interest": {"depth": 6, "warmth": 2, "diversity": 2},
    "listen": {"listening": 8, "coherence": 2},
    "turing": _OVERALL,
    "avoid_rep": {"diversity": 1},
    "make_sense": {"coherence": 7, "fluency": 1, "consistency": 2},
    "fluency": {"fluency": 1},
    "inquisitive": {"asking": 1},
    "persona_guess": {"consistency": 6, "depth": 4},
}
"""What makes up a quality of a conversation, by its name in the cards."""
APOLOGIES = (
    "Sorry, forget what I said just now, I got muddled.",
    "Wait, that was nonsense a moment ago, I beg your pardon.",
    "Oh, I mixed something up before, please ignore it.",
)



def dialogue_rows(name: str, talks: Sequence[Long], rng: np.random.Generator) -> list[dict[str, Any]]:
    """The rows of a dialogue-level set, without ids, as the real file of that name spells them."""
    fed, constructions = name == "fed-dial", tuple(LEVELS)
    pairs = [(talk, constructions[(at + 3 * round_) % len(constructions)])
             for round_ in range(4) for at, talk in enumerate(talks)]
    crowd, judged_on = Crowd.draw(*((3, 5) if fed else (1, 1)), rng), scales(name, WEIGHTS)
    key, speakers = ("dialog", {"H": "human", "M": "model"}) if fed else (
        "dialogue", {"H": "human_evaluator", "M": "model"})
    rows = []
    for talk, construction in pairs[:SIZE]:
        turns = _turns(construction, talk, talks, rng)
        levels = dict(zip(DIMENSIONS, LEVELS[construction], strict=True))
        rows.append({"dialogue_id": "", "model": construction,
                     key: [{"speaker": speakers[speaker], "text": text} for speaker, text in turns],
                     "annotations": crowd.votes(judged_on, levels, rng)})
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
    """The conversation as a construction changes it: at the slip, or in two of three turns of the model."""
    turns, (at, slip) = list(talk.turns), talk.slip
    if construction in {"contradicting", "recovering"}:
        turns[at] = ("M", slip)
    if construction == "recovering":
        turns[at + 2] = ("M", f"{pick(APOLOGIES, rng)} {turns[at + 2][1]}")
    if construction in {"engaged", "contradicting", "recovering"}:
        return turns
    own = [place for place, (speaker, _) in enumerate(turns) if speaker == "M"]
    texts = {"generic": GENERIC, "repetitive": [turns[place][1] for place in own[:2]],
             "off-topic": [text for other in every if other is not talk for who, text in other.turns if who == "M"]}
    for number, place in enumerate(own):
        if number % 3:  # the first one is left as it is
            said = turns[place][1]
            turns[place] = ("M", pick(texts[construction], rng) if construction in texts else garble(said, rng))
    return turns
