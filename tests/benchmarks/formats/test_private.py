"""Private ratings are joined when they are right, and refused by line and field when not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.dataset import Dataset, Rating
from benchmarks.errors import BenchmarkError
from benchmarks.formats import private
from tests.conftest import make_card, make_item


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
WRONG = [
    ("item,quality,vote\nc,overall,4\n", ("line 2", "item", "'c'")),
    ("item,quality,vote\na,overal,4\n", ("line 2", "quality", "did you mean 'overall'")),
    ("item,quality,vote\na,overall,nan\n", ("line 2", "vote", "'nan'")),
    ("item,quality,vote\na,overall,1e999\n", ("line 2", "vote")),
    ("item,quality,vote\na,overall,good\n", ("line 2", "vote", "'good'")),
    ("item,quality,vote\na,overall\n", ("line 2", "fewer fields")),
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


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    for content, parts in WRONG:
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
        ("r.csv", "item,quality,vote\n\udcff,overall,4\n", owners(), "is not UTF-8: the byte 0xff in line 2"),
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
