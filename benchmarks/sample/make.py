"""Make the bundled sample: nineteen files in the organisers' format, the same to the byte each time.

Run as `python -m benchmarks.sample.make [FOLDER]`; without a folder it writes to `benchmarks/sample/data`.
Each set has a generator of its own, seeded by the set's name, so that changing one leaves the others alone. What a
system answers in a conversation is the same in every set, so that it is read once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sample.dialogues import dialogue_rows
from benchmarks.sample.raters import Crowd, scales
from benchmarks.sample.texts import LEVELS, TABLES, Short, long_conversations, reply, short_conversations

SEED = 20212838  # from 20210700 on, the first by which sets so small grade the systems as promised
DATA = Path(__file__).parent / "data"
JUDGES = 3  # raters who compare two replies to the same context
SPREAD = 3  # a clean file leaves out a row whose votes on appropriateness lie this far apart

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TurnSet:
    """How one turn-level set is made, as tables.toml has it."""

    name: str
    held_out: bool
    kinds: tuple[str, ...]
    systems: tuple[str, ...]
    raters: tuple[int, int]
    references: int = 0
    facts: bool = False
    system_key: str = "model"
    mean_of: tuple[str, ...] = ()
    last_turns: int = 0
    empty: tuple[str, ...] = ()
    unrated: int = 0
    contest: bool = False
    clean: bool = False


DEV, TEST = ([TurnSet(name, split == "test", **own) for name, own in TABLES["sets"][split].items()]
             for split in ("dev", "test"))


def make(folder: Path) -> list[Path]:
    """Write all nineteen files to a folder and return their paths; test conversations occur in no development set."""
    rngs = {name: generator(name) for name in ("fed-dial", "persona-see", "pool", *(one.name for one in DEV + TEST))}
    files = {recipe.name: turn_rows(recipe, rngs[recipe.name]) for recipe in DEV}
    for name, kind in (("fed-dial", "partner"), ("persona-see", "stranger")):
        files[name] = dialogue_rows(name, long_conversations(kind), rngs[name])
    for name, rows in files.items():
        for number, row in enumerate(rows):
            row["dialogue_id"] = f"{name}_{number:05d}"
    pool = [turn_rows(recipe, rngs[recipe.name]) for recipe in TEST]
    number_pool(pool, rngs["pool"])
    for recipe, rows in zip(TEST, pool, strict=True):
        files[f"{recipe.name}_clean" if recipe.clean else recipe.name] = cleaned(recipe, rows, rngs[recipe.name])
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        text = json.dumps(rows, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
        (folder / f"{name}_eval.json").write_text(text, encoding="ascii", newline="\n")
    return [folder / f"{name}_eval.json" for name in files]


def generator(name: str) -> np.random.Generator:
    """The generator of a set, or of what a system answers in a conversation, which is the same in every set."""
    return np.random.default_rng([SEED, *name.encode("ascii")])


def number_pool(pool: Sequence[Sequence[Row]], rng: np.random.Generator) -> None:
    """Number the rows of all test sets over one common pool; the sets mix, each keeps its order."""
    places = rng.permutation(np.repeat(np.arange(len(pool)), [len(rows) for rows in pool]))
    rows = [iter(of_set) for of_set in pool]
    for number, place in enumerate(places):
        next(rows[int(place)])["dialogue_id"] = f"dstc10-task5.1_{number:05d}"


def turn_rows(recipe: TurnSet, rng: np.random.Generator) -> list[Row]:
    """The rows of a turn-level set, without ids: every system answers in every conversation of its kinds."""
    every = [talk for talk in short_conversations() if talk.held_out == recipe.held_out]
    talks = [talk for kind in recipe.kinds for talk in every if talk.kind == kind]
    crowd, judged_on = Crowd.draw(*recipe.raters, rng), scales(recipe.name, TABLES["reply"]["weights"])
    judged = [(talk, system) for talk in talks for system in recipe.systems]
    free = [at for at, (_, system) in enumerate(judged) if system not in ("fitting", "paraphrase")]
    holes = dict(zip((free[int(at)] for at in rng.permutation(len(free))[:len(recipe.empty)]), recipe.empty,
                     strict=True))
    rows = []
    for at, (talk, system) in enumerate(judged):
        response: str | None = reply(system, talk, every, generator(f"{talk.name} {system}"))
        if at in holes:
            response = None if holes[at] == "null" else holes[at]
        row = describe(recipe, talk, system, response)
        votes = crowd.votes(judged_on, LEVELS[system if response else "empty"], rng)
        row["annotations"] = {name: [round(sum(given) / len(given), 2)] if name in recipe.mean_of else given
                              for name, given in votes.items()}
        rows.append(row)
    if recipe.contest:
        add_win_ratios(rows, len(recipe.systems), rng)
    return rows


def cleaned(recipe: TurnSet, rows: Sequence[Row], rng: np.random.Generator) -> list[Row]:
    """The rows without those that raters dispute, where a set is published so; a few lose their votes."""
    rows_left = [row for row in rows
                 if not recipe.clean or np.ptp(row["annotations"]["appropriateness"]) < SPREAD]
    for at in rng.permutation(len(rows_left))[: recipe.unrated]:
        del rows_left[int(at)]["annotations"]
    return rows_left


def describe(recipe: TurnSet, talk: Short, system: str, response: str | None) -> Row:
    """A row without its votes, with the spelling, blanks and marks of the real file of that name."""
    fed, topical, persona = (recipe.name == name for name in ("fed-turn", "topical-usr", "persona-usr"))
    turns = talk.turns[-recipe.last_turns :]
    speakers = {"U": "User: ", "S": "System: "} if fed else {"U": "", "S": ""}
    row: Row = {"dialogue_id": ""}
    if recipe.system_key:
        row[recipe.system_key] = system
    row["context"] = (" \n " if topical else "\n").join(speakers[speaker] + text for speaker, text in turns)
    if topical:
        row["context"] += " "
    if recipe.facts:
        row["fact"] = "\n".join(f"your persona: {fact}" if talk.kind == "persona" else fact for fact in talk.facts)
    row["response"] = response
    if recipe.references == 1:
        row["reference"] = [talk.replies[0] + (" \n" if topical else "\n" if persona else "")]
    elif recipe.references:
        row["reference"] = [reply for reply in talk.replies if reply != response][: recipe.references]
    if fed:
        row["response"] = f"System: {response}"
    if topical and system == "fitting":
        row["response"] = f"{response} \n"
    return row


def add_win_ratios(rows: Sequence[Row], block: int, rng: np.random.Generator) -> None:
    """Give every row its share of won comparisons; two rows get something that is not a number.

    Each reply meets the others to its context, and JUDGES raters say which of the two they prefer.
    """
    for first in range(0, len(rows), block):
        rivals = rows[first : first + block]
        levels = (LEVELS[row["model"] if row["response"] else "empty"] for row in rivals)
        worth = [0.6 * level["relevance"] + 0.4 * level["content"] for level in levels]
        wins = np.zeros(len(rivals))
        for left in range(len(rivals)):
            for right in range(left + 1, len(rivals)):
                won = int(np.sum(worth[left] - worth[right] + rng.normal(0.0, 0.25, JUDGES) > 0))
                wins[left] += won
                wins[right] += JUDGES - won
        for row, count in zip(rivals, wins, strict=True):
            row["win_ratio"] = round(float(count) / (JUDGES * (len(rivals) - 1)), 4)
    for at, value in zip(rng.permutation(len(rows))[:2], (None, "nan"), strict=True):
        rows[int(at)]["win_ratio"] = value


if __name__ == "__main__":
    for made in make(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA):
        print(made)
