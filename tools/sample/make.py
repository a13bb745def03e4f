"""Make the bundled sample: nineteen files in the organisers' format, reproducible to the byte.

Run as `python -m tools.sample.make [FOLDER]`; the default folder is `benchmarks/sample/data`. Each set has a
generator seeded by its name, so that changing one set leaves the others unchanged. A system gives the same answer to a
conversation in every set, so that models encode it only once.

Raters are simulated: vote = true level + item effect + rater bias + noise. Standard deviations are for a scale from 0
to 1, which is then stretched to that of the quality. Votes are rounded and clipped to the scale.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Quality
from tools.sample import texts

SEED = 20212838  # the first seed from 20210700 on for which such small sets rank the systems as designed
DATA = Path(__file__).parents[2] / "benchmarks" / "sample" / "data"
COMPARING_RATERS = 3  # raters who compare two replies to the same context
DISPUTED_RANGE = 3  # clean files leave out rows whose votes on appropriateness differ by this much or more
ITEM_SD = 0.09  # how much an item differs from its construction, equally on all qualities
QUALITY_SD = 0.05  # how much an item differs on a single quality
BIAS_SD = 0.09  # how strict or lenient a rater is, equally on all qualities
NOISE_SD = 0.17  # how inconsistent a rater is
POOL = 16  # raters per dataset

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TurnSet:
    """The recipe of a turn-level set, from tables.toml."""

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


@dataclass(frozen=True, slots=True)
class Crowd:
    """The raters of a dataset, of whom `fewest` to `most` judge each item."""

    qualities: tuple[Quality, ...]
    weights: Mapping[str, Mapping[str, float]]
    bias: tuple[float, ...]
    fewest: int
    most: int

    @classmethod
    def draw(cls, dataset: str, weights: Mapping[str, Mapping[str, float]], raters: tuple[int, int],
             rng: np.random.Generator) -> Crowd:
        """Draw the raters' biases; `weights` has the weights of the latent dimensions in each quality."""
        bias = tuple(float(bias) for bias in rng.normal(0.0, BIAS_SD, POOL))
        return cls(registry.card(dataset).qualities, weights, bias, *raters)

    def votes(self, levels: Mapping[str, float], rng: np.random.Generator) -> dict[str, list[int]]:
        """Return the votes on each quality of an item with these latent levels, from 0 to 1."""
        count = int(rng.integers(self.fewest, self.most + 1))
        effect = rng.normal(0.0, ITEM_SD)
        means = []
        for quality in self.qualities:
            weights = self.weights[quality.name.casefold()]
            level = sum(weight * levels[key] for key, weight in weights.items()) / sum(weights.values())
            means.append(level + effect + rng.normal(0.0, QUALITY_SD))
        votes: dict[str, list[int]] = {quality.name: [] for quality in self.qualities}
        for rater in rng.permutation(POOL)[:count]:
            for quality, mean in zip(self.qualities, means, strict=True):
                low, high = (1, 5) if quality.low is None or quality.high is None else (quality.low, quality.high)
                belief = mean + self.bias[int(rater)] + rng.normal(0.0, NOISE_SD)
                votes[quality.name].append(int(np.clip(np.floor(low + belief * (high - low) + 0.5), low, high)))
        return votes


DEV, TEST = ([TurnSet(name, split == "test", **table) for name, table in texts.TABLES["sets"][split].items()]
             for split in ("dev", "test"))


def make(folder: Path) -> list[Path]:
    """Write all nineteen files to a folder and return their paths; test conversations occur in no development set."""
    names = ("fed-dial", "persona-see", "pool", *(recipe.name for recipe in DEV + TEST))
    rngs = {name: generator(name) for name in names}
    files = {recipe.name: turn_rows(recipe, rngs[recipe.name]) for recipe in DEV}
    for name, kind in (("fed-dial", "partner"), ("persona-see", "stranger")):
        files[name] = dialogue_rows(name, texts.long_conversations(kind), rngs[name])
    for name, rows in files.items():
        for number, row in enumerate(rows):
            row["dialogue_id"] = f"{name}_{number:05d}"
    pool = [turn_rows(recipe, rngs[recipe.name]) for recipe in TEST]
    number_pool(pool, rngs["pool"])
    for recipe, rows in zip(TEST, pool, strict=True):
        files[f"{recipe.name}_clean" if recipe.clean else recipe.name] = clean_rows(recipe, rows, rngs[recipe.name])
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        text = json.dumps(rows, indent=1, ensure_ascii=True, allow_nan=False) + "\n"
        (folder / f"{name}_eval.json").write_text(text, encoding="ascii", newline="\n")
    return [folder / f"{name}_eval.json" for name in files]


def generator(name: str) -> np.random.Generator:
    return np.random.default_rng([SEED, *name.encode("ascii")])


def number_pool(pool: Sequence[Sequence[Row]], rng: np.random.Generator) -> None:
    """Number the rows of all test sets in one sequence; sets are interleaved, and each keeps its order."""
    order = rng.permutation(np.repeat(np.arange(len(pool)), [len(rows) for rows in pool]))
    rows = [iter(set_rows) for set_rows in pool]
    for number, index in enumerate(order):
        next(rows[int(index)])["dialogue_id"] = f"dstc10-task5.1_{number:05d}"


def turn_rows(recipe: TurnSet, rng: np.random.Generator) -> list[Row]:
    """Return the rows of a turn-level set, without ids: every system answers every conversation of its kinds."""
    available = [talk for talk in texts.short_conversations() if talk.held_out == recipe.held_out]
    talks = [talk for kind in recipe.kinds for talk in available if talk.kind == kind]
    crowd = Crowd.draw(recipe.name, texts.TABLES["reply"]["weights"], recipe.raters, rng)
    pairs = [(talk, system) for talk in talks for system in recipe.systems]
    can_be_empty = [row for row, (_, system) in enumerate(pairs) if system not in ("fitting", "paraphrase")]
    chosen = rng.permutation(len(can_be_empty))[:len(recipe.empty)]
    empty = dict(zip((can_be_empty[int(index)] for index in chosen), recipe.empty, strict=True))
    rows = []
    for number, (talk, system) in enumerate(pairs):
        response: str | None = texts.reply(system, talk, available, generator(f"{talk.name} {system}"))
        if number in empty:
            response = None if empty[number] == "null" else empty[number]
        row = describe(recipe, talk, system, response)
        votes = crowd.votes(texts.REPLY_LEVELS[system if response else "empty"], rng)
        row["annotations"] = {name: [round(sum(values) / len(values), 2)] if name in recipe.mean_of else values
                              for name, values in votes.items()}
        rows.append(row)
    if recipe.contest:
        add_win_ratios(rows, len(recipe.systems), rng)
    return rows


def describe(recipe: TurnSet, talk: texts.Short, system: str, response: str | None) -> Row:
    """Return a row without votes, with the field names, whitespace and prefixes of the real file of that name."""
    fed, topical, persona = (recipe.name == name for name in ("fed-turn", "topical-usr", "persona-usr"))
    speakers = {"U": "User: ", "S": "System: "} if fed else {"U": "", "S": ""}
    lines = [speakers[speaker] + text for speaker, text in talk.turns[-recipe.last_turns :]]
    row: Row = {"dialogue_id": ""}
    if recipe.system_key:
        row[recipe.system_key] = system
    row["context"] = " \n ".join(lines) + " " if topical else "\n".join(lines)
    if recipe.facts:
        row["fact"] = "\n".join(f"your persona: {fact}" if talk.kind == "persona" else fact for fact in talk.facts)
    row["response"] = f"System: {response}" if fed else response
    if topical and system == "fitting":
        row["response"] = f"{response} \n"
    if recipe.references == 1:
        row["reference"] = [talk.replies[0] + (" \n" if topical else "\n" if persona else "")]
    elif recipe.references:
        row["reference"] = [reply for reply in talk.replies if reply != response][: recipe.references]
    return row


def clean_rows(recipe: TurnSet, rows: Sequence[Row], rng: np.random.Generator) -> list[Row]:
    """Drop disputed rows if the set is published clean, and remove the votes of a few rows."""
    agreed = [row for row in rows if not recipe.clean or np.ptp(row["annotations"]["appropriateness"]) < DISPUTED_RANGE]
    for index in rng.permutation(len(agreed))[: recipe.unrated]:
        del agreed[int(index)]["annotations"]
    return agreed


def add_win_ratios(rows: Sequence[Row], block: int, rng: np.random.Generator) -> None:
    """Add the share of comparisons with other replies to the context, by COMPARING_RATERS raters, that a row won.

    Two rows get a value that is not a number.
    """
    for start in range(0, len(rows), block):
        rivals = rows[start : start + block]
        levels = (texts.REPLY_LEVELS[row["model"] if row["response"] else "empty"] for row in rivals)
        merits = [0.6 * level["relevance"] + 0.4 * level["content"] for level in levels]
        wins = np.zeros(len(rivals))
        for left in range(len(rivals)):
            for right in range(left + 1, len(rivals)):
                won = int(np.sum(merits[left] - merits[right] + rng.normal(0.0, 0.25, COMPARING_RATERS) > 0))
                wins[left] += won
                wins[right] += COMPARING_RATERS - won
        for row, count in zip(rivals, wins, strict=True):
            row["win_ratio"] = round(float(count) / (COMPARING_RATERS * (len(rivals) - 1)), 4)
    for index, value in zip(rng.permutation(len(rows))[:2], (None, "nan"), strict=True):
        rows[int(index)]["win_ratio"] = value


def dialogue_rows(name: str, talks: Sequence[texts.Long], rng: np.random.Generator) -> list[Row]:
    """Return the rows of a dialogue-level set, without ids, with the field names of the real file of that name."""
    fed = name == "fed-dial"
    crowd = Crowd.draw(name, texts.TABLES["dialogue"]["weights"], (3, 5) if fed else (1, 1), rng)
    key, human = ("dialog", "human") if fed else ("dialogue", "human_evaluator")
    rows = []
    for talk in talks:
        for construction, levels in texts.DIALOGUE_LEVELS.items():
            turns = [{"speaker": human if speaker == "H" else "model", "text": text}
                     for speaker, text in change_turns(construction, talk, talks, rng)]
            rows.append({"dialogue_id": "", "model": construction, key: turns, "annotations": crowd.votes(levels, rng)})
    if fed:
        drop_recovery_votes(rows, rng)
    return rows


def drop_recovery_votes(rows: Sequence[Row], rng: np.random.Generator) -> None:
    """Drop votes on error recovery, mostly where the model made no error; one list becomes empty."""
    for row in rows:
        chance = 0.45 if row["model"] == "engaged" else 0.85
        votes = row["annotations"]["Error recovery"]
        row["annotations"]["Error recovery"] = [vote for vote in votes if rng.random() < chance] or votes[:1]
    flawless = next(row for row in reversed(rows) if row["model"] == "engaged")
    flawless["annotations"]["Error recovery"] = []


def change_turns(construction: str, talk: texts.Long, talks: Sequence[texts.Long], rng: np.random.Generator,
            ) -> list[tuple[str, str]]:
    """Return the turns of a construction: unchanged, with the slip, or with two of every three model turns changed."""
    turns, (position, slip) = list(talk.turns), talk.slip
    if construction in {"contradicting", "recovering"}:
        turns[position] = ("M", slip)
    if construction == "recovering":
        turns[position + 2] = ("M", f"{texts.pick(texts.SAYINGS['apologies'], rng)} {turns[position + 2][1]}")
    if construction in {"engaged", "contradicting", "recovering"}:
        return turns
    model_turns = [index for index, (speaker, _) in enumerate(turns) if speaker == "M"]
    lines = {"generic": texts.SAYINGS["generic"], "repetitive": [turns[index][1] for index in model_turns[:2]],
             "off-topic": [text for other in talks if other is not talk for who, text in other.turns if who == "M"]}
    for number, index in enumerate(model_turns):
        if number % 3:
            turns[index] = ("M", texts.pick(lines[construction], rng) if construction in lines else
                            texts.garble(turns[index][1], rng))
    return turns


if __name__ == "__main__":
    for path in make(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA):
        print(path)
