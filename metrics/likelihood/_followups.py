"""The follow-ups of FED, from followups.toml: eight qualities of a turn, ten of a whole dialogue."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class FollowUps:
    """The utterances that speak for a quality, which may be none, and those that speak against it."""

    speak_for: tuple[str, ...]
    against: tuple[str, ...]


_LEVELS = {level: {quality: FollowUps(tuple(sides["speak_for"]), tuple(sides["against"]))
                   for quality, sides in qualities.items()}
           for level, qualities in tomllib.loads((files(__package__) / "followups.toml").read_text("utf-8")).items()}
TURN, DIALOGUE = _LEVELS["turn"], _LEVELS["dialogue"]

QUALITIES = TURN | DIALOGUE
"""Every quality; no name is used twice."""

UTTERANCES = tuple(dict.fromkeys(text for each in QUALITIES.values() for text in (*each.speak_for, *each.against)))
"""Every follow-up once."""
