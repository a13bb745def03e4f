"""Readers of the organisers' JSON and of private ratings: every quirk of the files, every complaint in one line."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import Dataset, Item, Rating, Reference, Utterance
from benchmarks.errors import BadRecord, BenchmarkError
from benchmarks.formats import official, private
from tests.conftest import make_card, make_item


def record(**changes: Any) -> dict[str, Any]:
    values = {"dialogue_id": "dailydialog-gupta_00000", "context": "hi\nhow are you ?", "response": "fine .",
              "reference": ["well ."], "model": "bot", "annotations": {"overall": [4, 5]}}
    return {key: value for key, value in {**values, **changes}.items() if value is not ...}


def parse(folder: Path, *records: object, name: str = "dailydialog-gupta") -> Any:
    path = folder / f"{name}_eval.json"
    path.write_text(json.dumps(records))
    return official.parse(path, registry.card(name))


def test_turns_are_stripped_and_marks_name_their_speakers(tmp_path: Path) -> None:
    padded = record(context=" hi \n \n there \n ", response="  ok \n", reference=[" well \n", " "])
    dataset = parse(tmp_path, padded)
    assert dataset.items == (Item("dailydialog-gupta_00000", (Utterance("system", "hi"), Utterance("user", "there")),
                                  Utterance("system", "ok"), (Reference("well"),), system="bot"),)
    assert dataset.ratings[0].votes == (4.0, 5.0)
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


def test_what_is_wrong_and_what_is_not_json_is_named(tmp_path: Path) -> None:
    for rows, parts in WRONG:
        with pytest.raises(BadRecord) as caught:
            parse(tmp_path, *rows)
        for part in ("dailydialog-gupta_eval.json", *parts):
            assert part in str(caught.value)
        assert "\n" not in str(caught.value)
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


def owners(*rated: str) -> private.Owners:
    """Owners of the items a and b, of which some are rated."""
    known = private.Owners()
    ratings = tuple(Rating(name, "overall", (1.0,)) for name in rated)
    known.add(Dataset(make_card(), (make_item("a", "x"), make_item("b", "y")), ratings, "imported"))
    return known


FORMS = [
    ("r.csv", "\ufeffitem;quality;vote\na;overall;4\na;overall;5\nb;overall;1.5\n"),
    ("r.csv", "item,quality,vote\na,overall,4\na,overall,5\nb,overall,1.5\n"),
    ("r.tsv", "dialogue_id\tquality\tscore\textra\na\toverall\t4\tx\na\toverall\t5\tx\nb\toverall\t1.5\tx\n"),
    ("r.json", json.dumps([{"dialogue_id": "a", "annotations": {"overall": [4, 5]}},
                           {"dialogue_id": "b", "annotations": {"overall": ["1.5"]}}])),
]
WRONG_RATINGS = [
    ("item,quality,vote\nc,overall,4\n", ("line 2", "item", "'c'")),
    ("item,quality,vote\na,overal,4\n", ("line 2", "quality", "did you mean 'overall'")),
    ("item,quality,vote\na,overall,nan\n", ("line 2", "vote", "'nan'")),
    ("item,quality,vote\na,overall,1e999\n", ("line 2", "vote")),
    ("item,quality,vote\na,overall,good\n", ("line 2", "vote", "'good'")),
    ("item,quality,vote\na,overall\n", ("line 2", "2 values for 3 columns")),
    ("item,vote\na,4\n", ("no column quality",)),
    ("item,quality,vote\n", ("no votes",)),
    ("item,dialogue_id,quality,vote\na,b,overall,1\n", ("a column twice",)),
    ("item,quality,vote\na,overall,1_0\n", ("line 2", "vote")),
    ("item,quality,vote\na,overall,6\n", ("line 2", "vote", "outside the scale", "1 to 5")),
    ("item,quality,vote\nc,overall,4\na,overall,9\n", ("line 2", "'c'", "1 more record is wrong")),
    ("item,quality,vote\nb,overall,4\n", ("line 2", "b of toy has votes on 'overall' already")),
]


def test_the_forms_say_the_same(tmp_path: Path) -> None:
    for name, content in FORMS:
        (tmp_path / name).write_text(content)
        assert private.read(tmp_path / name, owners()) == {
            "toy": (Rating("a", "overall", (4, 5)), Rating("b", "overall", (1.5,)))}


def test_what_is_wrong_with_private_ratings_is_named(tmp_path: Path) -> None:
    for content, parts in WRONG_RATINGS:
        (tmp_path / "r.csv").write_text(content)
        with pytest.raises(BenchmarkError) as caught:
            private.read(tmp_path / "r.csv", owners("b"))
        for part in ("r.csv", *parts):
            assert part in str(caught.value)
    sample, both = private.Owners(), owners()
    sample.add(Dataset(make_card(), (make_item("a", "x"),), (), "sample"))
    both.add(Dataset(make_card("other"), (make_item("a", "x"),), (), "imported"))
    good = "item,quality,vote\na,overall,4\n"
    for name, content, known, problem in [
        ("r.csv", "item,quality,vote\n\udcff,overall,4\n", owners(), "line 2: is not UTF-8: the byte 0xff"),
        ("r.json", json.dumps([{"dialogue_id": "a"}]), owners(), "field 'annotations': is missing"),
        ("r.json", json.dumps([{"dialogue_id": "c", "annotations": {"overall": [4]}}]), owners(),
         r"r\.json: record c, field 'item'"),
        ("r.xlsx", "", owners(), "ratings come as"), ("absent.csv", None, owners(), "no such file"),
        ("r.csv", good, sample, "the sample takes no ratings"), ("r.csv", good, both, "more than one dataset"),
    ]:
        if content is not None:
            (tmp_path / name).write_text(content, errors="surrogateescape")
        with pytest.raises(BenchmarkError, match=problem):
            private.read(tmp_path / name, known)


def test_joining_takes_the_place_of_no_votes() -> None:
    dataset = Dataset(make_card(), (make_item("a", "x"), make_item("b", "y")),
                      (Rating("a", "overall", ()), Rating("b", "overall", (1.0,))), "imported")
    joined, new = private.join(dataset, (Rating("a", "overall", (3.0,)), Rating("cut off", "overall", (3.0,))))
    assert new == (Rating("a", "overall", (3.0,)),)
    assert joined.ratings == (Rating("b", "overall", (1.0,)), Rating("a", "overall", (3.0,)))
    assert joined.fingerprint == dataset.fingerprint
    assert (dataset.rated, joined.rated) == (1, 2)
