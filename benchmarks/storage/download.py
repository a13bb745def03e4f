"""Downloading one file over http or https, so that a cut connection costs only what was not there yet.

What has come so far lies in `.NAME.part`, with a note of the server's ETag and length beside it. The next attempt, or
the next run, asks for the rest on the condition that nothing changed (RFC 9110: Range, If-Range). A server that sends
all of it again, or another length, starts the file afresh.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import re
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.errors import ChecksumDiffers, FetchError
from benchmarks.storage.web import CUT, Again, Changed, ask, reason

ATTEMPTS, PAUSE, CHUNK = 5, 0.5, 1 << 16


@dataclass(frozen=True, slots=True)
class _Note:
    """What the server said of the file that is being downloaded."""

    url: str
    tag: str = ""
    length: int = -1


def download(source_url: str, target: Path, sha256: str | None = None, progress: bool = True) -> Path:
    """Download a file to `target`, whole and with the right sha256, or not at all."""
    if urlsplit(source_url).scheme not in {"http", "https"}:
        raise FetchError(f"{source_url}: only http and https addresses are fetched")
    part = target.with_name(f".{target.name}.part")
    try:
        for attempt in range(ATTEMPTS):
            try:
                _attempt(source_url, part, progress)
                break
            except Again as error:
                if isinstance(error, Changed):
                    _forget(part)
                if attempt == ATTEMPTS - 1:
                    raise FetchError(f"{source_url}: {error}, {ATTEMPTS} times; run it again to go on") from error
                time.sleep(PAUSE * 2**attempt)
        _check(source_url, part, sha256)
        part.replace(target)
    except OSError as error:
        _forget(part)
        raise FetchError(f"{target}: cannot be written: {error.strerror or error}") from error
    _note_path(part).unlink(missing_ok=True)
    return target


def _attempt(url: str, part: Path, progress: bool) -> None:
    """Ask for what is missing, and add what comes."""
    note = _read_note(part, url)
    have = part.stat().st_size if note and part.exists() else 0
    if note and have and have == note.length:
        return
    headers = {"User-Agent": "dialogue-harness", "Accept-Encoding": "identity"}
    if note and have:
        headers["Range"] = f"bytes={have}-"
        if note.tag and not note.tag.startswith("W/"):
            headers["If-Range"] = note.tag
    with ask(url, headers) as answer:
        total, start = _extent(answer)
        new = _Note(url, answer.headers.get("ETag") or "", total)
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0
        elif start != have or new != note:
            raise Changed("changed while it was downloaded")
        _note_path(part).write_text(json.dumps(asdict(new)), encoding="utf-8")
        _copy(answer, part, start, total, progress)


def _extent(answer: http.client.HTTPResponse) -> tuple[int, int]:
    """The length of the whole file, -1 where it is not said, and where this answer starts."""
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range") or "")
    if found:
        return (-1 if found[2] == "*" else int(found[2])), int(found[1])
    return int(answer.headers.get("Content-Length") or -1), 0


def _copy(answer: http.client.HTTPResponse, part: Path, start: int, total: int, progress: bool) -> None:
    from tqdm import tqdm

    quiet = not (progress and sys.stderr.isatty())
    with part.open("r+b" if start else "wb") as stream, tqdm(
        desc=part.name[1:-5], total=None if total < 0 else total, initial=start, unit="B", unit_scale=True,
        disable=quiet, leave=False,
    ) as bar:
        stream.seek(start)
        while chunk := _read(answer):
            stream.write(chunk)
            bar.update(len(chunk))
        got = stream.tell()
    if total >= 0 and got != total:
        raise Again(f"the connection was cut at {got} of {total} bytes")


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read(CHUNK)
    except CUT as error:
        raise Again(f"the connection was cut ({reason(error)})") from error


def _check(url: str, part: Path, sha256: str | None) -> None:
    if sha256 is None:
        return
    with part.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sha256:
        _forget(part)
        raise ChecksumDiffers(f"{url}: expected sha256 {sha256}, got {found}; the file was removed")


def _note_path(part: Path) -> Path:
    return part.with_suffix(".note")


def _read_note(part: Path, url: str) -> _Note | None:
    try:
        note = _Note(**json.loads(_note_path(part).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return note if note.url == url else None


def _forget(part: Path) -> None:
    for path in (part, _note_path(part)):
        with contextlib.suppress(OSError):  # a folder that takes nothing also gives nothing back
            path.unlink(missing_ok=True)
