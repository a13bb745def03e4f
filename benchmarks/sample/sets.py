"""The seventeen turn-level sets: which conversations, systems, qualities and quirks each one has.

Names, spellings and scales are those of the cards, so of the organisers' files; texts and votes are made here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.sample.texts import LEVELS

Weights = Mapping[str, float]

OVERALL: Weights = {"relevance": 9, "content": 3, "engagement": 3, "consistency": 3, "fluency": 2}
RELEVANCE: Weights = {"relevance": 8, "consistency": 2}
APPROPRIATE: Weights = {"relevance": 6, "consistency": 3, "fluency": 1}
GRAMMAR: Weights = {"fluency": 9, "clarity": 1}
CONTENT: Weights = {"content": 7, "engagement": 2, "relevance": 1}
WEIGHTS = {
    "Overall": OVERALL,
    "overall": OVERALL,
    "Understandable": {"clarity": 7, "fluency": 3},
    "Natural": {"fluency": 4, "relevance": 4, "engagement": 2},
    "Maintains Context": {"relevance": 7, "consistency": 3},
    "Engaging": {"engagement": 7, "content": 2, "relevance": 1},
    "Uses Knowledge": {"knowledge": 9, "content": 1},
    "Interesting": {"engagement": 5, "content": 5},
    "Specific": {"content": 6, "relevance": 4},
    "Relevant": RELEVANCE,
    "relevance": RELEVANCE,
    "Correct": {"consistency": 6, "relevance": 4},
    "Semantically appropriate": APPROPRIATE,
    "appropriateness": APPROPRIATE,
    "Fluent": GRAMMAR,
    "grammar": GRAMMAR,
    "language_usage": GRAMMAR,
    "content": CONTENT,
    "informativeness": CONTENT,
}
"""What makes up a quality of a reply, by its name in the cards."""

SYSTEMS = tuple(name for name in LEVELS if name != "empty")


@dataclass(frozen=True, slots=True)
class TurnSet:
    """How one set is made. `mean_of` lists qualities of which only the mean vote is published."""

    name: str
    kinds: tuple[str, ...]
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
    TurnSet("dstc6", ("service",), (10, 10), references=11),
    TurnSet("dstc7", ("topical",), (3, 3), _without("short"), references=1, mean_of=("overall",)),
    TurnSet("persona-usr", ("persona",), (3, 3), _without("rambling", "short"), references=1, facts=True),
    TurnSet("topical-usr", ("topical",), (3, 3), _without("repetitive", "ungrammatical"), references=1,
            facts=True),
    TurnSet("fed-turn", ("daily", "feeling"), (3, 5), ("fitting", "contradicting", "ungrammatical",
            "generic", "off-topic")),
    TurnSet("dailydialog-gupta", ("daily",), (5, 5), _without("rambling", "short"), references=4,
            mean_of=("overall",)),
    TurnSet("dailydialog-zhao", ("daily",), (4, 4), references=1),
    TurnSet("persona-zhao", ("persona",), (4, 4), references=1),
    TurnSet("dailydialog-grade", ("daily",), (8, 11), system_key="model_name"),
    TurnSet("empathetic-grade", ("feeling",), (8, 11), system_key="model_name"),
    TurnSet("convai2-grade", ("persona",), (8, 11), system_key="model_name"),
    TurnSet("humod", ("daily", "feeling"), (3, 3), ("fitting", "ungrammatical", "generic", "off-topic"),
            references=3, system_key=None, empty=("",)),
)  # fmt: skip
TEST = (
    TurnSet("jsalt", ("daily", "persona", "topical"), (3, 3),
            ("fitting", "ungrammatical", "repetitive", "off-topic"), empty=("", None)),
    TurnSet("esl", ("daily",), (1, 1), contest=True, empty=(None,)),
    TurnSet("ncm", ("topical",), (1, 1), contest=True, last_turns=3, empty=("",)),
    TurnSet("dstc10-topical", ("topical", "daily"), (4, 4), ("fitting", "paraphrase", "contradicting",
            "generic", "repetitive", "off-topic"), unrated=3, empty=("", None), clean=True),
    TurnSet("dstc10-persona", ("persona",), (4, 4), unrated=2, empty=("", ""), clean=True),
)  # fmt: skip
