"""Files by name: the same in a folder and behind a URL, and a place that does not answer says so in one line."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from harness.cli import main
from harness.errors import BadConfig
from harness.scoring.files import Files, open_files


@pytest.fixture(params=["folder", "file://", "memory://"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Files]:
    """An empty place of each kind."""
    MemoryFileSystem.store.clear()
    yield open_files({"folder": tmp_path / "a", "file://": f"file://{tmp_path}/a", "memory://": "memory://a/b"}[
        request.param])
    MemoryFileSystem.store.clear()


def test_files_are_listed_by_name_are_what_was_written_last_and_may_be_renamed_and_removed(place: Files) -> None:
    assert place.names("x", "*") == []
    for name in ("x/b.shard", "x/a.shard", "x/c.parquet", "y/a.shard"):
        place.write(name, b"")
    assert place.names("x", "*.shard") == ["x/a.shard", "x/b.shard"]
    place.write("z/one", b"1")
    place.write("z/one", b"2", lasting=False)
    assert place.read("z/one") == b"2"
    assert open_files(place.place).read("z/one") == b"2", "whoever opens the place again finds it"
    assert 0 <= place.age("z/one") < 60
    place.rename("z/one", "z/two")
    assert place.names("z", "*") == ["z/two"]
    place.remove("z/two")
    assert place.names("z", "*") == []
    place.remove("z/two")
    place.rename("z/two", "z/three")
    for look in (place.read, place.age):
        with pytest.raises(FileNotFoundError):
            look("z/two")


class Refusing(MemoryFileSystem):
    """A place that raises what fsspec does not know, as the packages behind it do."""

    protocol = "az"

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> bytes:
        """It does not answer."""
        raise RuntimeError("no answer from https://me:secret@host/\nand more of it")

    def ls(self, path: str, *args: Any, **kwargs: Any) -> list[Any]:
        """It does not let us in."""
        raise PermissionError(errno.EACCES, "not yours")

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """It would make a bucket."""
        raise AssertionError("a bucket is for its owner to make")


def test_a_place_that_does_not_answer_says_so_in_one_line() -> None:
    fsspec.register_implementation("az", Refusing, clobber=True)
    place = open_files("az://me:secret@bucket/scores/")
    place.write("x/one", b"1")
    with pytest.raises(OSError, match="does not answer as a store should: RuntimeError") as told:
        place.read("x/one")
    assert told.value.filename == "az://bucket/scores"
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)
    with pytest.raises(PermissionError, match="not yours"):
        place.names("x", "*")


def test_an_unknown_kind_of_place_is_refused() -> None:
    for url in ("nowhere://bucket", "s3+x://bucket"):
        with pytest.raises(BadConfig, match=f"--store {url.replace('+', '.')}: .*rotocol"):
            open_files(url)


def test_a_run_with_its_scores_behind_a_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    MemoryFileSystem.store.clear()
    argv = ["run", "--metric", "length", "--dataset", "convai2-grade", "--draws", "0"]
    assert main([*argv, "--out", str(tmp_path / "a")]) == 0
    assert main([*argv, "--out", str(tmp_path / "b"), "--store", "memory://scores"]) == 0
    assert not (tmp_path / "b" / "scores").exists()
    reports = [{path.name: path.read_bytes() for path in (tmp_path / out / "report").rglob("*.parquet")}
               for out in ("a", "b")]
    assert reports[0] == reports[1]
    capsys.readouterr()
    assert main([*argv, "--out", str(tmp_path / "c"), "--store", "memory://scores"]) == 0
    assert "1 kept from before" in capsys.readouterr().out
    assert main([*argv, "--out", str(tmp_path / "d"), "--store", "memory://scores", "--executor", "ray:2"]) == 2
    assert capsys.readouterr().err == ("harness: --store memory://scores: other processes cannot see it; use "
                                       "--executor local\n")
