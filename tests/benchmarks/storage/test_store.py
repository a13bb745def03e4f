"""Datasets in the home: they are read back unchanged, and damage is detected."""

import dataclasses
import json
import os
import threading
import time
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dataset import Dataset, Item, Rating, Reference, Utterance
from benchmarks.errors import BadStore
from benchmarks.storage import store
from benchmarks.storage.files import STALE
from tests.conftest import make_card

text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
turn = st.builds(Utterance, text, text)
number = st.floats(allow_nan=False, allow_infinity=False)
ITEMS = st.lists(st.builds(Item, text, st.lists(turn, max_size=3).map(tuple), st.none() | turn,
                           st.lists(st.builds(Reference, text, number), max_size=2).map(tuple),
                           st.lists(text, max_size=2).map(tuple), st.none() | text), max_size=4).map(tuple)
RATINGS = st.lists(st.builds(Rating, text, text, st.lists(number, max_size=3).map(tuple),
                             st.lists(text, max_size=3).map(tuple)), max_size=4).map(tuple)

ITEM = Item("a", (Utterance("user", "hi"),), Utterance("system", "hello"))
FIRST = Dataset(make_card(), (ITEM,), (Rating("a", "overall", (1.0,)),), "imported")
SECOND = Dataset(make_card(), (Item("b", (), Utterance("system", "other")),), (), "fetched")


@settings(max_examples=25, deadline=None)
@given(ITEMS, RATINGS)
def test_any_dataset_is_read_back_equal(tmp_path_factory: pytest.TempPathFactory, items: tuple[Item, ...],
                                      ratings: tuple[Rating, ...]) -> None:
    home = tmp_path_factory.mktemp("home")
    dataset = Dataset(make_card(), items, ratings, "fetched")
    with mock.patch.object(store, "BATCH_ROWS", 2):
        store.save(dataset, home)
    assert store.read(home, dataset.card) == dataset


def test_the_datasets_library_opens_stored_datasets(home: Path) -> None:
    library = pytest.importorskip("datasets")
    text, number = library.Value("string"), library.Value("float64")
    turn = {"speaker": text, "text": text}
    for dataset in (FIRST, Dataset(make_card(), (), (), "imported")):
        store.save(dataset, home)
        folder = home / "datasets" / getattr(store.stored_record(home, "toy"), "folder", "")
        items, ratings = (library.load_from_disk(str(folder / name)) for name in ("items", "ratings"))
        assert items["id"][:] == [item.id for item in dataset.items]
        assert ratings["votes"][:] == [list(rating.votes) for rating in dataset.ratings]
        assert items.features == library.Features({
            "id": text, "context": [turn], "response": turn, "references": [{"text": text, "weight": number}],
            "facts": [text], "system": text, "language": text})
        assert ratings.features == library.Features({
            "item": text, "quality": text, "votes": [number], "raters": [text]})


def test_saving_again_replaces_and_removes_old_folders(home: Path) -> None:
    store.save(FIRST, home)
    (first,) = (home / "datasets").glob("toy-*")
    os.utime(first, (time.time() - 2 * STALE,) * 2)
    store.save(SECOND, home)
    assert store.read(home, make_card()) == SECOND
    assert len(list((home / "datasets").glob("toy-*"))) == 1


def test_saving_again_removes_published_scores_that_are_gone(home: Path) -> None:
    for scores in ({"a": {"a": 1.0}, "b": {"a": 2.0}}, {"b": {"a": 3.0}}):
        store.save(dataclasses.replace(FIRST, scores=scores), home)
    (left,) = (home / "scores").iterdir()
    assert (left.name, left.read_text()) == ("toy.b.csv", "dialogue_id,score\na,3.0\n")


def test_damage_is_detected_and_repaired_by_saving_again(home: Path) -> None:
    note = home / "datasets" / "toy.json"
    for damage in (lambda file: file.write_bytes(file.read_bytes()[:200]), Path.unlink,
                   lambda file: file.write_bytes(file.read_bytes().replace(b"hello", b"jello")),
                   lambda file: note.write_text("{"),
                   lambda file: note.write_text(json.dumps(
                       {"folder": file.parts[-3], "origin": 1, "items": "", "ratings": ""}))):
        store.save(FIRST, home)
        assert store.read(home, make_card()) == FIRST
        folder = getattr(store.stored_record(home, "toy"), "folder", "")
        damage(next((home / "datasets" / folder / "items").glob("data-*.arrow")))
        with pytest.raises(BadStore):
            store.read(home, make_card())


def test_reading_during_an_import_finds_no_damage(home: Path) -> None:
    store.save(FIRST, home)
    seen: list[Dataset | None] = []
    readers = [threading.Thread(target=lambda: seen.extend(store.read(home, make_card()) for _ in range(40)))
               for _ in range(3)]
    for reader in readers:
        reader.start()
    for round_ in range(20):
        store.save(SECOND if round_ % 2 else FIRST, home)
    for reader in readers:
        reader.join()
    assert sum(dataset in (FIRST, SECOND) for dataset in seen) == len(seen) == 120
