"""The bundled sample: nineteen files in the organisers' format, made the same each time, graded as promised."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import registry
from benchmarks.formats import official
from benchmarks.sample import dialogues, responses
from benchmarks.sample.make import DATA, make
from benchmarks.sample.material import LONG, long_conversations, short_conversations

USR = {
    "Understandable": (0, 1),
    "Natural": (1, 3),
    "Maintains Context": (1, 3),
    "Engaging": (1, 3),
    "Uses Knowledge": (0, 1),
    "Overall": (1, 5),
}
FED_TURN = {
    **dict.fromkeys(("Interesting", "Engaging", "Specific", "Relevant", "Correct"), (0, 2)),
    "Semantically appropriate": (0, 2),
    "Understandable": (0, 1),
    "Fluent": (0, 2),
    "Overall": (0, 4),
}
FED_DIAL = {
    "Coherent": (0, 2),
    "Error recovery": (0, 2),
    "Consistent": (0, 1),
    **dict.fromkeys(("Diverse", "Depth", "Likeable", "Understanding", "Flexible"), (0, 2)),
    "Informative": (0, 2),
    "Inquisitive": (0, 2),
    "Overall": (0, 4),
}
SEE = {
    **dict.fromkeys(("enjoy", "interest", "listen", "turing"), (1, 4)),
    "avoid_rep": (1, 3),
    "make_sense": (1, 4),
    "fluency": (1, 4),
    "inquisitive": (1, 4),
    "persona_guess": (0, 1),
}
FIVE = (1, 5)
ZHAO = dict.fromkeys(("content", "grammar", "relevance", "appropriateness"), FIVE)
RELEVANCE = {"relevance": FIVE}
APPROPRIATENESS = {"appropriateness": FIVE}

# file -> (qualities with their scales, fewest and most votes a list holds, references a row holds)
FILES: dict[str, tuple[dict[str, tuple[int, int]], tuple[int, int], int]] = {
    "dstc6": ({"overall": FIVE}, (10, 10), 11),
    "dstc7": (dict.fromkeys(("relevance", "informativeness", "overall"), FIVE), (1, 3), 1),
    "persona-usr": (USR, (3, 3), 1),
    "topical-usr": (USR, (3, 3), 1),
    "fed-turn": (FED_TURN, (3, 5), 0),
    "fed-dial": (FED_DIAL, (0, 5), 0),
    "persona-see": (SEE, (1, 1), 0),
    "dailydialog-gupta": ({"overall": FIVE}, (1, 1), 4),
    "dailydialog-zhao": (ZHAO, (4, 4), 1),
    "persona-zhao": (APPROPRIATENESS, (4, 4), 1),
    "dailydialog-grade": (RELEVANCE, (8, 11), 0),
    "empathetic-grade": (RELEVANCE, (8, 11), 0),
    "convai2-grade": (RELEVANCE, (8, 11), 0),
    "humod": ({"language_usage": FIVE, "relevance": FIVE}, (3, 3), 3),
    "jsalt": (APPROPRIATENESS, (3, 3), 0),
    "esl": (APPROPRIATENESS, (1, 1), 0),
    "ncm": (APPROPRIATENESS, (1, 1), 0),
    "dstc10-topical_clean": (ZHAO, (4, 4), 0),
    "dstc10-persona_clean": (ZHAO, (4, 4), 0),
}
TEST = ("jsalt", "esl", "ncm", "dstc10-topical_clean", "dstc10-persona_clean")
DIALOGUE = ("fed-dial", "persona-see")
TURN = tuple(name for name in FILES if name not in DIALOGUE)
OVERALL = {"fed-turn": "Overall", "persona-usr": "Overall", "topical-usr": "Overall"}


@cache
def rows(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((DATA / f"{name}_eval.json").read_text(encoding="ascii"))
    return loaded


def votes(name: str) -> Iterator[tuple[dict[str, Any], str, list[float]]]:
    return ((row, quality, given) for row in rows(name) for quality, given in row.get("annotations", {}).items())


def system_means(name: str, quality: str) -> dict[str, float]:
    """The mean of a quality for each system, without empty replies."""
    found = defaultdict(list)
    for row, spelled, given in votes(name):
        if spelled == quality and given and (name in DIALOGUE or row["response"]):
            found[str(row.get("model") or row.get("model_name"))].append(np.mean(given))
    return {system: float(np.mean(means)) for system, means in found.items()}


def main_quality(name: str) -> str:
    """The quality of a set that sums a reply up best."""
    named = FILES[name][0]
    return next(quality for quality in ("Overall", "overall", "appropriateness", "relevance") if quality in named)


def test_a_fresh_make_gives_the_committed_bytes(tmp_path: Path) -> None:
    """Nothing in data/ was edited by hand, and nothing depends on the machine."""
    made = make(tmp_path)
    assert {path.name: path.read_bytes() for path in made} == {path.name: path.read_bytes() for path in DATA.iterdir()}


def test_nineteen_files_of_a_bearable_size() -> None:
    assert {path.name for path in DATA.iterdir()} == {f"{name}_eval.json" for name in FILES}
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1_500_000


@pytest.mark.parametrize("name", FILES)
def test_sizes(name: str) -> None:
    """Turn-level sets have some sixty to a hundred rows, dialogue-level ones forty."""
    assert len(rows(name)) == 40 if name in DIALOGUE else 55 <= len(rows(name)) <= 120


@pytest.mark.parametrize("name", FILES)
def test_qualities_scales_and_number_of_votes(name: str) -> None:
    scales, (fewest, most), _ = FILES[name]
    for row in rows(name):
        assert set(row.get("annotations", scales)) == set(scales)
    for _, quality, given in votes(name):
        low, high = scales[quality]
        assert all(low <= value <= high for value in given)
        assert fewest <= len(given) <= most


@pytest.mark.parametrize("name", FILES)
def test_every_step_of_a_scale_is_used(name: str) -> None:
    for quality, (low, high) in FILES[name][0].items():
        seen = {round(value) for _, spelled, given in votes(name) if spelled == quality for value in given}
        assert seen == set(range(low, high + 1)), quality


@pytest.mark.parametrize("name", TURN)
def test_keys_of_a_turn_level_row(name: str) -> None:
    expected = {"dialogue_id", "context", "response", "annotations"}
    expected |= {"model_name"} if name.endswith("-grade") else set() if name == "humod" else {"model"}
    expected |= {"reference"} if FILES[name][2] else set()
    expected |= {"fact"} if name.endswith("-usr") else set()
    expected |= {"win_ratio"} if name in ("esl", "ncm") else set()
    for row in rows(name):
        assert set(row) | {"annotations"} == expected
        assert ("annotations" in row) or name.startswith("dstc10-")
        assert row["context"].strip()
        assert len(row.get("reference", ())) == FILES[name][2]


@pytest.mark.parametrize("name", [name for name in FILES if name not in TEST])
def test_development_ids_count_up_from_zero(name: str) -> None:
    assert [row["dialogue_id"] for row in rows(name)] == [f"{name}_{at:05d}" for at in range(len(rows(name)))]


def test_test_ids_share_one_pool() -> None:
    """Numbers are unique over the five sets, rise within each, and have gaps where rows were left out."""
    numbers = {name: [int(row["dialogue_id"].removeprefix("dstc10-task5.1_")) for row in rows(name)] for name in TEST}
    pooled = sorted(itertools.chain.from_iterable(numbers.values()))
    assert len(set(pooled)) == len(pooled)
    assert all(own == sorted(own) for own in numbers.values())
    assert 0 < pooled[-1] + 1 - len(pooled) < 20


def test_no_test_context_occurs_in_development() -> None:
    seen = {row["context"] for name in TURN if name not in TEST for row in rows(name)}
    assert not seen & {row["context"] for name in TEST for row in rows(name)}


def test_shape_of_whole_dialogues() -> None:
    for row in rows("fed-dial"):
        assert set(row) == {"dialogue_id", "model", "dialog", "annotations"}
        speakers = [turn["speaker"] for turn in row["dialog"]]
        assert speakers == ["human", "model"] * (len(speakers) // 2) + ["human"]
    for row in rows("persona-see"):
        assert set(row) == {"dialogue_id", "model", "dialogue", "annotations"}
        assert [turn["speaker"] for turn in row["dialogue"]] == ["model", "human_evaluator"] * 6


@pytest.mark.parametrize("name", FILES)
def test_the_reader_and_the_cards_take_every_file(name: str) -> None:
    """Cards and files agree on the qualities and their scales."""
    card = registry.card(name.removesuffix("_clean"))
    read = official.parse(DATA / f"{name}_eval.json", card, "sample")
    assert len(read.items) == len(rows(name))
    assert {quality.name for quality in card.qualities} == set(FILES[name][0])
    for quality in card.qualities:
        assert (quality.low, quality.high) in (FILES[name][0][quality.name], (None, None))


def test_one_list_of_votes_is_empty() -> None:
    empty = [(name, quality) for name in FILES for _, quality, given in votes(name) if not given]
    assert empty == [("fed-dial", "Error recovery")]


def test_empty_replies() -> None:
    """Both spellings of nothing occur in the test sets, and once nothing in a development set."""
    assert [name for name in TURN if name not in TEST for row in rows(name) if not row["response"]] == ["humod"]
    missing = [row["response"] for name in TEST for row in rows(name) if not row["response"]]
    assert {"", None} == set(missing)
    assert 4 <= len(missing) <= 10


def test_rows_without_annotations() -> None:
    unrated = [name for name in FILES for row in rows(name) if "annotations" not in row]
    assert sorted(set(unrated)) == ["dstc10-persona_clean", "dstc10-topical_clean"]


@pytest.mark.parametrize("name", ["esl", "ncm"])
def test_win_ratio(name: str) -> None:
    """A share, but for two rows that hold no number; fitting replies win more than off-topic ones."""
    ratios = [row["win_ratio"] for row in rows(name)]
    assert sum(not isinstance(ratio, float) for ratio in ratios) == 2
    assert all(0 <= ratio <= 1 for ratio in ratios if isinstance(ratio, float))
    won = defaultdict(list)
    for row in rows(name):
        if isinstance(row["win_ratio"], float):
            won[row["model"]].append(row["win_ratio"])
    assert np.mean(won["fitting"]) > 0.7 > 0.3 > np.mean(won["off-topic"])


def test_quirks_of_spelling() -> None:
    for row in rows("fed-turn"):
        assert row["response"].startswith("System: ")
        assert all(line.startswith(("User: ", "System: ")) for line in row["context"].split("\n"))
    for row in rows("topical-usr"):
        assert " \n " in row["context"]
        assert row["context"].endswith(" ")
        assert row["response"].endswith("\n") == (row["model"] == "fitting")
    assert all(row["reference"][0].endswith("\n") for row in rows("persona-usr"))
    assert any(row["response"] in row["reference"] for row in rows("dailydialog-zhao"))
    assert all(isinstance(given[0], float) for _, _, given in votes("dailydialog-gupta"))


@pytest.mark.parametrize("name", [name for name in TURN if name != "humod"])
def test_fitting_beats_the_rest_and_off_topic_loses(name: str) -> None:
    means = system_means(name, main_quality(name))
    good = min(means.pop("fitting"), means.pop("paraphrase", np.inf))
    assert good > max(means.values())
    assert means.pop("off-topic") < min(means.values())


def test_grammar_and_relevance_part() -> None:
    """An ungrammatical reply loses on grammar and an off-topic one on relevance, not the other way round."""
    for quality, worst in (("grammar", "ungrammatical"), ("relevance", "off-topic"), ("content", "short")):
        means = system_means("dailydialog-zhao", quality)
        assert min(means, key=means.__getitem__) == worst
    assert system_means("topical-usr", "Uses Knowledge")["fitting"] > 0.8


def test_dialogues_are_graded() -> None:
    for name, quality in (("fed-dial", "Overall"), ("persona-see", "turing")):
        means = system_means(name, quality)
        assert means["engaged"] > means["contradicting"] > means["repetitive"]
        assert means["off-topic"] < means["ungrammatical"] < means["engaged"]
    fed = system_means("fed-dial", "Error recovery")
    assert fed["recovering"] > fed["contradicting"]


@pytest.mark.parametrize("name", [name for name, (_, (fewest, _), _) in FILES.items() if fewest >= 3])
def test_raters_agree_above_chance_and_not_perfectly(name: str) -> None:
    """The first two votes on the main quality correlate like those of people who try."""
    pairs = [given[:2] for _, quality, given in votes(name) if quality == main_quality(name)]
    assert 0.3 < np.corrcoef(np.array(pairs, dtype=float).T)[0, 1] < 0.9


@pytest.mark.parametrize("name", ["dailydialog-zhao", "persona-usr", "fed-turn"])
def test_qualities_are_correlated_and_not_identical(name: str) -> None:
    qualities = list(FILES[name][0])
    means = np.array([[np.mean(row["annotations"][quality]) for quality in qualities] for row in rows(name)])
    between = np.corrcoef(means.T)[np.triu_indices(len(qualities), 1)]
    assert between.max() < 0.99
    assert between.min() < 0.6
    assert np.median(between) > 0.3


def test_conversations_are_whole() -> None:
    """Turns alternate and end with the user; each short one has a denial, and service ones twelve replies."""
    for talk in short_conversations():
        assert talk.turns[-1][0] == "U"
        assert all(one != two for (one, _), (two, _) in itertools.pairwise(talk.turns))
        assert len(set(talk.replies)) == (12 if talk.kind == "service" else 5)
        assert talk.denial
    for kind in LONG:
        for long_talk in long_conversations(kind):
            at, slip = long_talk.slip
            assert long_talk.turns[at][0] == long_talk.turns[at + 2][0] == "M"
            assert slip
            assert 10 <= len(long_talk.turns) <= 14


def test_names_of_conversations_are_unique() -> None:
    names = [talk.name for talk in short_conversations()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("table", [responses, dialogues], ids=["replies", "dialogues"])
def test_the_page_shows_the_levels_in_use(table: Any) -> None:
    page = (DATA.parent / "README.md").read_text(encoding="utf-8")
    for system, (levels, reason) in table.LEVELS.items():
        assert f"| {system} | {' | '.join(f'{level:.2f}' for level in levels)} | {reason} |" in page
