"""Private ratings: every format, and one-line errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.dataset import Dataset, Rating
from benchmarks.errors import BenchmarkError
from benchmarks.tables import private
from tests.conftest import make_card, make_item


def owners(*rated: str, origin: Any = "imported") -> private.ItemIndex:
    """Return the owners of the items a and b, some of which are rated."""
    known = private.ItemIndex()
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
        ("r.csv", f"{head}a,overal,4\n", rated, "line 2: field 'quality'.*'overall'"),
        *(("r.csv", f"{head}a,overall,{vote}\n", rated, f"line 2: field 'vote': '{vote}'")
          for vote in ("nan", "1e999", "good", "1_0")),
        ("r.csv", f"{head}a,overall,6\n", rated, "line 2: field 'vote': .*1 to 5"),
        ("r.csv", f"{head}a,overall\n", rated, "line 2: field 'vote': ''"),
        ("r.csv", "item,vote\na,4\n", rated, "quality"), ("r.csv", head, rated, "votes"),
        ("r.csv", "item,dialogue_id,quality,vote\na,b,overall,1\n", rated, "duplicate"),
        ("r.csv", f"{head}c,overall,4\na,overall,9\n", rated, "line 2: .*'c'.*1 more"),
        ("r.csv", f"{head}b,overall,4\n", rated, "line 2: .*toy .*'overall'"),
        ("r.json", json.dumps(no_votes), rated, "field 'annotations'"),
        ("r.json", json.dumps(stranger), rated, r"r\.json: record c, field 'item'"),
        ("r.pdf", "", rated, "r.pdf"), ("absent.csv", None, rated, "absent"),
        ("r.csv", good, owners(origin="sample"), "sample"), ("r.csv", good, both, "toy and other"),
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
