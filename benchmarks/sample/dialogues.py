"""Whole conversations of graded quality by construction, for the two dialogue-level sets.

A construction changes the model's turns only. `LEVELS` says what that does to each latent dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.sample.material import Long
from benchmarks.sample.raters import Crowd, Scale, vote
from benchmarks.sample.responses import GENERIC, garble, pick

SIZE = 40
DIMENSIONS = ("coherence", "fluency", "consistency", "diversity", "depth", "warmth", "listening", "asking", "recovery")

LEVELS: dict[str, tuple[tuple[float, ...], str]] = {
    #                 coher  fluen  consi  diver  depth  warm   liste  askin  recov
    "engaged":       ((0.95, 0.96, 0.96, 0.88, 0.80, 0.88, 0.92, 0.66, 0.80), "the conversation as written"),
    "recovering":    ((0.74, 0.94, 0.58, 0.82, 0.70, 0.76, 0.78, 0.60, 0.92), "denies itself once, then says sorry"),
    "contradicting": ((0.62, 0.94, 0.10, 0.80, 0.66, 0.54, 0.58, 0.60, 0.18), "denies itself once and goes on"),
    "ungrammatical": ((0.60, 0.12, 0.74, 0.72, 0.52, 0.46, 0.62, 0.52, 0.40), "two turns in three have lost words"),
    "generic":       ((0.52, 0.92, 0.80, 0.20, 0.12, 0.28, 0.32, 0.10, 0.34), "two turns in three fit everywhere"),
    "repetitive":    ((0.40, 0.90, 0.66, 0.05, 0.24, 0.20, 0.22, 0.38, 0.20), "says two of its turns again and again"),
    "off-topic":     ((0.10, 0.92, 0.34, 0.66, 0.36, 0.26, 0.06, 0.56, 0.10), "turns from other conversations"),
}  # fmt: skip

_OVERALL = {"coherence": 4, "depth": 2, "warmth": 3, "listening": 2, "fluency": 1, "consistency": 2, "diversity": 1}
FED = (
    Scale("Coherent", 0, 2, {"coherence": 8, "consistency": 2}),
    Scale("Error recovery", 0, 2, {"recovery": 1}),
    Scale("Consistent", 0, 1, {"consistency": 8, "coherence": 2}),
    Scale("Diverse", 0, 2, {"diversity": 1}),
    Scale("Depth", 0, 2, {"depth": 1}),
    Scale("Likeable", 0, 2, {"warmth": 8, "listening": 2}),
    Scale("Understanding", 0, 2, {"listening": 7, "coherence": 3}),
    Scale("Flexible", 0, 2, {"listening": 5, "diversity": 5}),
    Scale("Informative", 0, 2, {"depth": 8, "diversity": 2}),
    Scale("Inquisitive", 0, 2, {"asking": 1}),
    Scale("Overall", 0, 4, _OVERALL),
)
SEE = (
    Scale("enjoy", 1, 4, {"warmth": 6, "listening": 2, "depth": 2}),
    Scale("interest", 1, 4, {"depth": 6, "warmth": 2, "diversity": 2}),
    Scale("listen", 1, 4, {"listening": 8, "coherence": 2}),
    Scale("turing", 1, 4, _OVERALL),
    Scale("avoid_rep", 1, 3, {"diversity": 1}),
    Scale("make_sense", 1, 4, {"coherence": 7, "fluency": 1, "consistency": 2}),
    Scale("fluency", 1, 4, {"fluency": 1}),
    Scale("inquisitive", 1, 4, {"asking": 1}),
    Scale("persona_guess", 0, 1, {"consistency": 6, "depth": 4}),
)
APOLOGIES = (
    "Sorry, forget what I said just now, I got muddled.",
    "Wait, that was nonsense a moment ago, I beg your pardon.",
    "Oh, I mixed something up before, please ignore it.",
)

Turns = list[tuple[str, str]]
Construction = Callable[[Long, Sequence[Long], np.random.Generator], Turns]


def dialogue_rows(name: str, talks: Sequence[Long], rng: np.random.Generator) -> list[dict[str, Any]]:
    """The rows of a dialogue-level set, without ids, as the real file of that name spells them."""
    constructions = tuple(LEVELS)
    pairs = [
        (talk, constructions[(at + 3 * round_) % len(constructions)])
        for round_ in range(4)
        for at, talk in enumerate(talks)
    ]
    crowd = Crowd.draw(*((3, 5) if name == "fed-dial" else (1, 1)), rng)
    rows = []
    for talk, construction in pairs[:SIZE]:
        turns = CONSTRUCTIONS[construction](talk, talks, rng)
        rows.append(_row(name, turns, construction, crowd, rng))
    if name == "fed-dial":
        _not_applicable(rows, rng)
    return rows


def _row(name: str, turns: Turns, construction: str, crowd: Crowd, rng: np.random.Generator) -> dict[str, Any]:
    key, person = ("dialog", "human") if name == "fed-dial" else ("dialogue", "human_evaluator")
    speakers = {"H": person, "M": "model"}
    scales = FED if name == "fed-dial" else SEE
    levels: Mapping[str, float] = dict(zip(DIMENSIONS, LEVELS[construction][0], strict=True))
    beliefs = list(crowd.beliefs({scale.name: scale.level(levels) for scale in scales}, rng))
    return {
        "dialogue_id": "",
        "model": construction,
        key: [{"speaker": speakers[speaker], "text": text} for speaker, text in turns],
        "annotations": {scale.name: [vote(belief[scale.name], scale) for belief in beliefs] for scale in scales},
    }


def _not_applicable(rows: Sequence[dict[str, Any]], rng: np.random.Generator) -> None:
    """Drop votes on error recovery, mostly where the model made no error; one list stays empty."""
    for row in rows:
        chance = 0.45 if row["model"] == "engaged" else 0.85
        votes = row["annotations"]["Error recovery"]
        remaining = [value for value in votes if rng.random() < chance]
        row["annotations"]["Error recovery"] = remaining or votes[:1]
    flawless = next(row for row in reversed(rows) if row["model"] == "engaged")
    flawless["annotations"]["Error recovery"] = []


def _contradicting(talk: Long, _every: Sequence[Long], _rng: np.random.Generator) -> Turns:
    turns = list(talk.turns)
    at, slip = talk.slip
    turns[at] = ("M", slip)
    return turns


def _recovering(talk: Long, every: Sequence[Long], rng: np.random.Generator) -> Turns:
    turns = _contradicting(talk, every, rng)
    at = talk.slip[0] + 2
    turns[at] = ("M", f"{pick(APOLOGIES, rng)} {turns[at][1]}")
    return turns


def _repetitive(talk: Long, _every: Sequence[Long], rng: np.random.Generator) -> Turns:
    said = [text for speaker, text in talk.turns if speaker == "M"][:2]
    return _change(talk, lambda _text: pick(said, rng))


def _off_topic(talk: Long, every: Sequence[Long], rng: np.random.Generator) -> Turns:
    foreign = [text for other in every if other is not talk for who, text in other.turns if who == "M"]
    return _change(talk, lambda _text: pick(foreign, rng))


def _change(talk: Long, change: Callable[[str], str]) -> Turns:
    """The conversation with two of three turns of the model changed, the first one left as it is."""
    turns: Turns = []
    own = 0
    for speaker, text in talk.turns:
        changed = speaker == "M" and own % 3 != 0
        own += speaker == "M"
        turns.append((speaker, change(text) if changed else text))
    return turns


CONSTRUCTIONS: dict[str, Construction] = {
    "engaged": lambda talk, _every, _rng: list(talk.turns),
    "recovering": _recovering,
    "contradicting": _contradicting,
    "ungrammatical": lambda talk, _every, rng: _change(talk, lambda text: garble(text, rng)),
    "generic": lambda talk, _every, rng: _change(talk, lambda _text: pick(GENERIC, rng)),
    "repetitive": _repetitive,
    "off-topic": _off_topic,
}
