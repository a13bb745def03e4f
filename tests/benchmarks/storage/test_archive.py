"""Untrusted archives: plain files and folders are unpacked, anything else is refused and leaves nothing behind."""

import bz2
import gzip
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

from benchmarks.errors import BadArchive
from benchmarks.storage import archive as module
from benchmarks.storage.archive import decompressed, unpack
from tests import conftest
from tests.benchmarks.made import archive

NOISE = bytes((number * 2654435761 >> 13) % 251 for number in range(50_000))
MEMBERS = {"a/rows.json": b"one row of what people said\n" * 40, "a/deep/er/noise.bin": NOISE, "./empty.txt": b""}
MODES = ("zip", "w", "w:gz", "w:bz2")


def make(path: Path, members: dict[str, bytes], mode: str, method: int = zipfile.ZIP_DEFLATED) -> Path:
    path.write_bytes(archive(members, mode, method))
    return path


def refused(path: Path, *words: str) -> None:
    """Expect a one-line error that names the archive, and nothing written outside the folder."""
    before = sorted(path.parent.glob("*"))
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        with conftest.refused(BadArchive, path, *words):
            unpack(path, Path(folder) / "out")
        assert len(list(Path(folder).iterdir())) == 1
    assert sorted(path.parent.glob("*")) == before


def test_files_and_folders_are_unpacked_unchanged(tmp_path: Path) -> None:
    for mode in MODES:
        unpack(make(tmp_path / "no-suffix", MEMBERS, mode), tmp_path / mode)
        for member, content in MEMBERS.items():
            assert (tmp_path / mode / member).read_bytes() == content
    assert {entry.name for entry in tmp_path.iterdir()} == {"no-suffix", *MODES}


def test_paths_outside_the_folder_are_refused_on_any_system(tmp_path: Path) -> None:
    for name in ("../up.txt", "a/../../up.txt", "/etc/up.txt", "C:/up.txt", "c:up.txt", "a\\..\\up"):
        for mode in ("zip", "w:gz"):
            refused(make(tmp_path / "x", {"good.txt": b"1", name: b"2"}, mode), "up")


def test_links_devices_and_sparse_files_are_refused(tmp_path: Path) -> None:
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
def test_a_repeated_or_nameless_member_is_refused(tmp_path: Path) -> None:
    for members, words in (({"rows.json": b"1", "./rows.json": b"2"}, ("rows.json", "twice")),
                           ({"a": b"1", "a/b": b"2"}, ("a/b", "folder")),
                           ({"a/b": b"1", "a": b"2"}, ("'a'", "twice"))):
        refused(make(tmp_path / "x.zip", members, "zip"), *words)
    with zipfile.ZipFile(tmp_path / "n.zip", "w") as nameless:
        nameless.writestr(zipfile.ZipInfo(""), b"1")
    refused(tmp_path / "n.zip", "name")


def test_bombs_are_refused_in_members_and_in_headers(tmp_path: Path) -> None:
    for mode in ("zip", "w:gz", "w:bz2"):
        refused(make(tmp_path / "x", {"zeros": bytes(16 << 20)}, mode), "more than")
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 32 << 20
    for compress in (gzip.compress, bz2.compress):
        (tmp_path / "x").write_bytes(compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(16 << 20)))
        refused(tmp_path / "x", "more than")
    (tmp_path / "x").write_bytes(gzip.compress(bytes(16 << 20)))
    with conftest.refused(BadArchive, tmp_path / "x", "more than"):
        decompressed(tmp_path / "x")


def test_limits_of_bytes_and_members_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for mode in ("zip", "w", "w:gz"):
        path = make(tmp_path / "x", {"a": NOISE, "b": NOISE}, mode, zipfile.ZIP_STORED)
        with pytest.raises(BadArchive, match="99999 bytes"):
            unpack(path, tmp_path / f"refused {mode}", limit=2 * len(NOISE) - 1)
        unpack(path, tmp_path / mode, limit=2 * len(NOISE) + 20480)
        assert (tmp_path / mode / "b").read_bytes() == NOISE
    monkeypatch.setattr(module, "MAX_MEMBERS", 10)
    refused(make(tmp_path / "x.zip", {f"{number}": b"" for number in range(11)}, "zip"), "more than 10 members")


def test_truncated_damaged_and_encrypted_archives_are_refused(tmp_path: Path) -> None:
    bad = [b"", b"<html>Not found</html>", b"\x1f\x8b", b"BZh", b"PK\3\4", bytes(2048)]
    for mode in MODES:
        data = archive(MEMBERS if mode == "zip" else {"a": NOISE}, mode, zipfile.ZIP_DEFLATED)
        bad += [data[: int(share * (len(NOISE) if mode == "w" else len(data)))] for share in (0.0, 0.3, 0.9)]
    data = archive({"a": NOISE}, "zip", zipfile.ZIP_DEFLATED)
    bad.append(data.replace(len(NOISE).to_bytes(4, "little"), (5).to_bytes(4, "little")))  # a wrong size
    for mode, position in (("zip", 1000), ("w:gz", -6)):  # a wrong checksum, also in the last bytes of a gzip
        damaged = bytearray(archive({"a": NOISE}, mode))
        damaged[position] ^= 1
        bad.append(bytes(damaged))
    encrypted = bytearray(archive({"a": b"secret"}, "zip"))
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\1\2") + 8] |= 1
    path = tmp_path / "x"
    for content, *words in (*((content,) for content in bad), (bytes(encrypted), "encrypted")):
        path.write_bytes(content)
        refused(path, *words)


def test_only_a_new_folder_is_filled(tmp_path: Path) -> None:
    path = make(tmp_path / "x.zip", {"a": b"1"}, "zip")
    for folder in (tmp_path, tmp_path / "missing" / "out"):
        with pytest.raises(BadArchive):
            unpack(path, folder)
