"""Download a file over http or https, resuming after a broken connection.

Received bytes are stored in `.NAME.part`, next to a note of the file's length and its strong ETag or Last-Modified. The
next attempt, or the next run, requests the rest if the file has not changed (RFC 9110: Range, If-Range). If the server
sends the whole file or another length, or if neither validator nor sha256 can reveal a change, the download starts
afresh. Redirects are followed only within a protocol or to https.
"""

from __future__ import annotations

import contextlib
import hashlib
import http
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks.errors import ChecksumDiffers, FetchError, Offline, reason

if TYPE_CHECKING:
    import httpx2

ATTEMPTS, PAUSE, TIMEOUT = 5, 0.5, 30.0  # seconds; the pause doubles after each attempt
LOG_INTERVAL = 10.0  # seconds between progress lines if stderr is not a terminal
LOG_FORMAT = "{desc}: {n_fmt} of {total_fmt}B, {rate_fmt}, {remaining} left\n"


class RetryableError(Exception):
    """A failure that may be temporary."""


@dataclass(frozen=True, slots=True)
class _Note:
    """Strong validator and length of the file being downloaded, as the server sent them."""

    url: str
    tag: str = ""
    length: int = -1


def download(source_url: str, target: Path, sha256: str | None = None) -> Path:
    """Download a file to `target` atomically, and check its sha256."""
    if urlsplit(source_url).scheme not in {"http", "https"}:
        raise FetchError(f"{source_url}: only http and https URLs are supported")
    part_file = target.with_name(f".{target.name}.part")
    note = part_file.with_suffix(".note")
    try:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                while not _attempt(source_url, part_file, note, has_checksum=sha256 is not None):
                    pass  # the server sent only part of the rest
                break
            except RetryableError as error:
                if attempt == ATTEMPTS:
                    raise FetchError(f"{source_url}: {error}; gave up after {ATTEMPTS} attempts; "
                                     "run the command again to resume") from error
                time.sleep(PAUSE * 2 ** (attempt - 1))
        if sha256 is not None:
            with part_file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if digest != sha256:
                _remove(part_file, note)
                raise ChecksumDiffers(f"{source_url}: expected sha256 {sha256}, got {digest}; the file was removed")
        part_file.replace(target)
    except OSError as error:
        _remove(part_file, note)
        raise FetchError(f"{target}: cannot be written: {error.strerror or error}") from error
    note.unlink(missing_ok=True)
    return target


def check_reachable(url: str) -> None:
    try:
        with _opened(url, {}):
            pass
    except (FetchError, RetryableError) as error:
        if isinstance(error, Offline):
            raise


def _remove(*paths: Path) -> None:
    for path in paths:
        with contextlib.suppress(OSError):  # the folder is not writable
            path.unlink(missing_ok=True)


def _attempt(url: str, part_file: Path, note: Path, *, has_checksum: bool) -> bool:
    """Request the missing bytes and append them; return True if the file is complete."""
    try:
        old_note = _Note(**json.loads(note.read_bytes()))
    except (OSError, ValueError, TypeError):
        old_note = _Note("")
    resumable = old_note.url == url and old_note.length > 0 and (old_note.tag or has_checksum) and part_file.exists()
    size = part_file.stat().st_size if resumable else 0
    if size and size == old_note.length:
        return True
    headers = {"User-Agent": "dialogue-harness", "Accept-Encoding": "identity"}
    if size:
        headers["Range"] = f"bytes={size}-"
        if old_note.tag:
            headers["If-Range"] = old_note.tag
    with _opened(url, headers) as response:
        total, start = _extent(response)
        tags = (response.headers.get(name, "") for name in ("ETag", "Last-Modified"))
        partial = response.status_code == http.HTTPStatus.PARTIAL_CONTENT  # may lack Last-Modified
        tag = next((tag for tag in tags if tag and not tag.startswith("W/")), old_note.tag if partial else "")
        new_note = _Note(url, tag, total)
        if response.status_code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or (
                partial and (start != size or new_note != old_note)):
            _remove(part_file, note)
            raise RetryableError("the file changed while it was downloaded")
        note.write_text(json.dumps(asdict(new_note)), encoding="utf-8")
        _copy(response, part_file, start, total)
    received = part_file.stat().st_size
    if received != total >= 0 and not (partial and size < received < total):
        raise RetryableError(f"the server sent {received} of {total} bytes")
    return total in {-1, received}


@contextlib.contextmanager
def _opened(url: str, headers: Mapping[str, str]) -> Iterator[httpx2.Response]:
    import httpx2

    try:
        with (httpx2.Client(timeout=TIMEOUT, follow_redirects=True,
                            event_hooks={"response": [_check_redirect]}) as client,
              client.stream("GET", url, headers=headers) as response):
            message = f"the server responded {response.status_code} {response.reason_phrase}"
            if response.status_code == http.HTTPStatus.TOO_MANY_REQUESTS or response.is_server_error:
                raise RetryableError(message)
            if not (response.is_success or response.status_code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE):
                raise FetchError(f"{url}: {message}")
            yield response
    except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
        if "SSL" in str(error):
            raise FetchError(f"{url}: no secure connection: {reason(error)}") from error
        target = error.request.url
        # if only the target of a redirect cannot be reached, this machine is online
        kind = Offline if target == httpx2.URL(url) else FetchError
        raise kind(f"{target.host} cannot be reached: {reason(error)}") from error
    except (httpx2.TransportError, httpx2.TooManyRedirects) as error:
        raise RetryableError(f"the connection failed ({reason(error)})") from error


def _check_redirect(response: httpx2.Response) -> None:
    target = response.url.join(response.headers["Location"]) if response.has_redirect_location else response.url
    if target.scheme not in {"https", response.url.scheme}:
        raise FetchError(f"{response.url}: redirects to {target!s:.100}, which is not https")


def _extent(response: httpx2.Response) -> tuple[int, int]:
    """Return the length of the whole file, -1 if unknown, and the offset of this response."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range") or "")
    if match:
        return (-1 if match[2] == "*" else int(match[2])), int(match[1])
    return int(response.headers.get("Content-Length") or -1), 0


def _copy(response: httpx2.Response, part_file: Path, start: int, total: int) -> None:
    from tqdm import tqdm

    lines: dict[str, Any] = {"mininterval": LOG_INTERVAL, "delay": LOG_INTERVAL, "bar_format": LOG_FORMAT}
    with part_file.open("r+b" if start else "wb") as stream, tqdm(
        desc=part_file.name[1:-5], total=None if total < 0 else total, initial=start, unit="B", unit_scale=True,
        leave=False, **({} if sys.stderr.isatty() else lines),
    ) as bar:
        stream.seek(start)
        for chunk in response.iter_raw():
            stream.write(chunk)
            bar.update(len(chunk))
