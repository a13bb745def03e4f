"""Importing a copy of the organisers' release: folder, zip or file; all of it or nothing."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.storage import release


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
