"""Assertions of ConceptNet: both forms they come in, how they are fetched and imported, and what is none."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from benchmarks.errors import BadArchive, BenchmarkError
from benchmarks.storage import fetch as fetching
from benchmarks.storage import resources
from harness.commands import import_
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
