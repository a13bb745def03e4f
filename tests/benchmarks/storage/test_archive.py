"""Archives that nobody has looked into: what is unpacked, and what is refused without leaving anything."""

from __future__ import annotations

import bz2
import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.errors import BadArchive
from benchmarks.storage import archive as module
from benchmarks.storage.archive import unpack

TEXT = "one row of what people said\n" * 40
NOISE = bytes((number * 2654435761 >> 13) % 251 for number in range(50_000))


def make_zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as stream:
        for name, content in members.items():
            stream.writestr(name, content)
    return path


def make_tar(path: Path, members: dict[str, bytes], mode: str) -> Path:
    with tarfile.open(path, mode) as stream:  # type: ignore[call-overload]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            stream.addfile(member, io.BytesIO(content))
    return path


def tar_with(path: Path, change: Callable[[tarfile.TarInfo], None]) -> Path:
    with tarfile.open(path, "w:gz") as stream:
        member = tarfile.TarInfo("data/odd")
        change(member)
        stream.addfile(member)
    return path


def refused(path: Path, *words: str) -> None:
    """Unpacking fails in one line that names the archive, and leaves nothing beside it."""
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(BadArchive) as caught:
        unpack(path, path.parent / "out")
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    for word in words:
        assert word in message
    assert sorted(path.parent.rglob("*")) == before


MEMBERS = {"a/rows.json": TEXT.encode(), "a/deep/er/noise.bin": NOISE, "./empty.txt": b""}


@pytest.mark.parametrize(("name", "mode"), [
    ("x.zip", ""), ("x.tar", "w"), ("x.tar.gz", "w:gz"), ("x.tgz", "w:gz"), ("x.tar.bz2", "w:bz2"),
])
def test_what_is_plain_is_unpacked(tmp_path: Path, name: str, mode: str) -> None:
    """Files and folders come out byte for byte, whatever the archive is called."""
    path = make_tar(tmp_path / name, MEMBERS, mode) if mode else make_zip(tmp_path / name, MEMBERS)
    path = path.rename(tmp_path / "no-suffix")
    unpack(path, tmp_path / "out")
    for member, content in MEMBERS.items():
        assert (tmp_path / "out" / member).read_bytes() == content
    assert {entry.name for entry in tmp_path.iterdir()} == {"no-suffix", "out"}


@pytest.mark.parametrize("name", ["../up.txt", "a/../../up.txt", "/etc/up.txt", "C:/up.txt", "c:up.txt", "a\\..\\up"])
def test_a_member_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    """Paths that leave the folder, on any system, name the member."""
    refused(make_zip(tmp_path / "x.zip", {"good.txt": b"1", name: b"2"}), "up")
    refused(make_tar(tmp_path / "x.tgz", {"good.txt": b"1", name: b"2"}, "w:gz"), "up")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    """Only files and folders are unpacked from a tar."""
    def change(member: tarfile.TarInfo) -> None:
        member.type, member.linkname = kind, "/etc/passwd"

    refused(tar_with(tmp_path / "x.tgz", change), "data/odd", "link")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    """A zip marks links in its file attributes."""
    info = zipfile.ZipInfo("data/odd")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as stream:
        stream.writestr(info, "/etc/passwd")
    refused(tmp_path / "x.zip", "data/odd", "link")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_repeated_member_is_refused(tmp_path: Path) -> None:
    """The second of two members must not overwrite the first, nor be a folder and a file at once."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as stream:
        stream.writestr("rows.json", "1")
        stream.writestr("./rows.json", "2")
    refused(tmp_path / "x.zip", "rows.json", "twice")
    refused(make_zip(tmp_path / "y.zip", {"a": b"1", "a/b": b"2"}), "a/b", "both a file and a folder")


@pytest.mark.parametrize("name", ["x.zip", "x.tgz", "x.tar.bz2"])
def test_a_bomb_is_stopped_early(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros that would fill the disk stop after a few MiB, long before the limit."""
    zeros = bytes(64 << 20)
    modes = {"x.tgz": "w:gz", "x.tar.bz2": "w:bz2"}
    path = (make_tar(tmp_path / name, {"zeros": zeros}, modes[name]) if name in modes
            else make_zip(tmp_path / name, {"zeros": zeros}))
    written = 0
    grow = module._Meter.grow

    def counted(meter: module._Meter, size: int) -> None:
        nonlocal written
        written += size
        grow(meter, size)

    monkeypatch.setattr(module._Meter, "grow", counted)
    refused(path, "compressed size")
    assert written < 4 << 20


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
def test_a_bomb_in_a_header_is_stopped(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    """A tar can name its member with gigabytes; they are never held in memory."""
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 32 << 20
    path = tmp_path / "x.tar.gz"
    path.write_bytes(compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(32 << 20)))
    refused(path, "compressed size")


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    """A sparse member says how large it wants to be."""
    def change(member: tarfile.TarInfo) -> None:
        member.type = tarfile.GNUTYPE_SPARSE

    refused(tar_with(tmp_path / "x.tgz", change), "data/odd")


@pytest.mark.parametrize("mode", ["zip", "w", "w:gz"])
def test_the_limit_counts_what_is_unpacked(tmp_path: Path, mode: str) -> None:
    """The limit holds over all members, and is exact for a zip."""
    members = {"a": NOISE, "b": NOISE}
    path = (make_zip(tmp_path / "x", members, zipfile.ZIP_STORED) if mode == "zip"
            else make_tar(tmp_path / "x", members, mode))
    with pytest.raises(BadArchive, match="more than 99999 bytes"):
        unpack(path, tmp_path / "out", limit=2 * len(NOISE) - 1)
    unpack(path, tmp_path / "out", limit=2 * len(NOISE) + 20480)
    assert (tmp_path / "out" / "b").read_bytes() == NOISE


def test_a_header_that_lies_about_the_size_is_found_out(tmp_path: Path) -> None:
    """A zip that says 5 bytes and holds more does not read to its end."""
    path = make_zip(tmp_path / "x.zip", {"a": NOISE})
    data = path.read_bytes().replace(len(NOISE).to_bytes(4, "little"), (5).to_bytes(4, "little"))
    path.write_bytes(data)
    refused(path)


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million empty files are a bomb as well."""
    monkeypatch.setattr(module, "MEMBERS", 10)
    refused(make_zip(tmp_path / "x.zip", {f"{number}": b"" for number in range(11)}), "more than 10 members")


@pytest.mark.parametrize("mode", ["zip", "w", "w:gz", "w:bz2"])
@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_a_truncated_archive_is_refused(tmp_path: Path, mode: str, keep: float) -> None:
    """A download that broke off leaves no half of a folder."""
    path = make_zip(tmp_path / "x", MEMBERS) if mode == "zip" else make_tar(tmp_path / "x", {"a": NOISE}, mode)
    data = path.read_bytes()
    path.write_bytes(data[:int(len(data) * keep)] if mode != "w" else data[:int(len(NOISE) * keep)])
    refused(path)


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    """A wrong checksum inside is noticed, in the last bytes of a gzip as well."""
    path = make_zip(tmp_path / "x.zip", {"a": NOISE}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    refused(path)
    path = make_tar(tmp_path / "y.tgz", {"a": NOISE}, "w:gz")
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    refused(path)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    """A password is asked for nowhere."""
    path = make_zip(tmp_path / "x.zip", {"a": b"secret"}, zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    refused(path, "encrypted")


@pytest.mark.parametrize("content", [b"", b"<html>Not found</html>", b"\x1f\x8b", b"BZh", b"PK\3\4", bytes(2048)])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    """A page in place of the file, or nothing, is no archive."""
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    refused(path)


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    """Unpacking is for a new folder."""
    path = make_zip(tmp_path / "x.zip", {"a": b"1"})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("2")
    refused(path)
    assert (tmp_path / "out" / "mine").read_text() == "2"


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    """No folder to unpack into ends in one line too."""
    path = make_zip(tmp_path / "x.zip", {"a": b"1"})
    with pytest.raises(BadArchive, match="cannot be unpacked"):
        unpack(path, tmp_path / "missing" / "out")
