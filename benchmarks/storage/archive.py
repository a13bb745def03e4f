"""Unpack untrusted zip and tar archives.

Members must be plain files and folders below the target, or the archive is refused: no absolute paths, "..", drive
letters, backslashes, links, devices, sparse files, encrypted or repeated members. Sizes and compression ratios are
measured while unpacking, never read from headers. Everything goes to a temporary folder that is renamed at the end, so
a refused or broken archive leaves nothing behind.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.errors import BadArchive

LIMIT = 4 << 30  # bytes of all members
MEMBERS = 100_000  # number of members
FLOOR = 1 << 20  # unpacked bytes below which the compression ratio is not checked
GROWTH = 200  # maximum compression ratio: text stays below 50, a bomb is near 1000
CHUNK = 1 << 13  # bytes read at once, also by a decompressor
UNREADABLE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError,
              RuntimeError, ValueError)

Member = tuple[str, Any]
"""Name of a member, and a stream of its content (None for a folder)."""


class _Refused(Exception):
    def __init__(self, member: str, problem: str) -> None:
        super().__init__(f"member {member!r:.100}: {problem}" if member else problem)


@dataclass(slots=True)
class _Meter:
    """Counts the bytes read and unpacked, and stops at the limits."""

    limit: int
    packed: int = 0
    grown: int = 0
    member: str = ""

    def pack(self, size: int) -> None:
        self.packed += size

    def grow(self, size: int) -> None:
        self.grown += size
        if self.grown > self.limit:
            raise _Refused(self.member, f"the archive unpacks to more than {self.limit} bytes")
        if self.grown > FLOOR and self.grown > GROWTH * self.packed:
            raise _Refused(self.member, f"grows to more than {GROWTH} times its compressed size")


class _Counted:
    """A stream whose bytes are counted as they are read; for a tar this includes headers, which can be bombs too."""

    def __init__(self, stream: IO[bytes], count: Callable[[int], None]) -> None:
        self._stream, self._count = stream, count
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._count(len(data))
        return data


def unpack(archive: Path, folder: Path, *, limit: int = LIMIT) -> None:
    """Unpack a zip or tar into a new folder, atomically."""
    part = None
    try:
        part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.", suffix=".part"))
        part.chmod(0o755)
        with archive.open("rb") as stream:
            _fill(part, _members(archive, stream, _Meter(limit)))
        part.replace(folder)
    except _Refused as error:
        raise BadArchive(f"{archive}: {error}") from error
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BadArchive(f"{archive}: cannot be read completely ({reason:.120})") from error
    except OSError as error:
        raise BadArchive(f"{archive}: cannot be unpacked into {folder}: {error.strerror or error}") from error
    finally:
        if part:
            shutil.rmtree(part, ignore_errors=True)


def _members(archive: Path, stream: IO[bytes], meter: _Meter) -> Iterator[Member]:
    magic = stream.read(6)
    stream.seek(0)
    packed: Any = _Counted(stream, meter.pack)
    if zipfile.is_zipfile(archive):
        return _zip_members(packed, meter)
    if magic.startswith(b"\x1f\x8b"):
        return _tar_members(gzip.GzipFile(fileobj=packed), meter)
    if magic.startswith(b"BZh"):
        return _tar_members(bz2.BZ2File(packed), meter)
    if tarfile.is_tarfile(archive):
        return _tar_members(packed, meter)
    raise _Refused("", "is not a zip or tar archive, or is truncated")


def _zip_members(packed: Any, meter: _Meter) -> Iterator[Member]:
    with zipfile.ZipFile(packed) as opened:
        meter.packed = 0  # do not count the table of contents
        for member in opened.infolist():
            name = meter.member = member.orig_filename
            if member.flag_bits & 0x1:
                raise _Refused(name, "is encrypted")
            if stat.S_IFMT(member.external_attr >> 16) not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise _Refused(name, "is a link or a device")
            if member.filename.endswith("/"):
                yield name, None
            else:
                with opened.open(member) as content:
                    yield name, _Counted(content, meter.grow)


def _tar_members(stream: Any, meter: _Meter) -> Iterator[Member]:
    grown: Any = _Counted(stream, meter.grow)
    with tarfile.open(fileobj=grown, mode="r|") as opened:
        for member in opened:
            name = meter.member = member.name
            if not (member.isreg() or member.isdir()) or member.issparse():
                raise _Refused(name, "is a link, a device or a sparse file")
            yield name, opened.extractfile(member)
        meter.member = ""
        while grown.read(CHUNK):  # read on to the checksum after the last member
            pass


def _fill(folder: Path, members: Iterator[Member]) -> None:
    """Write the members into a folder; refuse unsafe and repeated names."""
    names: set[str] = set()
    for name, content in members:
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if not name:
            raise _Refused("", "has a member without a name")
        if ".." in parts or name.startswith("/") or re.search(r"^[A-Za-z]:|\\|\0", name):
            raise _Refused(name, "is not a relative path with forward slashes")
        if len(names) >= MEMBERS:
            raise _Refused(name, f"the archive has more than {MEMBERS} members")
        target = folder.joinpath(*parts)
        if "/".join(parts) in names or (content is not None and target.exists()):
            raise _Refused(name, "occurs twice")
        names.add("/".join(parts))
        try:
            (target if content is None else target.parent).mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise _Refused(name, "is both a file and a folder") from error
        if content is not None:
            with target.open("xb") as stream:
                shutil.copyfileobj(content, stream, CHUNK)
    if not names:
        raise _Refused("", "is empty")
