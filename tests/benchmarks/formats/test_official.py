"""The reader of the organisers' JSON: every quirk of the files, and every complaint in one line."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import Item, Reference, Utterance
from benchmarks.errors import BadRecord
from benchmarks.formats import official


def record(**changes: Any) -> dict[str, Any]:
    values = {"dialogue_id": "dailydialog-gupta_00000", "context": "hi\nhow are you ?", "response": "fine .",
              "reference": ["well ."], "model": "bot", "annotations": {"overall": [4, 5]}}
    return {key: value for key, value in {**values, **changes}.items() if value is not ...}


def parse(folder: Path, *records: object, name: str = "dailydialog-gupta") -> Any:
    path = folder / f"{name}_eval.json"
    path.write_text(json.dumps(records))
    return official.parse(path, registry.card(name))


def test_turns_are_stripped_and_empty_lines_dropped(tmp_path: Path) -> None:
    padded = record(context=" hi \n \n there \n ", response="  ok \n", reference=[" well \n", " "])
    dataset = parse(tmp_path, padded)
    assert dataset.items == (Item("dailydialog-gupta_00000", (Utterance("system", "hi"), Utterance("user", "there")),
                                  Utterance("system", "ok"), (Reference("well"),), system="bot"),)
    assert dataset.ratings[0].votes == (4.0, 5.0)


def test_speaker_marks_name_the_speakers(tmp_path: Path) -> None:
    item = parse(tmp_path, record(context="User: hi\nUser: you: there?\nSystem: yes", response="System: ok")).items[0]
    assert item.context == (Utterance("user", "hi"), Utterance("user", "you: there?"), Utterance("system", "yes"))
    assert item.response == Utterance("system", "ok")
    item = parse(tmp_path, record(context="User: hi\nso: what", response="System: ok")).items[0]
    assert item.context[1] == Utterance("user", "so: what")
    item = parse(tmp_path, record(context="System: a film\nseen it ?", response="no")).items[0]
    assert item.context[0].text == "System: a film"


def test_both_names_of_the_system_and_silence(tmp_path: Path) -> None:
    for values, system in ((record(model="gpt"), "gpt"), (record(model=..., model_name="gpt"), "gpt"),
                           (record(model=...), None)):
        assert parse(tmp_path, values).items[0].system == system
    for response in ("", None, "  "):
        assert parse(tmp_path, record(response=response)).items[0].response == Utterance("system", "")
    item = parse(tmp_path, record(context="User: hi", response="System: ")).items[0]
    assert (item.response.text, item.context[0].text) == ("", "hi")


def test_both_names_of_the_dialogue(tmp_path: Path) -> None:
    for key in ("dialog", "dialogue"):
        turns = [{"speaker": "human", "text": "hi"}, {"speaker": "model", "text": " hello "}]
        row = {"dialogue_id": "a", key: turns, "annotations": {"Coherent": []}}
        dataset = parse(tmp_path, row, name="fed-dial")
        assert dataset.items[0].response is None
        assert dataset.items[0].context == (Utterance("user", "hi"), Utterance("system", "hello"))
        assert dataset.ratings[0].votes == ()
    for more, problem in [({"dialog": [{"speaker": "human", "text": " "}]}, "no utterance with text"),
                          ({}, "should be a list of {\"speaker\": \"user\", \"text\": \"Hello\"}, is missing"),
                          ({"dialog": ["hi"]}, "the texts speaker and text")]:
        with pytest.raises(BadRecord, match=problem):
            parse(tmp_path, {"dialogue_id": "a", **more}, name="fed-dial")


def test_votes(tmp_path: Path) -> None:
    """Numbers, in quotes too; words are no vote; without annotations the item is unrated."""
    for values, votes in [
        ([1, 2.5], (1.0, 2.5)), (["4", " 5 "], (4.0, 5.0)), (["N/A (no idea)", 3], (3.0,)), ([None, 2], (2.0,)),
        ([], ()), (None, ()), (3, (3.0,)),
    ]:
        row = record(annotations={"overall": values}, win_ratio=0.1)
        assert parse(tmp_path, row).ratings[0].votes == votes
    for missing in (..., None, {}):
        dataset = parse(tmp_path, record(annotations=missing))
        assert (len(dataset.items), dataset.ratings) == (1, ())


def test_win_ratio_is_the_rating_of_esl_and_ncm(tmp_path: Path) -> None:
    for ratio, votes in [(0.25, (0.25,)), ("0.5", (0.5,)), (None, ()), ("", ()), ("nan", ()), ("-", ())]:
        row = {"dialogue_id": "x", "context": "a", "response": "b", "win_ratio": ratio,
               "annotations": {"appropriateness": [3]}}
        (rating,) = parse(tmp_path, row, name="esl").ratings
        assert (rating.quality, rating.votes) == ("appropriateness", votes)
    with pytest.raises(BadRecord, match="no ratio"):
        parse(tmp_path, {"dialogue_id": "x", "context": "a", "response": "b", "win_ratio": 1e9}, name="esl")


WRONG: list[tuple[list[object], tuple[str, ...]]] = [
    ([record(dialogue_id=...)], ("record 0", "dialogue_id", "missing")),
    ([record(dialogue_id=7)], ("record 0", "dialogue_id", "text")),
    ([record(), record()], ("record dailydialog-gupta_00000", "dialogue_id", "twice")),
    ([record(response=...)], ("dailydialog-gupta_00000", "response", "missing")),
    ([record(context=["a"])], ("context", "a list")),
    ([record(reference=[1])], ("reference", "list of texts")),
    ([record(annotations=[1])], ("annotations", "a list")),
    ([record(annotations={"overal": [1]})], ("annotations.overal", "did you mean 'overall'")),
    ([record(annotations={"overall": ["good"]})], ("annotations.overall", "'good'")),
    ([record(annotations={"overall": [True]})], ("annotations.overall", "True")),
    ([record(annotations={"overall": [float("nan")]})], ("annotations.overall", "not finite")),
    ([record(annotations={"overall": [float("inf")]})], ("annotations.overall", "not finite")),
    ([record(annotations={"overall": [1e308]})], ("annotations.overall", "no vote")),
    ([record(annotations={"overall": ["1_0"]})], ("annotations.overall", "'1_0'")),
    ([record(annotations={"overall": [10**400]})], ("annotations.overall", "no vote")),
    ([record(response="\ud800")], ("dailydialog-gupta_00000", "response", "surrogate")),
    ([record(reference=["ok", "\udfff"])], ("reference", "surrogate")),
    ([record(dialogue_id="")], ("record 0", "dialogue_id", "empty")),
    (["text"], ("record 0", "object")),
    ([], ("no records",)),
]


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    for rows, parts in WRONG:
        with pytest.raises(BadRecord) as caught:
            parse(tmp_path, *rows)
        for part in ("dailydialog-gupta_eval.json", *parts):
            assert part in str(caught.value)
        assert "\n" not in str(caught.value)


def test_what_is_not_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "dailydialog-gupta_eval.json"
    for content in (b"[" + b"1" * 5000 + b"]", b'[{"dialogue_id": "a"', b"\xff\xfe[]", b"{}", b"", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(BadRecord, match=r"dailydialog-gupta_eval\.json"):
            official.parse(path, registry.card("dailydialog-gupta"))


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
