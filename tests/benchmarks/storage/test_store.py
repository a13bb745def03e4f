"""What is kept in the home reads back as it was; files are written whole or not at all, and damage is noticed."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dataset import Dataset, Item, Rating, Reference, Utterance
from benchmarks.errors import BadStore
from benchmarks.storage import store
from benchmarks.storage.files import STALE, sweep, write_atomically
from tests.conftest import make_card

text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12)
turn = st.builds(Utterance, text, text)
number = st.floats(allow_nan=False, allow_infinity=False)
items = st.lists(st.builds(Item, text, st.lists(turn, max_size=3).map(tuple), st.none() | turn,
                           st.lists(st.builds(Reference, text, number), max_size=2).map(tuple),
                           st.lists(text, max_size=2).map(tuple), st.none() | text), max_size=4).map(tuple)
ratings = st.lists(st.builds(Rating, text, text, st.lists(number, max_size=3).map(tuple)), max_size=4).map(tuple)


@settings(max_examples=25, deadline=None)
@given(items, ratings)
def test_any_dataset_reads_back_equal(tmp_path_factory: pytest.TempPathFactory, some: tuple[Item, ...],
                                      given_: tuple[Rating, ...]) -> None:
    home = tmp_path_factory.mktemp("home")
    dataset = Dataset(make_card(), some, given_, "fetched")
    store.save(dataset, home)
    assert store.read(home, dataset.card) == dataset


def test_the_datasets_library_opens_what_is_kept(home: Path) -> None:
    library = pytest.importorskip("datasets")
    text, number = library.Value("string"), library.Value("float64")
    turn = {"speaker": text, "text": text}
    for dataset in (small(), Dataset(make_card(), (), (), "imported")):
        store.save(dataset, home)
        folder = home / "datasets" / getattr(store.note(home, "toy"), "folder", "")
        items, ratings = (library.load_from_disk(str(folder / name)) for name in ("items", "ratings"))
        assert items["id"][:] == [item.id for item in dataset.items]
        assert ratings["votes"][:] == [list(rating.votes) for rating in dataset.ratings]
        assert items.features == library.Features({
            "id": text, "context": [turn], "response": turn, "references": [{"text": text, "weight": number}],
            "facts": [text], "system": text, "language": text})
        assert ratings.features == library.Features({"item": text, "quality": text, "votes": [number]})


def small() -> Dataset:
    item = Item("a", (Utterance("user", "hi"),), Utterance("system", "hello"))
    return Dataset(make_card(), (item,), (Rating("a", "overall", (1.0,)),), "imported")


def test_saving_again_replaces_and_tidies_what_is_old(home: Path) -> None:
    store.save(small(), home)
    (first,) = (home / "datasets").glob("toy-*")
    os.utime(first, (time.time() - 2 * STALE,) * 2)
    item = Item("b", (), Utterance("system", "other"))
    store.save(Dataset(make_card(), (item,), (), "fetched"), home)
    kept = store.read(home, make_card())
    assert kept is not None
    assert [entry.id for entry in kept.items] == ["b"]
    assert len(list((home / "datasets").glob("toy-*"))) == 1


def test_damage_is_noticed_and_importing_again_mends_it(home: Path) -> None:
    for damage in (lambda file: file.write_bytes(file.read_bytes()[:200]), Path.unlink,
                   lambda file: file.write_bytes(file.read_bytes().replace(b"hello", b"jello")),
                   lambda file: (home / "datasets" / "toy.json").write_text("{"),
                   lambda file: (home / "datasets" / "toy.json").write_text(json.dumps(
                       {"folder": file.parts[-3], "origin": 1, "items": "", "ratings": ""}))):
        store.save(small(), home)
        assert store.read(home, make_card()) == small()
        stored = store.note(home, "toy")
        assert stored is not None
        damage(next((home / "datasets" / stored.folder / "items").glob("data-*.arrow")))
        with pytest.raises(BadStore, match="import or fetch it again"):
            store.read(home, make_card())


def test_importing_while_others_read_is_never_damage(home: Path) -> None:
    store.save(small(), home)
    other = Dataset(make_card(), (Item("b", (), Utterance("system", "other")),), (), "fetched")
    seen = []

    def reading() -> None:
        seen.extend(store.read(home, make_card()) for _ in range(40))

    readers = [threading.Thread(target=reading) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(20):
        store.save(other if number % 2 else small(), home)
    for reader in readers:
        reader.join()
    assert len(seen) == 120
    assert all(found in (small(), other) for found in seen)


def test_a_failure_names_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_atomically(tmp_path / "taken", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_only_what_is_old_is_swept(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    old, young, whole = (tmp_path / "below" / name for name in (".a.part", ".b.part", "c.parquet"))
    for path in (old, young, whole):
        path.write_bytes(b"half")
        if path != young:
            os.utime(path, (time.time() - 2 * STALE,) * 2)
    sweep(tmp_path)
    assert (old.exists(), young.exists(), whole.exists()) == (False, True, True)


def test_what_a_killed_process_left_is_swept_at_once(tmp_path: Path) -> None:
    """And what a process writes that still runs is not."""
    code = ("import os, pathlib, sys\nfrom benchmarks.storage import files\n"
            "os.fsync = lambda stream: (print('half', flush=True), sys.stdin.read())\n"
            f"files.write_atomically(pathlib.Path({str(tmp_path / 'a.json')!r}), b'half')")
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        sweep(tmp_path)
        assert len(list(tmp_path.iterdir())) == 1, "it is being written"
        process.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.iterdir())) == 1
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == []
