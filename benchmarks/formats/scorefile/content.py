"""Opening a file that a stranger has sent: a plain file of bounded size, or it is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from benchmarks.formats.scorefile.problems import Unreadable

LIMIT = 256 << 20
"""Bytes of a file of scores."""

FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link is not followed, and a pipe that nobody writes to is not waited for."""

NEVER = {".pkl": "a pickle", ".pickle": "a pickle", ".npy": "an array of numpy", ".npz": "an array of numpy",
         ".pt": "a pickle of torch", ".joblib": "a pickle", ".zip": "an archive", ".gz": "compressed",
         ".xlsx": "a spreadsheet", ".xls": "a spreadsheet"}
"""What people send that is never opened, by its ending."""

MAGIC = {b"\x80\x02": "a pickle", b"\x80\x03": "a pickle", b"\x80\x04": "a pickle", b"\x80\x05": "a pickle",
         b"\x93NUMPY": "an array of numpy", b"PK\x03\x04": "an archive or a spreadsheet", b"\x1f\x8b": "compressed",
         b"PAR1": "Parquet", b"\xff\xfe": "text in UTF-16", b"\xfe\xff": "text in UTF-16"}
"""What a file begins with that is none of the forms of text."""


def form(path: Path, forms: tuple[str, ...]) -> str:
    """The ending of a file, which says its form; Unreadable where it is none of `forms`."""
    ending = path.suffix.casefold()
    if ending not in forms:
        what = f"is {NEVER[ending]}, which is never opened" if ending in NEVER else "has none of the known endings"
        raise Unreadable(0, f"{what}; scores come as {', '.join(forms)}")
    return ending


def content(path: Path, limit: int = LIMIT) -> bytes:
    """All bytes of a plain file, as they stood when it was opened."""
    try:
        return _content(path, limit)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Unreadable(0, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error


def _content(path: Path, limit: int) -> bytes:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise Unreadable(0, "is a link, a folder, a pipe or a device; a plain file is wanted")
    with os.fdopen(os.open(path, FLAGS), "rb") as stream:
        before = os.fstat(stream.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise Unreadable(0, "is no plain file")
        if before.st_size > limit:
            raise Unreadable(0, f"has {before.st_size:,} bytes; at most {limit:,} are read")
        found = stream.read(before.st_size + 1)
        after = os.fstat(stream.fileno())
    if (before.st_size, before.st_mtime_ns) != (len(found), after.st_mtime_ns):
        raise Unreadable(0, "was changed while it was read")
    return found


def refuse_binary(found: bytes) -> None:
    """Refuse what is no text, whatever the file is called."""
    for start, what in MAGIC.items():
        if found.startswith(start):
            raise Unreadable(1, f"is {what} by its first bytes, whatever its name says")
    if (place := found.find(b"\0")) >= 0:
        raise Unreadable(found.count(b"\n", 0, place) + 1, "holds a null byte, which no text has")
