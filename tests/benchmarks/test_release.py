"""Importing a copy of the organisers' release, folder, zip or file, and edges of ConceptNet in both their forms."""

import gzip
import json
import zipfile
from itertools import chain
from pathlib import Path

import pytest

from benchmarks import registry, release
from benchmarks.errors import BadArchive, BenchmarkError
from benchmarks.sources import xdial
from benchmarks.sources.xdial import LANGUAGES
from benchmarks.storage import fetch as fetching
from benchmarks.storage import resources
from harness.commands import import_
from harness.scoring import composites
from tests.benchmarks.made import run

LINES = "Cats\tIsA\tpet_animal\t2.5\n<p>\tRelatedTo\tna\tNA\ncats\tRelatedTo\tmilk\t1\nx\tIsA\ty\tnan\n"
OWN = ('/a/[x]\t/r/AtLocation\t/c/en/milk/n\t/c/en/cold_store/n/wn/artifact\t{"weight": 3.0}\n'
       '/a/[x]\t/r/IsA\t/c/fr/lait\t/c/en/milk\t{"weight": 1.0}\n')


def folder(path: Path) -> Path:
    path.mkdir()
    (path / "edges.tsv").write_text(LINES)
    (path / "assertions.csv.gz").write_bytes(gzip.compress(OWN.encode()))
    (path / "notes.tsv").write_text("a\tb\tc\t1\n")
    (path / "edges-of-nothing.tsv").write_text("what is this\n")
    return path


KEPT = [("milk", "AtLocation", "cold store", 3.0), ("cats", "IsA", "pet animal", 2.5), ("cats", "RelatedTo", "milk", 1)]


def test_assertions_of_both_forms_become_one_list(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str],
                                                  ) -> None:
    assert run(import_, home, str(folder(tmp_path / "some"))) == 0
    assert "3 edges of assertions.csv.gz, edges.tsv" in capsys.readouterr().out
    assert list(resources.read_edges(resources.path(home, "conceptnet"))) == KEPT
    assert resources.edge_files(tmp_path / "some" / "notes.tsv") == [tmp_path / "some" / "notes.tsv"]
    (tmp_path / "none.tsv").write_text("nothing\n")
    with pytest.raises(BenchmarkError, match="holds no file"):
        run(import_, home, str(tmp_path / "none.tsv"))


def test_conceptnet_is_fetched_and_its_english_part_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = [gzip.compress(OWN.encode())]

    def download(url: str, file: Path, *_: object) -> Path:
        assert url.endswith("conceptnet-assertions-5.7.0.csv.gz")
        file.write_bytes(content[0])
        return file

    monkeypatch.setattr(fetching, "download", download)
    assert fetching.fetch_resource("conceptnet", home) == resources.path(home, "conceptnet")
    assert list(resources.read_edges(resources.path(home, "conceptnet"))) == KEPT[:1]
    content[0] = gzip.compress(b"<html>not found</html>")
    with pytest.raises(BadArchive, match="no edge between two English terms"):
        fetching.fetch_resource("conceptnet", home)
    assert list(resources.read_edges(resources.path(home, "conceptnet"))) == KEPT[:1]


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(LINES.encode())[:20])
    assert resources.edge_files(tmp_path / "x.tsv.gz") == []
    with pytest.raises(BadArchive, match=r"x\.tsv\.gz: cannot be read as assertions"):
        list(resources.read_edges(tmp_path / "x.tsv.gz"))


def write(folder: Path, name: str, *rows: dict[str, object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(rows))
    return folder / name


def row(name: str, **more: object) -> dict[str, object]:
    return {"dialogue_id": name, "context": "hi", "response": "hello", **more}


def test_a_folder_is_searched_to_its_depth(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b", "jsalt_eval.json", row("x"))
    write(tmp_path, "notes.json", row("x"))
    read = release.read(tmp_path)
    assert [found.dataset.card.name for found in read.datasets] == ["jsalt"]
    assert read.ignored == ("notes.json",)
    assert "1 rows, the card expects 741" in read.datasets[0].remarks
    assert "1 rows without votes" in read.datasets[0].remarks


def test_the_cleaned_file_is_preferred_and_votes_outside_the_scale_are_remarked(tmp_path: Path) -> None:
    path = write(tmp_path / "one", "dailydialog-gupta_eval.json", row("x", annotations={"overall": [9]}))
    assert "1 votes outside the scale of the card" in release.read(path).datasets[0].remarks
    path.unlink()
    write(tmp_path, "dstc10-topical_eval.json", row("all"))
    write(tmp_path, "dstc10-topical_clean_eval.json", row("clean"))
    (found,) = release.read(tmp_path).datasets
    assert (found.file, found.dataset.items[0].id) == ("dstc10-topical_clean_eval.json", "clean")


def test_a_zip_is_read_and_the_leavings_of_a_mac_are_not(tmp_path: Path) -> None:
    write(tmp_path, "jsalt_eval.json", row("x"))
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.write(tmp_path / "jsalt_eval.json", "human_evaluation_data/jsalt_eval.json")
        archive.writestr("__MACOSX/human_evaluation_data/._jsalt_eval.json", b"\0\0")
    assert release.read(tmp_path / "data.zip").datasets[0].dataset.items[0].id == "x"


def test_what_holds_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "not.zip").write_bytes(b"PK\x03\x04 no")
    for path in (tmp_path / "absent.zip", tmp_path / "not.zip", tmp_path):
        with pytest.raises(BenchmarkError):
            release.read(path)


def test_the_real_release(real_data: Path) -> None:
    read = release.read(real_data / "human_evaluation_data")
    assert len(read.datasets) == 10
    assert [found.remarks for found in read.datasets] == [()] * 10


def test_translations_are_further_datasets_with_the_votes_of_the_originals(tmp_path: Path, home: Path) -> None:
    """Files in the form of xDial-Eval."""
    tables = tmp_path / "xdial"
    tables.mkdir()
    rows = [[f"{language}_ctx", f"{language}_res"] for language in LANGUAGES]
    head = ",".join(("dialogue_id", *chain.from_iterable(rows), "ratings"))
    texts = ['"Hi\nTea?",Yes'] * len(LANGUAGES)
    content = f"{head}\nfed-turn_00000,{','.join(texts)},2.5\nfed-turn_00001,{','.join(texts)},1\n"
    (tables / "fed-turn.csv.gz").write_bytes(gzip.compress(content.encode()))
    talks = ",".join(("dialogue_id", *(f"{language}_dial" for language in LANGUAGES), "ratings"))
    turns = ",".join(['"A\nB"'] * len(LANGUAGES))
    (tables / "fed-dial.csv").write_text(f"{talks}\nfed-dial_00000,{turns},3\n")
    assert run(import_, home, str(tables)) == 0
    registry.know(home)
    zh, talk = registry.load("fed-turn-zh", home), registry.load("fed-dial-ja", home)
    assert (zh.card.split, zh.card.language, [one.name for one in zh.card.qualities]) == ("more", "zh", ["Overall"])
    assert [(turn.speaker, turn.text) for turn in zh.items[0].utterances] == [
        ("system", "Hi"), ("user", "Tea?"), ("system", "Yes")]
    assert [rating.votes for rating in zh.ratings] == [(2.5,), (1.0,)]
    assert [turn.speaker for turn in talk.items[0].context] == ["first", "second"]
    assert composites.same_dialogues(zh.card) == ("fed-dial", "fed-turn", "fed-turn-zh")
    assert not {name for name in registry.names("dev") if name.endswith("-zh")}
    (tables / "fed-turn.csv.gz").write_bytes(gzip.compress(content.replace("2.5", "good").encode()))
    with pytest.raises(BenchmarkError, match=r"fed-turn\.csv\.gz: record fed-turn-ar_00000, field 'ratings'"):
        run(import_, home, str(tables))


def test_real_translations_have_ids_texts_and_mean_votes_of_the_originals(real_data: Path) -> None:
    """The English texts but for spaces, in the seven sets where they are those of the organisers."""
    if not (real_data / "multilingual").is_dir():
        pytest.skip("no translations there")
    made = {dataset.card.name: dataset for dataset in release.read(real_data / "multilingual").more}
    originals = {one.dataset.card.name: one.dataset
                 for one in release.read(real_data / "human_evaluation_data").datasets}
    assert len(made) == 90
    for name in xdial.RATED:
        english, original = made[f"{name}-en"], originals[name]
        assert [item.id.replace(f"{name}-en", name) for item in english.items] == [item.id for item in original.items]
        said, meant = ([" ".join(" ".join(turn.text for turn in item.utterances).split()) for item in dataset.items]
                       for dataset in (english, original))
        assert name.startswith("fed-") or said == meant, name
        means = {rating.item: sum(rating.votes) / len(rating.votes) for rating in original.ratings
                 if rating.quality == xdial.RATED[name] and rating.votes}
        for rating in english.ratings:
            assert rating.votes[0] == pytest.approx(means[rating.item.replace(f"{name}-en", name)], abs=1e-6)
