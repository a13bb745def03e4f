"""Rows in the organisers' format, from a set's recipe, the conversations and a generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.sample.material import Short
from benchmarks.sample.raters import Crowd, vote
from benchmarks.sample.responses import CONSTRUCTIONS, DIMENSIONS, level
from benchmarks.sample.sets import TurnSet

Row = dict[str, Any]
JUDGES = 3  # raters who compare two replies to the same context
SPREAD = 3  # a clean file leaves out a row whose votes on appropriateness lie this far apart


def turn_rows(recipe: TurnSet, talks: Sequence[Short], rng: np.random.Generator) -> list[Row]:
    """The rows of a turn-level set, without ids: every system answers in every conversation."""
    crowd = Crowd.draw(*recipe.raters, rng)
    judged = [(talk, system) for talk in talks for system in recipe.systems]
    holes = dict(zip(_spread(judged, len(recipe.empty), rng), recipe.empty, strict=True))
    rows = []
    for at, (talk, system) in enumerate(judged):
        response: str | None = CONSTRUCTIONS[system](talk, talks, rng)
        if at in holes:
            response = holes[at]
        row = describe(recipe, talk, system, response)
        row["annotations"] = annotate(recipe, system if response else "empty", crowd, rng)
        rows.append(row)
    if recipe.contest:
        add_win_ratios(rows, len(recipe.systems), rng)
    return rows


def cleaned(recipe: TurnSet, rows: Sequence[Row], rng: np.random.Generator) -> list[Row]:
    """The rows without those that raters dispute, where a set is published so; a few lose their votes."""
    rows_left = [row for row in rows if not (recipe.clean and _disputed(row))]
    for at in rng.permutation(len(rows_left))[: recipe.unrated]:
        del rows_left[int(at)]["annotations"]
    return rows_left


def describe(recipe: TurnSet, talk: Short, system: str, response: str | None) -> Row:
    """A row without its votes, spelled as the real file of that name spells it."""
    row: Row = {"dialogue_id": ""}
    if recipe.system_key:
        row[recipe.system_key] = system
    row["context"] = context(recipe, talk)
    if recipe.facts:
        row["fact"] = "\n".join(f"your persona: {fact}" if talk.kind == "persona" else fact for fact in talk.facts)
    row["response"] = response
    if recipe.references == 1:
        row["reference"] = [talk.replies[0]]
    elif recipe.references:
        row["reference"] = [reply for reply in talk.replies if reply != response][: recipe.references]
    return _quirks(recipe.name, row, system)


def context(recipe: TurnSet, talk: Short) -> str:
    """The turns so far as one string, one turn a line."""
    turns = talk.turns if recipe.last_turns is None else talk.turns[-recipe.last_turns :]
    if recipe.name == "fed-turn":
        speakers = {"U": "User", "S": "System"}
        return "\n".join(f"{speakers[speaker]}: {text}" for speaker, text in turns)
    if recipe.name == "topical-usr":
        return " \n ".join(text for _, text in turns) + " "
    return "\n".join(text for _, text in turns)


def annotate(recipe: TurnSet, construction: str, crowd: Crowd, rng: np.random.Generator) -> Row:
    """The votes on every quality, or their mean where only that is published."""
    levels: Mapping[str, float] = {dimension: level(construction, dimension) for dimension in DIMENSIONS}
    true = {scale.name: scale.level(levels) for scale in recipe.scales}
    beliefs = list(crowd.beliefs(true, rng))
    votes = {scale.name: [vote(belief[scale.name], scale) for belief in beliefs] for scale in recipe.scales}
    means = {name: [round(sum(votes[name]) / len(votes[name]), 2)] for name in recipe.mean_of}
    return {**votes, **means}


def add_win_ratios(rows: Sequence[Row], block: int, rng: np.random.Generator) -> None:
    """Give every row its share of won comparisons; two rows get something that is not a number.

    Each reply meets the others to its context, and JUDGES raters say which of the two they prefer.
    """
    for first in range(0, len(rows), block):
        rivals = rows[first : first + block]
        wins = np.zeros(len(rivals))
        for left in range(len(rivals)):
            for right in range(left + 1, len(rivals)):
                margin = _worth(rivals[left]) - _worth(rivals[right])
                won = int(np.sum(margin + rng.normal(0.0, 0.25, JUDGES) > 0))
                wins[left] += won
                wins[right] += JUDGES - won
        for row, count in zip(rivals, wins, strict=True):
            row["win_ratio"] = round(float(count) / (JUDGES * (len(rivals) - 1)), 4)
    for at, value in zip(rng.permutation(len(rows))[:2], (None, "nan"), strict=True):
        rows[int(at)]["win_ratio"] = value


def _worth(row: Row) -> float:
    """How good the raters of a comparison find a reply, from 0 to 1, before noise."""
    construction = row["model"] if row["response"] else "empty"
    return 0.6 * level(construction, "relevance") + 0.4 * level(construction, "content")


def _disputed(row: Row) -> bool:
    """Whether the votes lie too far apart for a clean file."""
    votes: list[int] = row["annotations"]["appropriateness"]
    return max(votes) - min(votes) >= SPREAD


def _spread(judged: Sequence[tuple[Short, str]], count: int, rng: np.random.Generator) -> list[int]:
    """Numbers of the rows that stay empty: never one of a fitting reply."""
    free = [at for at, (_, system) in enumerate(judged) if system not in ("fitting", "paraphrase")]
    return [free[int(at)] for at in rng.permutation(len(free))[:count]]


def _quirks(name: str, row: Row, system: str) -> Row:
    """The blanks and marks that the real files have."""
    if name == "fed-turn":
        row["response"] = f"System: {row['response']}"
    if name == "topical-usr":
        row["reference"] = [f"{text} \n" for text in row["reference"]]
        row["response"] = f"{row['response']} \n" if system == "fitting" else row["response"]
    if name == "persona-usr":
        row["reference"] = [f"{text}\n" for text in row["reference"]]
    return row
