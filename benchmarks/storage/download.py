"""Download a file over http or https, resuming after a broken connection.

Received bytes are stored in `.NAME.part`. The next attempt requests the rest (RFC 9110: Range), if a sha256 or the
server's strong ETag or Last-Modified (If-Range) reveals a change of the file; with a sha256, so does the next run.
Otherwise the download starts afresh. Redirects are followed only within a protocol or to https. Models are downloaded
by huggingface-hub instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import http
import re
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


def download(source_url: str, target: Path, sha256: str | None = None) -> Path:
    """Download a file to `target` atomically, and check its sha256."""
    if urlsplit(source_url).scheme not in {"http", "https"}:
        raise FetchError(f"{source_url}: only http and https URLs are supported")
    part = _Part(source_url, target.with_name(f".{target.name}.part"), has_checksum=sha256 is not None)
    try:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                part.request_rest()
                break
            except RetryableError as error:
                if attempt == ATTEMPTS:
                    hint = "; run the command again to resume" if sha256 else ""
                    raise FetchError(f"{source_url}: {error}; gave up after {ATTEMPTS} attempts{hint}") from error
                time.sleep(PAUSE * 2 ** (attempt - 1))
        if sha256 is not None:
            with part.file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            if digest != sha256:
                part.remove()
                raise ChecksumDiffers(f"{source_url}: expected sha256 {sha256}, got {digest}; the file was removed")
        part.file.replace(target)
    except OSError as error:
        part.remove()
        raise FetchError(f"{target}: cannot be written: {error.strerror or error}") from error
    except FetchError:
        if sha256 is None:
            part.remove()
        raise
    return target


def check_reachable(url: str) -> None:
    try:
        with _opened(url, {}):
            pass
    except (FetchError, RetryableError) as error:
        if isinstance(error, Offline):
            raise


@dataclass(slots=True)
class _Part:
    """The received bytes of a file, with the strong validator that the server sent, if any."""

    url: str
    file: Path
    has_checksum: bool
    validator: str = ""

    def request_rest(self) -> None:
        """Request the missing bytes and append them; raise RetryableError if some are still missing."""
        size = self.file.stat().st_size if self.file.exists() and (self.has_checksum or self.validator) else 0
        headers = {"User-Agent": "dialogue-harness", "Accept-Encoding": "identity"}
        if size:
            headers |= {"Range": f"bytes={size}-", **({"If-Range": self.validator} if self.validator else {})}
        with _opened(self.url, headers) as response:
            total, start = _extent(response)
            tags = (response.headers.get(name, "") for name in ("ETag", "Last-Modified"))  # a partial one may lack both
            validator = next((tag for tag in tags if tag and not tag.startswith("W/")), self.validator if start else "")
            if response.status_code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or (
                    start and (start != size or self.validator not in ("", validator))):
                self.remove()
                raise RetryableError("the file changed while it was downloaded")
            self.validator = validator
            _copy(response, self.file, start, total)
        if (received := self.file.stat().st_size) != total >= 0:
            raise RetryableError(f"the server sent {received} of {total} bytes")

    def remove(self) -> None:
        with contextlib.suppress(OSError):  # the folder is not writable
            self.file.unlink(missing_ok=True)


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
