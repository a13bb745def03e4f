"""The organisers' JSON and private ratings: quirks of the files, and one-line errors."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks import registry
from benchmarks.dataset import SYSTEM, USER, Dataset, Item, Rating, Reference, Utterance
from benchmarks.errors import BadRecord, BenchmarkError
from benchmarks.formats import official, private
from tests.conftest import make_card, make_item, refused

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
    for more, problem in [({"dialog": [{"speaker": "human", "text": " "}]}, "no utterance with text"),
                          ({}, "is missing; expected a list of {\"speaker\": \"user\", \"text\": \"Hello\"}"),
                          ({"dialog": ["hi"]}, "the string fields speaker and text")]:
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
    with pytest.raises(BadRecord, match="not a plausible ratio"):
        parse(tmp_path, {**row, "win_ratio": 1e9}, name="esl")


WRONG: list[tuple[list[object], tuple[str, ...]]] = [
    ([record(dialogue_id=...)], ("record 0", "dialogue_id", "missing")),
    ([record(dialogue_id=7)], ("record 0", "dialogue_id", "text")),
    ([record(), record()], (f"record {NAME}_00000", "dialogue_id", "twice")),
    ([record(response=...)], (f"{NAME}_00000", "response", "missing")),
    ([record(context=["a"])], ("context", "a list")),
    ([record(reference=[1])], ("reference", "list of strings")),
    ([record(annotations=[1])], ("annotations", "a list")),
    ([record(annotations={"overal": [1]})], ("annotations.overal", "did you mean 'overall'")),
    *(([record(annotations={"overall": [vote]})], ("annotations.overall", part)) for vote, part in (
        ("good", "'good'"), (True, "True"), (float("nan"), "nan, which is not"), (float("inf"), "not a plausible"),
        (1e308, "not a plausible vote"), ("1_0", "'1_0'"), (10**400, "not a plausible vote"))),
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


def owners(*rated: str, origin: Any = "imported") -> private.Owners:
    """Return the owners of the items a and b, some of which are rated."""
    known = private.Owners()
    ratings = tuple(Rating(name, "overall", (1.0,)) for name in rated)
    known.add(Dataset(make_card(), (make_item("a", "x"), make_item("b", "y")), ratings, origin))
    return known


def test_private_ratings_are_the_same_in_every_format(tmp_path: Path) -> None:
    for name, content in [
        ("r.csv", "\ufeffitem;quality;vote\na;overall;4\na;overall;5\nb;overall;1.5\n"),
        ("r.csv", "item,quality,vote\na,overall,4\na,overall,5\nb,overall,1.5\n"),
        ("r.tsv", "dialogue_id\tquality\tscore\textra\na\toverall\t4\tx\na\toverall\t5\tx\nb\toverall\t1.5\tx\n"),
        ("r.json", json.dumps([{"dialogue_id": "a", "annotations": {"overall": [4, 5]}},
                               {"dialogue_id": "b", "annotations": {"overall": ["1.5"]}}])),
    ]:
        (tmp_path / name).write_text(content)
        assert private.read(tmp_path / name, owners()) == {
            "toy": (Rating("a", "overall", (4, 5)), Rating("b", "overall", (1.5,)))}


def test_bad_private_ratings_are_named(tmp_path: Path) -> None:
    head, good = "item,quality,vote\n", "item,quality,vote\na,overall,4\n"
    rated, both = owners("b"), owners()
    both.add(Dataset(make_card("other"), (make_item("a", "x"),), (), "imported"))
    no_votes, stranger = [{"dialogue_id": "a"}], [{"dialogue_id": "c", "annotations": {"overall": [4]}}]
    for name, content, known, problem in [
        ("r.csv", f"{head}c,overall,4\n", rated, r"r\.csv, line 2: field 'item': 'c'"),
        ("r.csv", f"{head}a,overal,4\n", rated, "line 2: field 'quality'.*did you mean 'overall'"),
        *(("r.csv", f"{head}a,overall,{vote}\n", rated, f"line 2: field 'vote': '{vote}' is not a finite number")
          for vote in ("nan", "1e999", "good", "1_0")),
        ("r.csv", f"{head}a,overall,6\n", rated, "line 2: field 'vote': .*outside the scale.*1 to 5"),
        ("r.csv", f"{head}a,overall\n", rated, "line 2: has 2 values for 3 columns"),
        ("r.csv", "item,vote\na,4\n", rated, "no column quality"), ("r.csv", head, rated, "no votes"),
        ("r.csv", "item,dialogue_id,quality,vote\na,b,overall,1\n", rated, "a duplicate column"),
        ("r.csv", f"{head}c,overall,4\na,overall,9\n", rated, "line 2: .*'c'.*1 more record is invalid"),
        ("r.csv", f"{head}b,overall,4\n", rated, "line 2: .*item of toy already has votes on 'overall'"),
        ("r.csv", f"{head}\udcff,overall,4\n", rated, "line 2: is not UTF-8: the byte 0xff"),
        ("r.json", json.dumps(no_votes), rated, "field 'annotations': is missing"),
        ("r.json", json.dumps(stranger), rated, r"r\.json: record c, field 'item'"),
        ("r.xlsx", "", rated, "ratings must be"), ("absent.csv", None, rated, "no such file"),
        ("r.csv", good, owners(origin="sample"), "the sample accepts no ratings"),
        ("r.csv", good, both, "more than one dataset"),
    ]:
        if content is not None:
            (tmp_path / name).write_text(content, errors="surrogateescape")
        with pytest.raises(BenchmarkError, match=problem):
            private.read(tmp_path / name, known)


def test_joined_ratings_replace_those_without_votes() -> None:
    dataset = Dataset(make_card(), (make_item("a", "x"), make_item("b", "y")),
                      (Rating("a", "overall", ()), Rating("b", "overall", (1.0,))), "imported")
    joined, new = private.join(dataset, (Rating("a", "overall", (3.0,)), Rating("cut off", "overall", (3.0,))))
    assert new == (Rating("a", "overall", (3.0,)),)
    assert joined.ratings == (Rating("b", "overall", (1.0,)), Rating("a", "overall", (3.0,)))
    assert (joined.fingerprint, dataset.rated, joined.rated) == (dataset.fingerprint, 1, 2)
