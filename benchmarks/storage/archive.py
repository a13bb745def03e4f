"""Unpacking a zip or tar archive that nobody has looked into.

Members are plain files and folders below the target, or the archive is refused: absolute paths, "..", drive letters,
backslashes, links, devices, sparse files, encrypted or repeated members. Sizes are counted while unpacking and never
taken from headers, and so is how much each compressed byte has grown to. All goes to a folder beside the target that
is renamed at the end, so a refused or broken archive leaves nothing.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from benchmarks.errors import BadArchive

LIMIT = 4 << 30  # bytes that an archive may hold in all
MEMBERS = 100_000  # members that it may have
FLOOR = 1 << 20  # bytes from which on the growth is looked at
GROWTH = 200  # bytes that a compressed one may grow to: text stays below 50, a bomb is near 1000
CHUNK = 1 << 13  # bytes read at once: a decompressor takes in as many, and they count as gone in
UNREADABLE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError,
              RuntimeError, ValueError)


@dataclass(slots=True)
class _Meter:
    """Counts the bytes that went in compressed and came out, and stops what comes out in excess."""

    limit: int
    packed: int = 0
    grown: int = 0
    member: str = ""

    def grow(self, size: int) -> None:
        self.grown += size
        if self.grown > self.limit:
            raise _Refused(self.member, f"with it the archive holds more than {self.limit} bytes")
        if self.grown > FLOOR and self.grown > GROWTH * self.packed:
            raise _Refused(self.member, f"grows to more than {GROWTH} times its compressed size")


class _Packed:
    """The archive file, which counts what is read of it."""

    def __init__(self, stream: IO[bytes], meter: _Meter) -> None:
        self._stream, self._meter = stream, meter
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._meter.packed += len(data)
        return data


@dataclass(slots=True)
class _Grown:
    """What comes out of the decompressor of a tar, counted: its headers can be bombs as well."""

    stream: Any
    meter: _Meter

    def read(self, size: int = -1) -> bytes:
        data: bytes = self.stream.read(size)
        self.meter.grow(len(data))
        return data


class _Refused(Exception):
    def __init__(self, member: str, problem: str) -> None:
        super().__init__(f"member {member!r:.100}: {problem}" if member else problem)


@dataclass(slots=True)
class _Folder:
    """The folder that is being filled, which takes every name only once."""

    root: Path
    names: set[str] = field(default_factory=set)

    def place(self, name: str) -> Path:
        """Where a member goes."""
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if ".." in parts or name.startswith("/") or re.search(r"^[A-Za-z]:|\\|\0", name):
            raise _Refused(name, "is not a path with plain slashes below the folder")
        if not name:
            raise _Refused(name, "has a member without a name")
        if len(self.names) >= MEMBERS:
            raise _Refused(name, f"the archive has more than {MEMBERS} members")
        if (plain := "/".join(parts)) in self.names:
            raise _Refused(name, "occurs twice")
        self.names.add(plain)
        return self.root.joinpath(*parts)


def unpack(archive: Path, folder: Path, *, limit: int = LIMIT) -> None:
    """Unpack a zip or tar into a new folder, whole or not at all."""
    try:
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))
    except OSError as error:
        raise BadArchive(f"{archive}: cannot be unpacked into {folder.parent}: {error.strerror}") from error
    try:
        beside.chmod(0o755)
        _fill(archive, _Folder(beside), _Meter(limit))
        beside.replace(folder)
    except _Refused as error:
        raise BadArchive(f"{archive}: {error}") from error
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BadArchive(f"{archive}: cannot be read to its end ({reason:.120})") from error
    except OSError as error:
        raise BadArchive(f"{archive}: cannot be unpacked: {error.strerror or error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _fill(archive: Path, folder: _Folder, meter: _Meter) -> None:
    with archive.open("rb") as stream:
        packed, magic = _Packed(stream, meter), stream.read(6)
        stream.seek(0)
        if zipfile.is_zipfile(archive):
            _fill_from_zip(packed, folder, meter)
        elif magic.startswith((b"\x1f\x8b", b"BZh")) or tarfile.is_tarfile(archive):
            _fill_from_tar(packed, magic, folder, meter)
        else:
            raise _Refused("", "is no zip or tar archive, or is cut short")
    if not folder.names:
        raise _Refused("", "is empty")


def _fill_from_zip(packed: Any, folder: _Folder, meter: _Meter) -> None:
    with zipfile.ZipFile(packed) as opened:
        meter.packed = 0  # the table of contents gives nothing to grow
        for member in opened.infolist():
            meter.member = member.orig_filename
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.flag_bits & 0x1:
                raise _Refused(meter.member, "is encrypted")
            if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise _Refused(meter.member, "is a link or a device")
            place = folder.place(meter.member)
            if member.is_dir():
                _make(place, meter.member)
            else:
                with opened.open(member) as content:
                    _write(place, meter.member, _chunks(_Grown(content, meter)))


def _fill_from_tar(packed: Any, magic: bytes, folder: _Folder, meter: _Meter) -> None:
    grown: Any = _Grown(_decompressed(packed, magic), meter)
    with tarfile.open(fileobj=grown, mode="r|") as opened:
        for member in opened:
            meter.member = member.name
            if not (member.isreg() or member.isdir()) or member.issparse():
                raise _Refused(meter.member, "is a link, a device or a sparse file")
            place = folder.place(meter.member)
            content = opened.extractfile(member)
            if content is None:
                _make(place, meter.member)
            else:
                _write(place, meter.member, _chunks(content))
        meter.member = ""
        for _ in _chunks(grown):  # so that the checksum behind the last member is looked at
            pass


def _decompressed(packed: Any, magic: bytes) -> Any:
    if magic.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=packed)
    return bz2.BZ2File(packed) if magic.startswith(b"BZh") else packed


def _chunks(content: Any) -> Iterator[bytes]:
    while chunk := content.read(CHUNK):
        yield chunk


def _make(place: Path, member: str) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise _Refused(member, "is both a file and a folder") from error


def _write(place: Path, member: str, chunks: Iterator[bytes]) -> None:
    _make(place.parent, member)
    try:
        with place.open("xb") as target:
            target.writelines(chunks)
    except FileExistsError as error:
        raise _Refused(member, "occurs twice") from error
