"""An endpoint with OpenAI's chat completions API, called through the `openai` package: one request, one answer.

    RetryableError    this attempt failed: 408, 409, 425, 429, most 5xx, timeout, lost connection, malformed answer
    FieldRefused      the server refused an optional field, which requests omit from now on
    Refused           the server will not answer this request: 400, 413, 422
    NoAnswer          no request will be answered: an untrusted certificate, 401, 403, 404, a redirect

The package's own retries are off. sampling.py retries instead, since a delay that a server asks for applies to all
requests, and every request counts towards the run's limits. Proxies are taken from the environment, unless the server
is on this machine. The key is sent only to the given host, and is removed from the server's answers.
"""

from __future__ import annotations

import contextlib
import email.utils
import json
import math
import os
import re
import socket
import ssl
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit
from weakref import WeakSet

import httpx2

from benchmarks.redaction import is_secret
from metrics.errors import BadOption, MissingResource, NoAnswer
from metrics.judges.answer import Answer, parse_answer

OPENAI = "https://api.openai.com/v1"
MAX_ANSWER_BYTES = 4 << 20
"""Maximum bytes of an answer."""
MIN_KEY_LENGTH = 8
"""Minimum length of a key that is removed from messages; anything shorter is a word rather than a secret."""

TRANSIENT_STATUSES = {408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
REFUSAL_STATUSES = {400, 413, 422}
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
PRINTABLE = re.compile(r"[!-~]*")
OPTIONAL_FIELDS = ("response_format", "top_logprobs", "logprobs", "seed")
"""Fields that are omitted once the server refuses them by name."""


class RetryableError(Exception):
    """An attempt failed; `after` is the delay that the server asks for, `status` the HTTP status, 0 for none."""

    def __init__(self, message: str, after: float = 0.0, status: int = 0) -> None:
        super().__init__(message)
        self.after, self.status = after, status


class FieldRefused(Exception):
    """The server refused an optional field; the same request will be sent without it."""


class Refused(Exception):
    """The server will not answer this request."""


def address(url: str) -> SplitResult:
    """Parse a URL; raise BadOption, without quoting the URL, if it is invalid or may contain a secret."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise BadOption("judge: the url is invalid; expected the form http://HOST:PORT/v1") from None
    problems = {
        "must begin with http:// or https://": parts.scheme not in {"http", "https"},
        "has no host": not parts.hostname,
        "has characters that are not allowed": not PRINTABLE.fullmatch(url),
        "must not contain a fragment (#)": parts.fragment,
        "must not contain a user or password; name an environment variable with the key: key_from=NAME":
            "@" in parts.netloc,
        "must not contain a key; name an environment variable with it: key_from=NAME":
            any(is_secret(name.replace("-", "_"), "") for name, _ in parse_qsl(parts.query))}
    for problem, is_present in problems.items():
        if is_present:
            raise BadOption(f"judge: the url {problem}")
    return parts


def url_of(url: str) -> str:
    """Return the option's address, else the environment's, else OpenAI's if its key is in the environment."""
    configured = url or os.environ.get("OPENAI_BASE_URL") or os.environ.get("AZURE_OPENAI_ENDPOINT")
    return (configured or (OPENAI if os.environ.get("OPENAI_API_KEY") else "")).rstrip("/")


def find(url: str, key_from: str, timeout: float) -> Endpoint:
    """Return the endpoint set by options or by the environment, with its key."""
    azure = not (url or os.environ.get("OPENAI_BASE_URL")) and bool(os.environ.get("AZURE_OPENAI_ENDPOINT"))
    url = url_of(url)
    if not url:
        raise MissingResource("no endpoint: use judge:PROMPT[model=...,url=http://localhost:8000/v1], or set "
                              "OPENAI_BASE_URL or OPENAI_API_KEY")
    address_parts, variable = address(url), key_from or ("AZURE_OPENAI_API_KEY" if azure else "OPENAI_API_KEY")
    key = os.environ.get(variable, "").strip()
    if key_from and not key:
        raise MissingResource(f"the environment variable {variable} is not set, or empty")
    if not PRINTABLE.fullmatch(key):  # checked here, since an error of the client would repeat the key
        raise MissingResource(f"the key in {variable} has characters that are not allowed in a header")
    if not (key_from or address_parts.scheme == "https" or address_parts.hostname in LOCAL_HOSTS):
        key, azure = "", False  # never send the default key unencrypted, perhaps to a host that must not have it
    return Endpoint(address_parts, key, timeout, variable, azure=azure)


class Endpoint:
    """A server; `ask` may be called from several threads."""

    def __init__(self, address_parts: SplitResult, key: str, timeout: float, variable: str, *,
                 azure: bool = False) -> None:
        try:
            import openai
        except ImportError:
            raise MissingResource("the package openai is not installed: pip install 'dialogue-harness[judges]'"
                                  ) from None
        self.name, self.timeout, self.variable, self.key = address_parts.netloc, timeout, variable, key
        self._package, self._http = openai, _Client(timeout, is_local=address_parts.hostname in LOCAL_HOSTS)
        self.abort = self._http.abort
        self._unsent = {} if key or azure else {"Authorization": openai.omit}
        self._renamed: dict[str, str | None] = {}
        self._lock = threading.Lock()
        settings = {"timeout": timeout, "max_retries": 0, "http_client": self._http,
                    "default_query": dict(parse_qsl(address_parts.query))}
        url = address_parts._replace(query="").geturl()
        try:
            self._client = openai.AzureOpenAI(azure_endpoint=url, api_key=key or None, **settings) if azure else \
                openai.OpenAI(base_url=url, api_key=key or "none", **settings)
        except (openai.OpenAIError, ValueError) as error:
            raise MissingResource(f"{self.name}: {error}") from None

    def ask(self, body: Mapping[str, Any]) -> Answer:
        """Return the answer to a request, or raise RetryableError, FieldRefused, Refused or NoAnswer."""
        sent = {name: value for field, value in body.items() if (name := self._renamed.get(field, field))}
        try:
            response = self._client.post("/chat/completions", body=sent, cast_to=httpx2.Response,
                                         options={"headers": self._unsent})
        except self._package.APITimeoutError:
            raise RetryableError(f"{self.name}: no complete answer within {self.timeout:g} s") from None
        except self._package.APIStatusError as error:
            if error.status_code in {*REFUSAL_STATUSES, 500} and self._omit_refused(sent, error.response.text):
                raise FieldRefused from None
            raise self._failure(error) from None
        except (self._package.APIConnectionError, OSError, ValueError) as error:
            if reason := _untrusted(error):
                raise NoAnswer(f"{self.name}: its certificate is not trusted ({reason})") from None
            reason = " ".join(str(error.__cause__ or error).split())[:120] or type(error).__name__
            hint = ("; check that the server is running and that the url is right"
                    if isinstance(error.__cause__, httpx2.ConnectError) else "")
            raise RetryableError(f"{self.name}: {reason}{hint}") from None
        try:
            return parse_answer(response.json())
        except (ValueError, RecursionError):
            raise RetryableError(f"{self.name}: the answer is not a chat completion") from None

    def _failure(self, error: Any) -> Exception:
        status, response = error.status_code, error.response
        detail = _detail(error.message.partition(" - ")[2] or response.text)
        message = f"HTTP {status} from {self.name}"
        if status in TRANSIENT_STATUSES:
            return RetryableError(message, _seconds(response.headers.get("Retry-After")), status)
        if status in REFUSAL_STATUSES:
            return Refused(message + detail)
        if 300 <= status < 400:
            return NoAnswer(f"{message}: redirects are not followed; give the final address as url")
        if status in {401, 403}:  # not quoted: the server's message can contain parts of the key
            sent = f"the key in {self.variable}" if self.key else f"no key was sent; it would be in {self.variable}"
            return NoAnswer(f"{message}: not allowed ({sent})")
        return NoAnswer(f"{message}{detail}; check the name of the model and the url, which usually ends in /v1")

    def _omit_refused(self, sent: Mapping[str, Any], message: str) -> bool:
        """From now on, omit the optional fields that a refusal names; return False if it names none that were sent."""
        fields: dict[str, str | None] = {name: None for name in OPTIONAL_FIELDS if name in sent and name in message}
        if "max_tokens" in sent and "max_completion_tokens" in message:  # OpenAI's reasoning models
            fields["max_tokens"] = "max_completion_tokens"
        with self._lock:
            new = fields.keys() - self._renamed.keys()
            self._renamed |= fields
        for name in sorted(new):
            if fields[name] is None:
                sys.stderr.write(f"{self.name} does not accept {name}; requests omit it from now on\n")
        return bool(fields)


class _Client(httpx2.Client):
    """A client that limits duration and size of an answer, and removes the key from it."""

    def __init__(self, timeout: float, *, is_local: bool) -> None:
        super().__init__(timeout=timeout, trust_env=not is_local,  # no local proxy, but certificates from SSL_CERT_FILE
                         verify=ssl.create_default_context() if is_local else True,
                         limits=httpx2.Limits(max_keepalive_connections=0))
        self._seconds, self._ended = timeout, False
        self._sockets: WeakSet[socket.socket] = WeakSet()

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        request.extensions["trace"] = self._trace
        content, end = bytearray(), time.monotonic() + self._seconds
        response = super().send(request, **options | {"stream": True})
        with contextlib.closing(response):
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    raise httpx2.ReadError(f"an answer of more than {MAX_ANSWER_BYTES >> 20} MiB")
                if time.monotonic() > end:  # a slow trickle of bytes outlasts the client's timeout
                    raise httpx2.ReadTimeout("no complete answer")
        text = content.decode(errors="replace")
        with contextlib.suppress(ValueError, RecursionError):  # undo escapes, which can hide the key or lone surrogates
            text = json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace").decode()
        key = request.headers.get("api-key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        if len(key) >= MIN_KEY_LENGTH:
            text = text.replace(key, "[key]")
        after = {name: value for name, value in response.headers.items() if name.casefold() == "retry-after"}
        return httpx2.Response(response.status_code, headers=after, text=text, request=request)

    def abort(self) -> None:
        """Close every connection; threads waiting on one get an error."""
        self._ended = True
        for connection in list(self._sockets):
            with contextlib.suppress(OSError):  # already closed
                connection.shutdown(socket.SHUT_RDWR)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Record the sockets that the client opens."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sockets.add(info["return_value"].get_extra_info("socket"))
            if self._ended:
                self.abort()


def _detail(message: str) -> str:
    """Return a server's error message as one short line."""
    plain = "".join(character for character in " ".join(message.split()) if character.isprintable())
    return f": {plain:.160}" if plain else ""


def _untrusted(error: BaseException | None) -> str:
    """Return why a certificate is not trusted, if that caused the error."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error.verify_message if error else ""


def _seconds(value: str | None) -> float:
    """Return the delay in a Retry-After header, which is in seconds or a date; 0 if there is none."""
    try:
        seconds = float(value or 0)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value or "").timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return 0.0
    return seconds if 0 < seconds < math.inf else 0.0
