"""An endpoint with OpenAI's chat completions API: one request, one answer, and every way in which it can fail.

    Again       this attempt failed: 408, 425, 429, 5xx, no answer in time, a cut connection, garbage
    Refused     the server will not answer this request: 400, 413, 422
    NoAnswer    no request will be answered: an untrusted certificate, 401, 403, 404, a redirect

Each request has its own connection, through the proxy of HTTPS_PROXY or HTTP_PROXY unless the server is on this
machine. The key is sent in one header to the named host only, and removed from what the server sends back.
"""

from __future__ import annotations

import contextlib
import email.utils
import http
import json
import math
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit
from weakref import WeakSet

import httpx2

from benchmarks.redaction import is_secret
from metrics.errors import BadOption, MissingResource, NoAnswer
from metrics.judges.answer import Answer, received

URL_FROM, KEY_FROM = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""Environment variables read if no option names url or key."""
LARGEST = 4 << 20
"""Maximum bytes of an answer."""
HIDDEN = 8
"""Minimum length of a key that is removed from messages; a shorter one is a word rather than a secret."""

TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
REFUSALS = {400, 413, 422}
LOCAL = {"localhost", "127.0.0.1", "::1"}
PRINTABLE = re.compile(r"[!-~]*")
HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "dialogue-harness",
           "Accept-Encoding": "identity", "Connection": "close"}


class Again(Exception):
    """An attempt failed; `after` is the delay that the server asks for, `status` its answer, 0 for none."""

    def __init__(self, message: str, after: float = 0.0, status: int = 0) -> None:
        super().__init__(message)
        self.after, self.status = after, status


class Refused(Exception):
    """The server will not answer this request."""


def address(url: str) -> SplitResult:
    """Return the URL of the chat completions; BadOption, without repeating it, if it may hold a secret."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise BadOption("judge: the url cannot be read; it should look like http://HOST:PORT/v1") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.fragment \
            or not PRINTABLE.fullmatch(url) \
            or any(is_secret(name.replace("-", "_"), "") for name, _ in parse_qsl(parts.query)):
        raise BadOption("judge: the url should be http:// or https://, a host and a path such as /v1; it holds no "
                        "user, password or key, which a variable has: key_from=NAME")
    return parts._replace(path=parts.path.rstrip("/") + "/chat/completions")


def url_of(url: str) -> str:
    """Return the address of an option, else of the environment."""
    return (url or os.environ.get(URL_FROM, "")).rstrip("/")


def find(url: str, key_from: str, timeout: float) -> Endpoint:
    """Return the endpoint of the options or of the environment, with its key."""
    url = url_of(url)
    if not url:
        raise MissingResource(f"no endpoint is named: judge:PROMPT[model=...,url=http://localhost:8000/v1], or set "
                              f"{URL_FROM}")
    where, variable = address(url), key_from or KEY_FROM
    key = os.environ.get(variable, "").strip()
    if key_from and not key:
        raise MissingResource(f"no key is in the environment variable {variable}")
    if not PRINTABLE.fullmatch(key):  # refused here, since an error of the client would repeat the key
        raise MissingResource(f"the key in {variable} holds characters that no header takes")
    if not (key_from or where.scheme == "https" or where.hostname in LOCAL):
        key = ""  # it would cross the network unencrypted, to a host that was perhaps never meant to have it
    return Endpoint(where, key, timeout, variable)


class Endpoint:
    """A server; `ask` may be called from several threads."""

    def __init__(self, where: SplitResult, key: str, timeout: float, variable: str = KEY_FROM) -> None:
        self.url, self.name, self.timeout, self.variable = where.geturl(), where.netloc, timeout, variable
        self._key, self._ended = key, False
        self._sockets: WeakSet[socket.socket] = WeakSet()
        near = where.hostname in LOCAL  # no proxy, but certificates as SSL_CERT_FILE says
        self._client = httpx2.Client(headers=self.headers(), timeout=timeout, trust_env=not near,
                                     verify=ssl.create_default_context() if near else True,
                                     limits=httpx2.Limits(max_keepalive_connections=0))

    def headers(self) -> dict[str, str]:
        return HEADERS | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def ask(self, body: Mapping[str, Any]) -> Answer:
        """Return the answer to a request, or raise Again, Refused or NoAnswer."""
        status, headers, text = self._exchange(json.dumps(body).encode())
        message = f"HTTP {status} from {self.name}"
        if status == http.HTTPStatus.OK:
            try:
                return received(json.loads(text))
            except (ValueError, RecursionError):
                raise Again(f"{self.name}: the answer is no chat completion") from None
        if status in TRANSIENT:
            raise Again(message, _seconds(headers.get("Retry-After")), status)
        if status in REFUSALS:
            raise Refused(message + _words(text))
        if 300 <= status < 400:
            raise NoAnswer(f"{message}: redirects are not followed; give the final address as url")
        if status in {401, 403}:  # the server's message can hold parts of the key
            sent = f"the key in {self.variable}" if self._key else f"no key was sent; it would be in {self.variable}"
            raise NoAnswer(f"{message}: not allowed ({sent})")
        raise NoAnswer(f"{message}{_words(text)}; is the model's name right, and does the url end as the server "
                       "wants, in /v1?")

    def cut(self) -> None:
        """Cut every connection; threads that wait on one get an error."""
        self._ended = True
        for connection in list(self._sockets):
            with contextlib.suppress(OSError):  # closed already
                connection.shutdown(socket.SHUT_RDWR)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Record the sockets that the client opens."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sockets.add(info["return_value"].get_extra_info("socket"))
            if self._ended:
                self.cut()

    def _exchange(self, body: bytes) -> tuple[int, httpx2.Headers, str]:
        """Send a request and read the answer within time and size; return it without the key."""
        content, end = bytearray(), time.monotonic() + self.timeout
        try:
            with self._client.stream("POST", self.url, content=body, extensions={"trace": self._trace}) as response:
                for piece in response.iter_raw():  # nothing is decompressed
                    content += piece
                    if len(content) > LARGEST:
                        raise Again(f"{self.name}: an answer of more than {LARGEST >> 20} MiB")
                    if time.monotonic() > end:  # a slow trickle of bytes outlasts the client's timeout
                        raise httpx2.ReadTimeout("no whole answer")
        except httpx2.TimeoutException:
            raise Again(f"{self.name}: no whole answer in {self.timeout:g} s") from None
        except (httpx2.HTTPError, OSError, ValueError) as error:
            if untrusted := _untrusted(error):
                raise NoAnswer(f"{self.name}: its certificate is not trusted ({untrusted})") from None
            raise Again(f"{self.name}: {' '.join(str(error).split())[:120] or type(error).__name__}") from None
        text = content.decode(errors="replace")
        if len(self._key) >= HIDDEN:
            with contextlib.suppress(ValueError, RecursionError):
                text = json.dumps(json.loads(text), ensure_ascii=False)  # undoes the server's escapes
            text = text.replace(self._key, "[key]")
        return response.status_code, response.headers, text


def _words(text: str) -> str:
    """Return a server's error message in one short line."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        for name in ("error", "message"):
            value = value.get(name, value) if isinstance(value, dict) else value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    plain = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return f": {plain:.160}" if plain else ""


def _untrusted(error: BaseException | None) -> str:
    """Return why a certificate is not trusted, if that caused the error."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error.verify_message if error else ""


def _seconds(value: str | None) -> float:
    """Return the delay of a Retry-After header, in seconds or a date; 0 if there is none."""
    try:
        seconds = float(value or 0)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value or "").timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < math.inf else 0.0
