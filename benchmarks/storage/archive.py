"""Unpack untrusted zip and tar archives, and decompress untrusted files.

Members must be plain files and folders below the target, or the archive is refused: no absolute paths, "..", drive
letters, backslashes, links, devices, sparse files, encrypted or repeated members. An archive may unpack to MAX_GROWTH
times its own size, or to FLOOR bytes if that is more, but never to more than MAX_BYTES: text grows less than 50-fold, a
bomb about 1000-fold. Callers unpack into a temporary folder, so a refused or broken archive leaves nothing behind.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from benchmarks.errors import BadArchive, reason

MAX_BYTES = 4 << 30  # maximum unpacked bytes of all members
MAX_MEMBERS = 100_000
FLOOR = 1 << 20  # bytes to which even the smallest archive may unpack
MAX_GROWTH = 200  # maximum ratio of unpacked to packed size
CHUNK = 1 << 13  # bytes read at once, also by a decompressor
UNREADABLE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, gzip.BadGzipFile, EOFError,
              RuntimeError, ValueError)

Member = tuple[str, Any]  # name of a member, and a stream of its content (None for a folder)


class _Refused(Exception):
    def __init__(self, member: str, problem: str) -> None:
        super().__init__(f"member {member!r:.100}: {problem}" if member else problem)


class _Limited:
    """A tar stream with a byte limit, which also covers headers, since a member's name can be gigabytes long."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._limit, self._read = stream, limit, 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._read += len(data)
        _check_size(self._read, self._limit)
        return data


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise _Refused("", f"unpacks to more than {limit} bytes, too many for an archive of its size")


def unpack(archive: Path, folder: Path, *, limit: int = MAX_BYTES) -> None:
    """Unpack a zip or tar into a new folder, which is incomplete after an error."""
    try:
        with _refused_as_bad(archive):
            folder.mkdir()
            members = _zip_members if zipfile.is_zipfile(archive) else _tar_members
            _write_members(folder, members(archive, min(limit, max(FLOOR, MAX_GROWTH * archive.stat().st_size))))
    except OSError as error:
        raise BadArchive(f"{archive}: cannot be unpacked into {folder}: {error.strerror or error}") from error


def decompressed(file: Path, *, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a file, decompressed if it is gzipped."""
    content = file.read_bytes()
    if not content.startswith(b"\x1f\x8b"):
        return content
    limit = min(limit, max(FLOOR, MAX_GROWTH * len(content)))
    with _refused_as_bad(file), gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        content = stream.read(limit + 1)
        _check_size(len(content), limit)
    return content


@contextlib.contextmanager
def _refused_as_bad(archive: Path) -> Iterator[None]:
    try:
        yield
    except _Refused as error:
        raise BadArchive(f"{archive}: {error}") from error
    except UNREADABLE as error:
        raise BadArchive(f"{archive}: cannot be read completely ({reason(error):.120})") from error


def _zip_members(archive: Path, limit: int) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as opened:
        _check_size(sum(member.file_size for member in opened.infolist()), limit)  # zipfile reads no more than this
        for member in opened.infolist():
            if member.flag_bits & 0x1:
                raise _Refused(member.orig_filename, "is encrypted")
            if stat.S_IFMT(member.external_attr >> 16) not in {0, stat.S_IFREG, stat.S_IFDIR}:
                raise _Refused(member.orig_filename, "is a link or a device")
            if member.filename.endswith("/"):
                yield member.orig_filename, None
            else:
                with opened.open(member) as content:
                    yield member.orig_filename, content


def _tar_members(archive: Path, limit: int) -> Iterator[Member]:
    with archive.open("rb") as packed:
        magic = packed.read(3)
        packed.seek(0)
        stream: Any = (gzip.GzipFile(fileobj=packed) if magic.startswith(b"\x1f\x8b") else
                       bz2.BZ2File(packed) if magic == b"BZh" else packed)
        if stream is packed and not tarfile.is_tarfile(archive):
            raise _Refused("", "is not a zip or tar archive, or is truncated")
        limited: Any = _Limited(stream, limit)
        with tarfile.open(fileobj=limited, mode="r|") as opened:
            for member in opened:
                if not (member.isreg() or member.isdir()) or member.issparse():
                    raise _Refused(member.name, "is a link, a device or a sparse file")
                yield member.name, opened.extractfile(member)
            while limited.read(CHUNK):  # read on to the checksum after the last member
                pass


def _write_members(folder: Path, members: Iterator[Member]) -> None:
    count = 0
    for count, (name, content) in enumerate(members, 1):
        parts = [part for part in name.split("/") if part not in {"", "."}]
        if not name:
            raise _Refused("", "has a member without a name")
        if ".." in parts or name.startswith("/") or re.search(r"^[A-Za-z]:|\\|\0", name):
            raise _Refused(name, "is not a relative path with forward slashes")
        if count > MAX_MEMBERS:
            raise _Refused(name, f"the archive has more than {MAX_MEMBERS} members")
        target = folder.joinpath(*parts)
        try:
            (target if content is None else target.parent).mkdir(parents=True, exist_ok=True)
            if content is not None:
                with target.open("xb") as stream:
                    shutil.copyfileobj(content, stream, CHUNK)
        except (FileExistsError, NotADirectoryError) as error:
            raise _Refused(name, "occurs twice, or is both a file and a folder") from error
    if not count:
        raise _Refused("", "is empty")
