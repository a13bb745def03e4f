"""Importing a copy of the organisers' release, translations, and edges of ConceptNet in both formats."""

import gzip
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from benchmarks import registry, release
from benchmarks.errors import BadArchive, BenchmarkError
from benchmarks.sources import fetch as fetching
from benchmarks.sources import xdial
from benchmarks.sources.xdial import LANGUAGES
from benchmarks.storage import resources
from harness.scoring import pairs
from tests.conftest import Invoke

LINES = "Cats\tIsA\tpet_animal\t2.5\n<p>\tRelatedTo\tna\tNA\ncats\tRelatedTo\tmilk\t1\nx\tIsA\ty\tnan\n"
ASSERTIONS = ('/a/[x]\t/r/AtLocation\t/c/en/milk/n\t/c/en/cold_store/n/wn/artifact\t{"weight": 3.0}\n'
              '/a/[x]\t/r/IsA\t/c/fr/lait\t/c/en/milk\t{"weight": 1.0}\n')
EDGES = [("milk", "AtLocation", "cold store", 3), ("cats", "IsA", "pet animal", 2.5), ("cats", "RelatedTo", "milk", 1)]


def stored_edges(home: Path) -> list[resources.Edge]:
    return list(resources.read_edges(resources.path(home, "conceptnet")))


def test_edges_in_both_formats_are_merged(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "edges.tsv").write_text(LINES)
    (folder / "assertions.csv.gz").write_bytes(gzip.compress(ASSERTIONS.encode()))
    (folder / "notes.tsv").write_text("a\tb\tc\t1\n")
    (folder / "edges-of-nothing.tsv").write_text("what is this\n")
    assert "assertions.csv.gz, edges.tsv" in invoke("import", folder).out
    assert stored_edges(home) == EDGES
    assert resources.edge_files(folder / "notes.tsv") == [folder / "notes.tsv"]
    invoke("import", folder / "edges-of-nothing.tsv", status=2)


def test_damaged_and_inflated_edges_are_refused(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    write(tmp_path, "dailydialog-gupta_eval.json", "x")
    file = tmp_path / "edges.tsv.gz"
    edges = gzip.compress("".join(f"cat{number}\tIsA\tpet\t1\n" for number in range(9999)).encode())
    file.write_bytes(edges[:-999] + bytes(range(256)) + edges[-743:])
    assert "edges.tsv.gz" in invoke("import", tmp_path, status=2).err
    assert not (home / "datasets").exists()
    file.write_bytes(edges[:12] + bytes(range(256)))
    assert resources.edge_files(tmp_path) == []
    file.write_bytes(gzip.compress(LINES.encode() + bytes(8 << 20)))
    assert "too many bytes" in invoke("import", tmp_path, status=2).err
    file.write_bytes(gzip.compress(bytes(64 << 20)))
    tracemalloc.start()
    assert resources.edge_files(tmp_path) == []
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_the_english_part_of_conceptnet_is_fetched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(ASSERTIONS.encode())

    def download(url: str, file: Path, *_: object) -> Path:
        assert url.endswith("conceptnet-assertions-5.7.0.csv.gz")
        file.write_bytes(content)
        return file

    monkeypatch.setattr(fetching, "download", download)
    assert fetching.fetch_resource("conceptnet", home) == resources.path(home, "conceptnet")
    assert stored_edges(home) == EDGES[:1]
    content = gzip.compress(b"<html>not found</html>")
    with pytest.raises(BadArchive):
        fetching.fetch_resource("conceptnet", home)
    assert stored_edges(home) == EDGES[:1]


def write(folder: Path, name: str, item: str, **more: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps([{"dialogue_id": item, "context": "hi", "response": "hello", **more}]))
    return folder / name


def test_a_folder_or_zip_is_searched_for_datasets(tmp_path: Path) -> None:
    """A cleaned file is preferred, and metadata of macOS is ignored."""
    write(tmp_path, "dstc10-topical_eval.json", "all")
    write(tmp_path / "a" / "b", "dstc10-topical_clean_eval.json", "clean")
    write(tmp_path, "notes.json", "x")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        for file in tmp_path.rglob("*.json"):
            archive.write(file, file.relative_to(tmp_path))
        archive.writestr("__MACOSX/a/b/._jsalt_eval.json", b"\0\0")
    for path in (tmp_path, tmp_path / "data.zip"):
        read = release.read(path)
        (entry,) = read.datasets
        assert (entry.file, entry.dataset.items[0].id) == ("dstc10-topical_clean_eval.json", "clean")
        assert set(read.ignored) == {"notes.json", "dstc10-topical_eval.json"}
        assert entry.remarks == ("1 rows, but the card expects 4500", "1 row without votes")
    path = write(tmp_path, "dailydialog-gupta_eval.json", "x", annotations={"overall": [9]})
    assert "1 vote outside the scale of the card" in release.read(path).datasets[0].remarks


def test_a_file_of_two_datasets_is_read_as_both(tmp_path: Path) -> None:
    rows = [{"context": "User: Hi\nSystem: Hello", "system": "x", "annotations": {"Overall": [3]}, **more}
            for more in ({"response": "System: Tea?"}, {})]
    (tmp_path / "fed_data.json").write_text(json.dumps(rows))
    read = release.read(tmp_path)
    assert [(entry.file, entry.dataset.card.name) for entry in read.datasets] == [
        ("fed_data.json", "fed-turn"), ("fed_data.json", "fed-dial")]
    assert read.ignored == ()


def test_a_release_without_datasets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "not.zip").write_bytes(b"PK\x03\x04 no")
    for path in (tmp_path / "absent.zip", tmp_path / "not.zip", tmp_path):
        with pytest.raises(BenchmarkError):
            release.read(path)


def test_translations_are_datasets_with_the_votes_of_the_originals(tmp_path: Path, home: Path, invoke: Invoke) -> None:
    tables = tmp_path / "xdial"
    tables.mkdir()
    columns = ",".join(f"{language}_ctx,{language}_res" for language in LANGUAGES)
    texts = ",".join(['"Hi\nTea?",Yes'] * len(LANGUAGES))
    content = f"dialogue_id,{columns},ratings\nfed-turn_00000,{texts},2.5\nfed-turn_00001,{texts},1\n"
    (tables / "fed-turn.csv.gz").write_bytes(gzip.compress(content.encode()))
    columns = ",".join(f"{language}_dial" for language in LANGUAGES)
    turns = ",".join(['"A\nB"'] * len(LANGUAGES))
    (tables / "fed-dial.csv").write_text(f"dialogue_id,{columns},ratings\nfed-dial_00000,{turns},3\n")
    invoke("import", tables)
    registry.register_home(home)
    zh, talk = registry.load("fed-turn-zh", home), registry.load("fed-dial-ja", home)
    assert (zh.card.split, zh.card.language, [quality.name for quality in zh.card.qualities]) == (
        "more", "zh", ["Overall"])
    assert [(turn.speaker, turn.text) for turn in zh.items[0].utterances] == [
        ("system", "Hi"), ("user", "Tea?"), ("system", "Yes")]
    assert [rating.votes for rating in zh.ratings] == [(2.5,), (1.0,)]
    assert [turn.speaker for turn in talk.items[0].context] == ["first", "second"]
    assert pairs.same_dialogues(zh.card) == ("fed-dial", "fed-turn", "fed-turn-zh")
    assert not {name for name in registry.names("dev") if name.endswith("-zh")}
    for good, bad, field in (("2.5", "good", "ratings"), ("2.5", "nan", "ratings"), ("2.5", "1e300", "ratings"),
                             ("_00001", "_00000", "dialogue_id")):
        (tables / "fed-turn.csv.gz").write_bytes(gzip.compress(content.replace(good, bad).encode()))
        assert f"fed-turn.csv.gz: record fed-turn-ar_00000, field '{field}'" in invoke("import", tables, status=2).err
    (tables / "fed-turn.csv.gz").write_bytes(gzip.compress(bytes(4 << 20)))
    assert "more than" in invoke("import", tables, status=2).err
    (tables / "fed-turn.csv.gz").write_bytes(b"x" * (2 << 20))
    assert "fed-turn.csv.gz: is not" in invoke("import", tables, status=2).err


def test_the_best_copy_of_a_translated_table_is_read_with_remarks(tmp_path: Path) -> None:
    columns, turns = (",".join(texts) for texts in ([f"{name}_dial" for name in LANGUAGES], ["A"] * len(LANGUAGES)))
    for folder, rating in ((tmp_path, 7), (tmp_path / "old", 3)):
        folder.mkdir(exist_ok=True)
        (folder / "fed-dial.csv").write_text(f"{columns},ratings\n{turns},{rating}\n")
    assert [entry.remarks for entry in release.read(tmp_path).translations] == [
        ("1 rows, but the card expects 125", "1 vote outside the scale of the card")] * len(LANGUAGES)


def test_the_real_release_has_ten_datasets_without_remarks(real_data: Path) -> None:
    assert [entry.remarks for entry in release.read(real_data / "human_evaluation_data").datasets] == [()] * 10


def test_real_translations_have_ids_texts_and_votes_of_the_originals(real_data: Path) -> None:
    """English texts are equal except for spaces, in the seven sets that share them with the organisers."""
    if not (real_data / "multilingual").is_dir():
        pytest.skip("no translations there")
    more = release.read(real_data / "multilingual").translations
    assert [entry.remarks for entry in more] == [()] * 90
    made = {entry.dataset.card.name: entry.dataset for entry in more}
    originals = {entry.dataset.card.name: entry.dataset
                 for entry in release.read(real_data / "human_evaluation_data").datasets}
    for name in xdial.QUALITY:
        english, original = made[f"{name}-en"], originals[name]
        assert [item.id.replace(f"{name}-en", name) for item in english.items] == [item.id for item in original.items]
        said, meant = ([" ".join(" ".join(turn.text for turn in item.utterances).split()) for item in dataset.items]
                       for dataset in (english, original))
        assert name.startswith("fed-") or said == meant, name
        means = {rating.item: sum(rating.votes) / len(rating.votes) for rating in original.ratings
                 if rating.quality == xdial.QUALITY[name] and rating.votes}
        for rating in english.ratings:
            assert rating.votes[0] == pytest.approx(means[rating.item.replace(f"{name}-en", name)], abs=1e-6)
