"""An endpoint that speaks OpenAI's chat completions: one request, one answer, and every way in which it can fail.

    Again       this attempt failed, another may not: 408, 425, 429, 5xx, no answer in time, a cut connection, garbage
    Refused     the server will not answer this request, whoever asks again: 400, 413, 422
    NoAnswer    nobody will be answered: no such host name in the certificate, 401, 403, 404, a redirect

Each request has a connection of its own, through the proxy that HTTPS_PROXY or HTTP_PROXY names unless the server is on
this machine. The key stands in one header of requests to the one host that was named; where a server's words repeat it,
it is struck out of them first.
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
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

from benchmarks.redaction import is_secret
from metrics.errors import BadOption, MissingResource, NoAnswer
from metrics.judges.answer import Answer, received

URL_FROM, KEY_FROM = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""The environment variables that are read where no option names url or key."""

LARGEST = 4 << 20
"""Bytes of an answer, at most."""
HIDDEN = 8
"""Characters from which on a key is struck out; a shorter one is no secret but a word."""

TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
REFUSALS = {400, 413, 422}
LOCAL = {"localhost", "127.0.0.1", "::1"}


class Again(Exception):
    """One attempt failed; `after` is how long the server asks to be left alone, `status` its answer, 0 for none."""

    def __init__(self, message: str, after: float = 0.0, status: int = 0) -> None:
        super().__init__(message)
        self.after, self.status = after, status


class Refused(Exception):
    """The server will not answer this request."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is: the url of its chat completions, and nothing that could be a secret."""

    url: str
    host: str
    name: str
    """Host and port, as a person knows them."""


def address(url: str) -> Address:
    """The parts of a url; BadOption where it holds more than scheme, host, port, path and a query without secrets."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise BadOption("judge: the url cannot be read; it should look like http://HOST:PORT/v1") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.fragment \
            or not re.fullmatch(r"[!-~]*", url) \
            or any(is_secret(name.replace("-", "_"), "") for name, _ in parse_qsl(parts.query)):
        raise BadOption("judge: the url should be http:// or https://, a host and a path such as /v1; it holds no "
                        "user, password or key, which a variable has: key_from=NAME")  # and is not repeated here
    whole = parts._replace(path=parts.path.rstrip("/") + "/chat/completions")
    return Address(whole.geturl(), parts.hostname, f"{parts.hostname}{port}")


def find(url: str, key_from: str, timeout: float) -> Endpoint:
    """The endpoint that was named, or that the environment names, with its key."""
    named = url or os.environ.get(URL_FROM, "")
    if not named:
        raise MissingResource(f"no endpoint is named: judge:PROMPT[model=...,url=http://localhost:8000/v1], or set "
                              f"{URL_FROM}")
    where = address(named)
    variable = key_from or KEY_FROM
    key = os.environ.get(variable, "").strip()
    if key_from and not key:
        raise MissingResource(f"no key is in the environment variable {variable}")
    if not re.fullmatch(r"[!-~]*", key):  # refused here, since a client's error would repeat the key
        raise MissingResource(f"the key in {variable} holds signs that no header takes")
    if not (key_from or where.url.startswith("https:") or where.host in LOCAL):
        key = ""  # it would cross the network in the clear, to a host that perhaps was never meant to have it
    return Endpoint(where, key, timeout, variable)


class Endpoint:
    """One server; `ask` may be called from several threads."""

    def __init__(self, where: Address, key: str, timeout: float, variable: str = KEY_FROM) -> None:
        self.where, self.timeout, self.variable = where, timeout, variable
        self._key = key
        self._open: set[_Exchange] = set()
        near = where.host in LOCAL  # no proxy, but certificates as SSL_CERT_FILE says
        self._client = httpx2.Client(headers=self.headers(), timeout=timeout, trust_env=not near,
                                     verify=ssl.create_default_context() if near else True,
                                     limits=httpx2.Limits(max_keepalive_connections=0))

    def ask(self, body: Mapping[str, Any]) -> Answer:
        """The answer to one request; Again, Refused or NoAnswer where there is none."""
        status, headers, text = self._exchange(json.dumps(body).encode())
        if status == http.HTTPStatus.OK:
            try:
                return received(json.loads(text))
            except (ValueError, RecursionError):
                raise Again(f"{self.where.name}: the answer is no chat completion") from None
        message = f"HTTP {status} from {self.where.name}"
        if status in TRANSIENT:
            raise Again(message, _seconds(headers.get("Retry-After")), status)
        if 300 <= status < 400:
            raise NoAnswer(f"{message}: it leads elsewhere, where nothing is sent; name the address itself as "
                                  "url")
        if status in {401, 403}:  # the server's own words can hold parts of the key
            what = f"the key in {self.variable}" if self._key else f"no key was sent; it would be in {self.variable}"
            raise NoAnswer(f"{message}: not allowed ({what})")
        message += _words(text)
        if status in REFUSALS:
            raise Refused(message)
        raise NoAnswer(f"{message}; is the model's name right, and does the url end as the server wants, in "
                              "/v1?")

    def cut(self) -> None:
        """Cut every connection; a thread that waits on one gets an error."""
        for exchange in list(self._open):
            exchange.cut()

    def headers(self) -> dict[str, str]:
        """The headers of a request, with the key where there is one."""
        plain = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "dialogue-harness",
                 "Accept-Encoding": "identity", "Connection": "close"}
        return plain | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def _exchange(self, body: bytes) -> tuple[int, httpx2.Headers, str]:
        """Send a request and read what comes, within the time and the size; the text without the key."""
        exchange, content, end = _Exchange(), bytearray(), time.monotonic() + self.timeout
        self._open.add(exchange)
        try:
            with self._client.stream("POST", self.where.url, content=body,
                                     extensions={"trace": exchange.seen}) as response:
                for piece in response.iter_raw():  # as it was sent: nothing is unpacked
                    content += piece
                    if len(content) > LARGEST:
                        raise Again(f"{self.where.name}: an answer of more than {LARGEST >> 20} MiB")
                    if time.monotonic() > end:  # bytes that come now and then outlast the client's timeout
                        raise httpx2.ReadTimeout("no whole answer")
        except (httpx2.HTTPError, OSError, ValueError) as error:
            if isinstance(error, httpx2.TimeoutException):
                raise Again(f"{self.where.name}: no whole answer in {self.timeout:g} s") from None
            if untrusted := _untrusted(error):
                raise NoAnswer(f"{self.where.name}: its certificate is not trusted ({untrusted})") from None
            raise Again(f"{self.where.name}: {' '.join(str(error).split())[:120] or type(error).__name__}") from None
        finally:
            self._open.discard(exchange)
        text = content.decode(errors="replace")
        if len(self._key) >= HIDDEN:
            with contextlib.suppress(ValueError, RecursionError):
                text = json.dumps(json.loads(text), ensure_ascii=False)  # however the server escapes
            text = text.replace(self._key, "[key]")
        return response.status_code, response.headers, text


class _Exchange:
    """One request under way, which can be ended from another thread."""

    def __init__(self) -> None:
        self._ended = False
        self._sock: socket.socket | None = None

    def seen(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the socket, and that of TLS in its place, from what the client tells of its steps."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sock = info["return_value"].get_extra_info("socket")
            if self._ended:
                self.cut()

    def cut(self) -> None:
        """End the connection under whoever waits for it."""
        self._ended = True
        with contextlib.suppress(OSError):  # no more open
            if self._sock is not None:
                self._sock.shutdown(socket.SHUT_RDWR)


def _words(text: str) -> str:
    """What the server says of its error, in one short line."""
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(text)
        for name in ("error", "message"):
            value = value.get(name, value) if isinstance(value, dict) else value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    plain = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return f": {plain:.160}" if plain else ""


def _untrusted(error: BaseException | None) -> str:
    """Why a certificate is not trusted, where that is what an error came from."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error.verify_message if error else ""


def _seconds(value: str | None) -> float:
    """What Retry-After says, in seconds or as a date; 0 where it says nothing."""
    try:
        seconds = float(value or 0)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value or "").timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < math.inf else 0.0
