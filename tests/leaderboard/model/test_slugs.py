"""File names from names: safe, and one each."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.model.index import LONGEST, slug, slugs


def test_a_plain_name_stays_readable_and_any_other_gets_a_usable_one() -> None:
    for name, expected in {"fed-turn": "fed-turn", "maintains context": "maintains-context", "Café": "cafe",
                           "../../etc": "etc"}.items():
        assert slug(name) == expected
    for name in ("", "评价", "con", "NUL", "x" * 300):
        assert re.fullmatch(r"[a-z0-9-]*[0-9a-f]{8}", slug(name)), name
    assert slugs(["Fed Turn", "fed-turn", "fed_turn"])["fed-turn"] == "fed-turn"


@settings(max_examples=25)
@given(st.lists(st.text(max_size=8) | st.sampled_from(["a b", "a-b", "A_B", "a|b", "con"]), max_size=8))
def test_slugs_are_safe_and_distinct_in_any_order(names: list[str]) -> None:
    paths = slugs(names)
    assert len(set(paths.values())) == len(set(names))
    assert all(re.fullmatch(rf"[a-z0-9][a-z0-9-]{{0,{LONGEST + 70}}}", value) for value in paths.values())
    assert slugs(reversed(names)) == paths
