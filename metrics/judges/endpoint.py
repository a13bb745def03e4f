"""An endpoint that speaks OpenAI's chat completions: one request, one answer, and every way in which it can fail.

    Again       this attempt failed, another may not: 408, 425, 429, 5xx, no answer in time, a cut connection, garbage
    Refused     the server will not answer this request, whoever asks again: 400, 413, 422
    MissingResource   nobody will be answered: no such host name in the certificate, 401, 403, 404, a redirect

A connection is kept open per thread. The key stands in one header of requests to the one host that was named, and in
nothing that is returned, raised or shown: where a server's words repeat it, it is struck out (secret.py).
"""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import json
import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any

from metrics.errors import MissingResource
from metrics.judges.address import Address, address
from metrics.judges.answer import Answer, received
from metrics.judges.secret import Secret

URL_FROM, KEY_FROM = "OPENAI_BASE_URL", "OPENAI_API_KEY"
"""The environment variables that stand for what is not told."""

LARGEST = 4 << 20
"""Bytes of an answer, at most."""
IDLE = 4.0
"""Seconds after which an open connection is not trusted to be open still."""

TRANSIENT = {408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
REFUSALS = {400, 413, 422}
LOCAL = {"localhost", "127.0.0.1", "::1"}


class Again(Exception):
    """One attempt failed; `after` is how long the server asks to be left alone, `status` its answer, 0 for none."""

    def __init__(self, told: str, after: float = 0.0, status: int = 0) -> None:
        super().__init__(told)
        self.after, self.status = after, status


class Refused(Exception):
    """The server will not answer this request."""


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
    if not re.fullmatch(r"[!-~]*", key):  # said here, since the error of http.client repeats it
        raise MissingResource(f"the key in {variable} holds signs that no header takes")
    if not (key_from or where.secure or where.host in LOCAL):
        key = ""  # it would cross the network in the clear, to a host that perhaps was never meant to have it
    return Endpoint(where, key, timeout, variable)


class Endpoint:
    """One server; `ask` may be called from several threads."""

    def __init__(self, where: Address, key: str, timeout: float, variable: str = KEY_FROM) -> None:
        self.where, self.timeout, self.variable = where, timeout, variable
        self._key = key
        self._secret = Secret(key)
        self._own = threading.local()
        self._open: set[http.client.HTTPConnection] = set()
        self._tls = ssl.create_default_context() if where.secure else None

    def ask(self, body: Mapping[str, Any]) -> Answer:
        """The answer to one request; Again, Refused or MissingResource where there is none."""
        try:
            return self._asked(body)
        except (Again, Refused, MissingResource) as error:  # the one place where a server's words leave as an error
            error.args = tuple(self._secret.struck(str(told)) for told in error.args)
            raise

    def _asked(self, body: Mapping[str, Any]) -> Answer:
        status, headers, content = self._exchange(json.dumps(body).encode())
        if status == http.HTTPStatus.OK:
            with self._dropping():
                return self._answer(content)
        self._drop()
        told = f"HTTP {status} from {self.where.shown}"
        if status in TRANSIENT:
            raise Again(told, _seconds(headers.get("Retry-After")), status)
        if 300 <= status < 400:
            raise MissingResource(f"{told}: it leads elsewhere, where nothing is sent; name the address itself as url")
        if status in {401, 403}:  # the server's own words can hold parts of the key
            what = f"the key in {self.variable}" if self._key else f"no key was sent; it would be in {self.variable}"
            raise MissingResource(f"{told}: not allowed ({what})")
        told += self._words(content)
        if status in REFUSALS:
            raise Refused(told)
        raise MissingResource(f"{told}; is the model's name right, and does the url end as the server wants, in /v1?")

    def cut(self) -> None:
        """Cut every connection; whoever waits on one is told so."""
        for connection in list(self._open):
            _cut(connection.sock)

    def close(self) -> None:
        """Close every connection; nobody may be waiting on one."""
        while self._open:
            self._open.pop().close()

    def _exchange(self, body: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Send a request and read what comes, within the time and the size."""
        connection = self._connection()
        late = threading.Event()  # a server that sends a sign now and then outlasts the timeout of the socket

        def cut_late() -> None:
            late.set()
            _cut(sock)

        watch = threading.Timer(self.timeout, cut_late)
        watch.daemon = True
        try:
            if connection.sock is None:
                connection.connect()
            sock = connection.sock  # which the connection forgets as soon as an answer says that it is the last
            watch.start()
            connection.request("POST", self.where.path, body, self._headers())
            response = connection.getresponse()
            content = response.read(LARGEST + 1)
            cut = bool(response.length) or late.is_set()
        except ssl.SSLCertVerificationError as error:
            self._drop()
            told = f"{self.where.shown}: its certificate is not trusted ({error.verify_message})"
            raise MissingResource(told) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._drop()
            raise Again(self._late() if late.is_set() or isinstance(error, TimeoutError) else
                        f"{self.where.shown}: {_reason(error)}") from None
        finally:
            watch.cancel()
        if cut or len(content) > LARGEST:
            self._drop()
            raise Again(self._late() if late.is_set() else f"{self.where.shown}: the answer was cut short" if cut else
                        f"{self.where.shown}: an answer of more than {LARGEST >> 20} MiB")
        self._own.used = time.monotonic()
        return response.status, response.headers, content

    def _late(self) -> str:
        return f"{self.where.shown}: no whole answer in {self.timeout:g} s"

    def _headers(self) -> dict[str, str]:
        told = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "dialogue-harness"}
        return told | ({"Authorization": f"Bearer {self._key}"} if self._key else {})

    def _answer(self, content: bytes) -> Answer:
        try:
            return received(self._secret.struck_json(json.loads(content.decode())))
        except (ValueError, RecursionError):
            raise Again(f"{self.where.shown}: the answer is no chat completion") from None

    def _words(self, content: bytes) -> str:
        """What the server says of its error, in one short line."""
        text = content.decode(errors="replace")
        with contextlib.suppress(ValueError, RecursionError):
            found = self._secret.struck_json(json.loads(text))
            for name in ("error", "message"):
                found = found.get(name, found) if isinstance(found, dict) else found
            text = found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
        plain = "".join(sign for sign in " ".join(text.split()) if sign.isprintable())
        plain = self._secret.struck(plain)  # last, since what was dropped may have parted it, and before it is cut
        return f": {plain:.160}" if plain else ""

    def _connection(self) -> http.client.HTTPConnection:
        """The connection of this thread, made anew where the last one is gone or has been idle."""
        kept: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if kept is not None and time.monotonic() - self._own.used < IDLE:
            return kept
        self._drop()
        at = (self.where.host, self.where.port)
        fresh = (http.client.HTTPConnection(*at, timeout=self.timeout) if self._tls is None else
                 http.client.HTTPSConnection(*at, timeout=self.timeout, context=self._tls))
        self._own.connection = fresh
        self._own.used = time.monotonic()
        self._open.add(fresh)
        return fresh

    def _drop(self) -> None:
        kept = getattr(self._own, "connection", None)
        self._own.connection = None
        if kept is not None:
            self._open.discard(kept)
            kept.close()

    @contextlib.contextmanager
    def _dropping(self) -> Any:
        """Drop the connection where its answer could not be read: more may be on its way."""
        try:
            yield
        except Again:
            self._drop()
            raise


def _cut(sock: socket.socket | None) -> None:
    """End a connection under whoever waits for it."""
    with contextlib.suppress(OSError):  # no more open
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)


def _reason(error: Exception) -> str:
    told = getattr(error, "strerror", None) or type(error).__name__
    return " ".join(str(told).split())[:120]


def _seconds(told: str | None) -> float:
    """What Retry-After says, in seconds or as a date; 0 where it says nothing."""
    try:
        found = float(told or 0)
    except ValueError:
        try:
            found = email.utils.parsedate_to_datetime(told or "").timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return found if 0 < found < float("inf") else 0.0
