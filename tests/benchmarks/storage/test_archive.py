"""Archives that nobody has looked into: what is unpacked, and what is refused without leaving anything."""

import bz2
import gzip
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from benchmarks.errors import BadArchive
from benchmarks.storage import archive as module
from benchmarks.storage.archive import unpack
from tests.benchmarks.made import archive

TEXT = "one row of what people said\n" * 40
NOISE = bytes((number * 2654435761 >> 13) % 251 for number in range(50_000))
MEMBERS = {"a/rows.json": TEXT.encode(), "a/deep/er/noise.bin": NOISE, "./empty.txt": b""}
MODES = ("zip", "w", "w:gz", "w:bz2")


def make(path: Path, members: dict[str, bytes], mode: str, method: int = zipfile.ZIP_DEFLATED) -> Path:
    path.write_bytes(archive(members, mode, method))
    return path


def refused(path: Path, *words: str) -> None:
    """Unpacking fails in one line that names the archive, and leaves nothing beside it."""
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(BadArchive) as caught:
        unpack(path, path.parent / "out")
    message = str(caught.value)
    assert "\n" not in message
    for word in (str(path), *words):
        assert word in message
    assert sorted(path.parent.rglob("*")) == before


def test_what_is_plain_is_unpacked(tmp_path: Path) -> None:
    """Files and folders come out byte for byte, whatever the archive is called."""
    for mode in MODES:
        unpack(make(tmp_path / "no-suffix", MEMBERS, mode), tmp_path / mode)
        for member, content in MEMBERS.items():
            assert (tmp_path / mode / member).read_bytes() == content
    assert {entry.name for entry in tmp_path.iterdir()} == {"no-suffix", *MODES}


def test_members_outside_the_folder_links_devices_and_sparse_files_are_refused(tmp_path: Path) -> None:
    """Paths that leave the folder, on any system, name the member.

    Only files and folders are unpacked; a zip marks links in its file attributes.
    """
    for name in ("../up.txt", "a/../../up.txt", "/etc/up.txt", "C:/up.txt", "c:up.txt", "a\\..\\up"):
        for mode in ("zip", "w:gz"):
            refused(make(tmp_path / "x", {"good.txt": b"1", name: b"2"}, mode), "up")
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE):
        with tarfile.open(tmp_path / "x.tgz", "w:gz") as tar:
            member = tarfile.TarInfo("data/odd")
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)
        refused(tmp_path / "x.tgz", "data/odd")
    info = zipfile.ZipInfo("data/odd")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as stream:
        stream.writestr(info, "/etc/passwd")
    refused(tmp_path / "x.zip", "data/odd", "link")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_repeated_member_is_refused(tmp_path: Path) -> None:
    """The second of two members must not overwrite the first, nor be a folder and a file at once."""
    refused(make(tmp_path / "x.zip", {"rows.json": b"1", "./rows.json": b"2"}, "zip"), "rows.json", "twice")
    with zipfile.ZipFile(tmp_path / "n.zip", "w") as nameless:
        nameless.writestr(zipfile.ZipInfo(""), b"1")
    refused(tmp_path / "n.zip", "without a name")
    refused(make(tmp_path / "y.zip", {"a": b"1", "a/b": b"2"}, "zip"), "a/b", "both a file and a folder")
    refused(make(tmp_path / "z.zip", {"a/b": b"1", "a": b"2"}, "zip"), "'a'", "occurs twice")


def test_a_bomb_is_stopped_early_in_a_header_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros that would fill the disk stop after a few MiB, long before the limit.

    A tar can name its member with gigabytes; they are never held in memory.
    """
    written = 0
    grow = module._Meter.grow

    def counted(meter: module._Meter, size: int) -> None:
        nonlocal written
        written += size
        grow(meter, size)

    monkeypatch.setattr(module._Meter, "grow", counted)
    for mode in ("zip", "w:gz", "w:bz2"):
        written = 0
        refused(make(tmp_path / "x", {"zeros": bytes(16 << 20)}, mode), "compressed size")
        assert written < 4 << 20
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 32 << 20
    path = tmp_path / "x.tar.gz"
    for compress in (gzip.compress, bz2.compress):
        path.write_bytes(compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(16 << 20)))
        refused(path, "compressed size")


def test_the_limits_count_what_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds over all members, and is exact for a zip; a million empty files are a bomb as well."""
    for mode in ("zip", "w", "w:gz"):
        path = make(tmp_path / "x", {"a": NOISE, "b": NOISE}, mode, zipfile.ZIP_STORED)
        with pytest.raises(BadArchive, match="more than 99999 bytes"):
            unpack(path, tmp_path / mode, limit=2 * len(NOISE) - 1)
        unpack(path, tmp_path / mode, limit=2 * len(NOISE) + 20480)
        assert (tmp_path / mode / "b").read_bytes() == NOISE
    monkeypatch.setattr(module, "MEMBERS", 10)
    refused(make(tmp_path / "x.zip", {f"{number}": b"" for number in range(11)}, "zip"), "more than 10 members")


def test_truncated_damaged_and_encrypted_archives_are_refused(tmp_path: Path) -> None:
    """No half of a folder is left; a wrong checksum is noticed in the last bytes of a gzip as well."""
    for mode in MODES:
        path = make(tmp_path / "x", MEMBERS if mode == "zip" else {"a": NOISE}, mode)
        data = path.read_bytes()
        for keep in (0.0, 0.3, 0.9):
            path.write_bytes(data[: int(keep * (len(NOISE) if mode == "w" else len(data)))])
            refused(path)
    data = make(tmp_path / "x", {"a": NOISE}, "zip").read_bytes()
    path.write_bytes(data.replace(len(NOISE).to_bytes(4, "little"), (5).to_bytes(4, "little")))  # lies about its size
    refused(path)
    for mode, place in (("zip", 1000), ("w:gz", -6)):
        damaged = bytearray(make(tmp_path / "x", {"a": NOISE}, mode, zipfile.ZIP_STORED).read_bytes())
        damaged[place] ^= 1
        path.write_bytes(damaged)
        refused(path)
    for content in (b"", b"<html>Not found</html>", b"\x1f\x8b", b"BZh", b"PK\3\4", bytes(2048)):
        path.write_bytes(content)
        refused(path)
    path = make(tmp_path / "x.zip", {"a": b"secret"}, "zip", zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    refused(path, "encrypted")


def test_only_a_new_folder_is_filled(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", {"a": b"1"}, "zip")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("2")
    refused(path)
    assert (tmp_path / "out" / "mine").read_text() == "2"
    with pytest.raises(BadArchive, match="cannot be unpacked"):
        unpack(path, tmp_path / "missing" / "out")
