"""The organisers' JSON: quirks of the files, and one-line errors."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Item, Rating, Reference, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats import official
from tests.conftest import refused

NAME = "dailydialog-gupta"


def record(**changes: Any) -> dict[str, Any]:
    values = {"dialogue_id": f"{NAME}_00000", "context": "hi\nhow are you ?", "response": "fine .",
              "reference": ["well ."], "model": "bot", "annotations": {"overall": [4, 5]}}
    return {key: value for key, value in {**values, **changes}.items() if value is not ...}


def parse(folder: Path, *records: object, name: str = NAME) -> Any:
    path = folder / f"{name}_eval.json"
    path.write_text(json.dumps(records))
    return official.parse(path, registry.card(name))


def test_whitespace_is_stripped_and_turns_alternate(tmp_path: Path) -> None:
    dataset = parse(tmp_path, record(context=" hi \n \n there \n ", response="  ok \n", reference=[" well \n", " "]))
    assert dataset.items == (Item(f"{NAME}_00000", (Utterance(SYSTEM, "hi"), Utterance(USER, "there")),
                                  Utterance(SYSTEM, "ok"), (Reference("well"),), system="bot"),)
    assert dataset.ratings[0].votes == (4.0, 5.0)


def test_prefixes_name_the_speakers_if_the_response_has_one(tmp_path: Path) -> None:
    for context, response, turns, text in (
        ("User: hi\nUser: you: there?\nSystem: yes", "System: ok",
         [(USER, "hi"), (USER, "you: there?"), (SYSTEM, "yes")], "ok"),
        ("User: hi\nso: what", "System: ok", [(USER, "hi"), (USER, "so: what")], "ok"),
        ("System: a film\nseen it ?", "no", [(SYSTEM, "System: a film"), (USER, "seen it ?")], "no"),
        ("User: hi", "System: ", [(USER, "hi")], ""),
    ):
        item = parse(tmp_path, record(context=context, response=response)).items[0]
        assert item.context == tuple(Utterance(*turn) for turn in turns)
        assert item.response == Utterance(SYSTEM, text)


def test_both_names_of_the_system_and_empty_responses_are_read(tmp_path: Path) -> None:
    for values, system in ((record(model="gpt"), "gpt"), (record(model=..., model_name="gpt"), "gpt"),
                           (record(model=...), None)):
        assert parse(tmp_path, values).items[0].system == system
    for response in ("", None, "  "):
        assert parse(tmp_path, record(response=response)).items[0].response == Utterance(SYSTEM, "")


def test_both_names_of_the_dialogue_are_read(tmp_path: Path) -> None:
    for key in ("dialog", "dialogue"):
        turns = [{"speaker": "human", "text": "hi"}, {"speaker": "model", "text": " hello "}]
        dataset = parse(tmp_path, {"dialogue_id": "a", key: turns, "annotations": {"Coherent": []}}, name="fed-dial")
        assert dataset.items == (Item("a", (Utterance(USER, "hi"), Utterance(SYSTEM, "hello")), None),)
        assert dataset.ratings == (Rating("a", "Coherent", ()),)
    for more, problem in [({"dialog": [{"speaker": "human", "text": " "}]}, "text"), ({}, "missing"),
                          ({"dialog": ["hi"]}, "speaker and text")]:
        with pytest.raises(BadRecord, match=problem):
            parse(tmp_path, {"dialogue_id": "a", **more}, name="fed-dial")


def test_votes_are_numbers_quoted_or_not_and_words_are_ignored(tmp_path: Path) -> None:
    for values, votes in [([1, 2.5], (1.0, 2.5)), (["4", " 5 "], (4.0, 5.0)), (["N/A (no idea)", 3], (3.0,)),
                          ([None, 2], (2.0,)), ([], ()), (None, ()), (3, (3.0,))]:
        assert parse(tmp_path, record(annotations={"overall": values}, win_ratio=0.1)).ratings[0].votes == votes
    for missing in (..., None, {}):
        dataset = parse(tmp_path, record(annotations=missing))
        assert (len(dataset.items), dataset.ratings) == (1, ())


def test_win_ratio_is_the_rating_of_esl_and_ncm(tmp_path: Path) -> None:
    row = {"dialogue_id": "x", "context": "a", "response": "b", "annotations": {"appropriateness": [3]}}
    for ratio, votes in [(0.25, (0.25,)), ("0.5", (0.5,)), (None, ()), ("", ()), ("nan", ()), ("-", ())]:
        dataset = parse(tmp_path, {**row, "win_ratio": ratio}, name="esl")
        assert dataset.ratings == (Rating("x", "appropriateness", votes),)
    with pytest.raises(BadRecord, match="win_ratio"):
        parse(tmp_path, {**row, "win_ratio": 1e9}, name="esl")


WRONG: list[tuple[list[object], tuple[str, ...]]] = [
    ([record(dialogue_id=...)], ("record 0", "dialogue_id", "missing")),
    ([record(dialogue_id=7)], ("record 0", "dialogue_id", "text")),
    ([record(), record()], (f"record {NAME}_00000", "dialogue_id", "twice")),
    ([record(response=...)], (f"{NAME}_00000", "response", "missing")),
    ([record(context=["a"])], ("context", "a list")),
    ([record(reference=[1])], ("reference", "list of strings")),
    ([record(annotations=[1])], ("annotations", "a list")),
    ([record(annotations={"overal": [1]})], ("annotations.overal", "'overall'")),
    *(([record(annotations={"overall": [vote]})], ("annotations.overall", part)) for vote, part in (
        ("good", "'good'"), (True, "True"), (float("nan"), "nan"), (float("inf"), "inf"), (1e308, "1e+308"),
        ("1_0", "'1_0'"), (10**400, "plausible"))),
    ([record(response="\ud800")], (f"{NAME}_00000", "response", "surrogate")),
    ([record(reference=["ok", "\udfff"])], ("reference", "surrogate")),
    ([record(dialogue_id="")], ("record 0", "dialogue_id", "empty")),
    (["text"], ("record 0", "object")),
    ([], ("no records",)),
]


def test_bad_records_and_bad_json_are_named(tmp_path: Path) -> None:
    for rows, parts in WRONG:
        with refused(BadRecord, f"{NAME}_eval.json", *parts):
            parse(tmp_path, *rows)
    path = tmp_path / f"{NAME}_eval.json"
    for content in (b"[" + b"1" * 5000 + b"]", b'[{"dialogue_id": "a"', b"\xff\xfe[]", b"{}", b"", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(BadRecord, match=r"dailydialog-gupta_eval\.json"):
            official.parse(path, registry.card(NAME))


def test_every_row_and_vote_of_the_real_files_is_read(real_data: Path) -> None:
    files = sorted((real_data / "human_evaluation_data").glob("*_eval.json"))
    assert len(files) == 10
    for path in files:
        rows = json.loads(path.read_text())
        card = registry.card(path.name.removesuffix("_eval.json"))
        assert card.sources[0].sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        dataset = official.parse(path, card)
        assert len(dataset.items) == len(rows) == card.size
        expected = Counter((row["dialogue_id"], quality, tuple(map(float, votes)))
                           for row in rows for quality, votes in row["annotations"].items())
        assert Counter((rating.item, rating.quality, rating.votes) for rating in dataset.ratings) == expected
        assert all(item.system and item.utterances for item in dataset.items)
