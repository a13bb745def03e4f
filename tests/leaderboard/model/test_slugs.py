"""File names from names: safe, and one each."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.model.slugs import LONGEST, slug, slugs


@pytest.mark.parametrize(("name", "expected"), [
    ("fed-turn", "fed-turn"), ("maintains context", "maintains-context"), ("Café", "cafe"), ("../../etc", "etc")])
def test_a_plain_name_stays_readable(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_name_that_is_its_own_slug_keeps_it() -> None:
    found = slugs(["Fed Turn", "fed-turn", "fed_turn"])
    assert found["fed-turn"] == "fed-turn"
    assert len(set(found.values())) == 3


@pytest.mark.parametrize("name", ["", "评价", "con", "NUL", "x" * 300])
def test_a_name_without_a_usable_slug_gets_one(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9-]*[0-9a-f]{8}", slug(name))


@given(st.lists(st.text(max_size=12) | st.sampled_from(["a b", "a-b", "A_B", "a|b", "con"])))
def test_slugs_are_safe_and_distinct_in_any_order(names: list[str]) -> None:
    found = slugs(names)
    assert len(set(found.values())) == len(set(names))
    assert all(re.fullmatch(rf"[a-z0-9][a-z0-9-]{{0,{LONGEST + 70}}}", value) for value in found.values())
    assert slugs(reversed(names)) == found
