"""The seventeen turn-level sets: which conversations, systems, qualities and quirks each one has.

Names, spellings and scales are those of the organisers' files; texts and votes are made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.sample.raters import Scale
from benchmarks.sample.texts import LEVELS

Weights = Mapping[str, float]

OVERALL: Weights = {"relevance": 9, "content": 3, "engagement": 3, "consistency": 3, "fluency": 2}
RELEVANCE: Weights = {"relevance": 8, "consistency": 2}
APPROPRIATE: Weights = {"relevance": 6, "consistency": 3, "fluency": 1}
GRAMMAR: Weights = {"fluency": 9, "clarity": 1}
CONTENT: Weights = {"content": 7, "engagement": 2, "relevance": 1}
UNDERSTANDABLE: Weights = {"clarity": 7, "fluency": 3}
NATURAL: Weights = {"fluency": 4, "relevance": 4, "engagement": 2}
CONTEXT: Weights = {"relevance": 7, "consistency": 3}
ENGAGING: Weights = {"engagement": 7, "content": 2, "relevance": 1}
KNOWLEDGE: Weights = {"knowledge": 9, "content": 1}
INTERESTING: Weights = {"engagement": 5, "content": 5}
SPECIFIC: Weights = {"content": 6, "relevance": 4}
CORRECT: Weights = {"consistency": 6, "relevance": 4}

USR = (
    Scale("Understandable", 0, 1, UNDERSTANDABLE),
    Scale("Natural", 1, 3, NATURAL),
    Scale("Maintains Context", 1, 3, CONTEXT),
    Scale("Engaging", 1, 3, ENGAGING),
    Scale("Uses Knowledge", 0, 1, KNOWLEDGE),
    Scale("Overall", 1, 5, OVERALL),
)
FED = (
    Scale("Interesting", 0, 2, INTERESTING),
    Scale("Engaging", 0, 2, ENGAGING),
    Scale("Specific", 0, 2, SPECIFIC),
    Scale("Relevant", 0, 2, RELEVANCE),
    Scale("Correct", 0, 2, CORRECT),
    Scale("Semantically appropriate", 0, 2, APPROPRIATE),
    Scale("Understandable", 0, 1, UNDERSTANDABLE),
    Scale("Fluent", 0, 2, GRAMMAR),
    Scale("Overall", 0, 4, OVERALL),
)
_APPROPRIATENESS = Scale("appropriateness", 1, 5, APPROPRIATE)
_CONTENT = Scale("content", 1, 5, CONTENT)
_GRAMMAR = Scale("grammar", 1, 5, GRAMMAR)
_RELEVANCE = Scale("relevance", 1, 5, RELEVANCE)
_OVERALL = Scale("overall", 1, 5, OVERALL)
ZHAO = (_CONTENT, _GRAMMAR, _RELEVANCE, _APPROPRIATENESS)
DSTC10 = (_APPROPRIATENESS, _CONTENT, _GRAMMAR, _RELEVANCE)
DSTC7 = (_RELEVANCE, Scale("informativeness", 1, 5, CONTENT), _OVERALL)
HUMOD = (Scale("language_usage", 1, 5, GRAMMAR), _RELEVANCE)

SYSTEMS = tuple(name for name in LEVELS if name != "empty")


@dataclass(frozen=True, slots=True)
class TurnSet:
    """How one set is made. `mean_of` lists qualities of which only the mean vote is published."""

    name: str
    kinds: tuple[str, ...]
    scales: tuple[Scale, ...]
    raters: tuple[int, int]
    systems: tuple[str, ...] = SYSTEMS
    references: int = 0
    facts: bool = False
    system_key: str | None = "model"
    mean_of: tuple[str, ...] = ()
    last_turns: int | None = None
    empty: tuple[str | None, ...] = ()
    unrated: int = 0
    contest: bool = False
    clean: bool = False


def _without(*names: str) -> tuple[str, ...]:
    return tuple(name for name in SYSTEMS if name not in names)


DEV = (
    TurnSet("dstc6", ("service",), (_OVERALL,), (10, 10), references=11),
    TurnSet("dstc7", ("topical",), DSTC7, (3, 3), _without("short"), references=1, mean_of=("overall",)),
    TurnSet("persona-usr", ("persona",), USR, (3, 3), _without("rambling", "short"), references=1, facts=True),
    TurnSet("topical-usr", ("topical",), USR, (3, 3), _without("repetitive", "ungrammatical"), references=1,
            facts=True),
    TurnSet("fed-turn", ("daily", "feeling"), FED, (3, 5), ("fitting", "contradicting", "ungrammatical",
            "generic", "off-topic")),
    TurnSet("dailydialog-gupta", ("daily",), (_OVERALL,), (5, 5), _without("rambling", "short"), references=4,
            mean_of=("overall",)),
    TurnSet("dailydialog-zhao", ("daily",), ZHAO, (4, 4), references=1),
    TurnSet("persona-zhao", ("persona",), (_APPROPRIATENESS,), (4, 4), references=1),
    TurnSet("dailydialog-grade", ("daily",), (_RELEVANCE,), (8, 11), system_key="model_name"),
    TurnSet("empathetic-grade", ("feeling",), (_RELEVANCE,), (8, 11), system_key="model_name"),
    TurnSet("convai2-grade", ("persona",), (_RELEVANCE,), (8, 11), system_key="model_name"),
    TurnSet("humod", ("daily", "feeling"), HUMOD, (3, 3), ("fitting", "ungrammatical", "generic", "off-topic"),
            references=3, system_key=None, empty=("",)),
)  # fmt: skip
TEST = (
    TurnSet("jsalt", ("daily", "persona", "topical"), (_APPROPRIATENESS,), (3, 3),
            ("fitting", "ungrammatical", "repetitive", "off-topic"), empty=("", None)),
    TurnSet("esl", ("daily",), (_APPROPRIATENESS,), (1, 1), contest=True, empty=(None,)),
    TurnSet("ncm", ("topical",), (_APPROPRIATENESS,), (1, 1), contest=True, last_turns=3, empty=("",)),
    TurnSet("dstc10-topical", ("topical", "daily"), DSTC10, (4, 4), ("fitting", "paraphrase", "contradicting",
            "generic", "repetitive", "off-topic"), unrated=3, empty=("", None), clean=True),
    TurnSet("dstc10-persona", ("persona",), DSTC10, (4, 4), unrated=2, empty=("", ""), clean=True),
)  # fmt: skip
