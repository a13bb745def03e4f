"""Files and the store: damage, several writers and a full disk, in a folder and behind a URL; temporary files."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.storage.files import STALE, Files, Store, sweep, write_atomically
from tests.conftest import Invoke, refused


@pytest.fixture(params=["folder", "file://", "memory://"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | Path]:
    MemoryFileSystem.store.clear()
    yield {"folder": tmp_path / "a", "file://": f"file://{tmp_path}/a", "memory://": "memory://a/b"}[request.param]
    MemoryFileSystem.store.clear()


def test_files_are_written_listed_renamed_and_removed(address: str | Path) -> None:
    files = Files(address)
    assert files.names("x") == []
    for name in ("x/b.shard", "x/a.shard", "x/c.parquet", "one"):
        files.write(name, b"1")
    files.write("one", b"2", durable=False)
    assert (files.names("x", suffix=".shard"), files.names("x", "a")) == (["x/a.shard", "x/b.shard"], ["x/a.shard"])
    assert Files(files.address).read("one") == b"2", "another process opens the same files"
    assert 0 <= files.age("one") < 60
    files.rename("one", "two")
    assert files.names("", "", "o") == ["two"]
    for _ in range(2):
        files.remove("two")
        files.rename("two", "three")
    for access in (files.read, files.age):
        with pytest.raises(FileNotFoundError):
            access("two")


def test_a_store_keeps_the_last_content_of_a_key(address: str | Path) -> None:
    store = Store(address)
    assert store.get("x/a.json", json.loads) is None
    names = [store.put("x/a.json", content) for content in (b"1", b"2", b"3")]
    store.put("x/a-b.json", b"no JSON")
    assert Store(store.files.address).get("x/a.json", json.loads) == 3
    assert store.read(names[0], json.loads) is None, "it was replaced"
    assert store.set_aside == []
    assert store.get("x/a-b.json", json.loads) is None, "intact, but in another format"
    assert len(store.set_aside) == 1


@settings(max_examples=25, deadline=None)
@given(position=st.integers(0, 10), bit=st.integers(0, 7), cut=st.booleans())
def test_damage_is_set_aside(tmp_path_factory: pytest.TempPathFactory, position: int, bit: int, cut: bool) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    assert store.files.path is not None
    path = store.files.path / store.put("a.json", b'"0123456789"')
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content[:position] if cut else content)
    assert store.get("a.json", json.loads) is None
    assert not store.verify(path.name)
    assert store.set_aside[0] == str(path)
    assert path.with_suffix(".damaged").exists()
    store.put("a.json", b"1")
    assert store.get("a.json", json.loads) == 1


def test_processes_that_write_the_same_key_leave_one_file(tmp_path: Path) -> None:
    code = ("import sys\nfrom benchmarks.storage.files import Store\nstore = Store(sys.argv[1])\n"
            "for n in range(50):\n"
            "    store.put('a.json', f'{sys.argv[2]}{n}'.encode(), durable=False)\n"
            "    store.get('a.json', int)\nassert not store.set_aside")
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(number)]) for number in (1, 2, 3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    store = Store(tmp_path)
    assert store.get("a.json", int) in (149, 249, 349)
    assert len(list(tmp_path.iterdir())) <= 3, "of those written last, and nothing half written"


def test_a_full_disk_keeps_the_previous_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = Store(tmp_path)
    store.put("a.json", b"1")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="a-") as error:
        store.put("a.json", b"2")
    assert error.value.errno == errno.ENOSPC
    assert store.get("a.json", json.loads) == 1
    assert len(list(tmp_path.iterdir())) == 1


class Refusing(MemoryFileSystem):
    """A file system that raises errors unknown to fsspec, as its backends do."""

    protocol = "az"

    def cat_file(self, path: str, *args: Any, **kwargs: Any) -> bytes:
        raise RuntimeError("no answer from https://me:secret@host/\nand more of it")

    def ls(self, path: str, *args: Any, **kwargs: Any) -> list[Any]:
        raise PermissionError(errno.EACCES, "not yours")

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        raise AssertionError("a bucket is for its owner to make")


def test_an_unreachable_url_is_an_os_error() -> None:
    fsspec.register_implementation("az", Refusing, clobber=True)
    files = Files("az://me:secret@bucket/scores/")
    files.write("x/one", b"1")
    with pytest.raises(OSError, match="RuntimeError") as error:
        files.read("x/one")
    assert error.value.filename == "az://bucket/scores"
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises(PermissionError):
        files.names("x")


def test_an_unusable_url_is_refused() -> None:
    for url, reason in (("nowhere://bucket", "rotocol"), ("s3+x://bucket", "rotocol"), ("s3://", "no path"),
                        ("s3:/bucket", "no path"), ("gs:///", "no path")):
        with refused(OSError, reason, repr(url)):
            Files(url)


def test_a_run_with_its_scores_behind_a_url(tmp_path: Path, invoke: Invoke) -> None:
    MemoryFileSystem.store.clear()
    argv = ["run", "--metric", "length", "--dataset", "convai2-grade", "--draws", "0", "--store", "memory://scores"]
    invoke(*argv, "--out", tmp_path / "a")
    assert not (tmp_path / "a" / "scores").exists()
    assert "1 already stored" in invoke(*argv, "--out", tmp_path / "b").out
    reports = [{path.name: path.read_bytes() for path in (tmp_path / out / "report").rglob("*.parquet")}
               for out in ("a", "b")]
    assert reports[0] == reports[1]
    assert "memory://scores" in invoke(*argv, "--out", tmp_path / "c", "--executor", "ray:2", status=2).err


def test_a_failed_write_names_the_file_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_atomically(tmp_path / "taken", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_only_old_temporary_files_of_the_harness_are_swept(tmp_path: Path) -> None:
    kept = {".young.0123abcd-1.x_y2.part", "c.parquet", ".film.mp4.part"}
    for name in (".old.0123abcd-1.x_y2.part", *kept):
        (tmp_path / name).write_bytes(b"half")
        if "young" not in name:
            os.utime(tmp_path / name, (time.time() - 2 * STALE,) * 2)
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_temporary_files_of_a_killed_process_are_swept_at_once(tmp_path: Path) -> None:
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
