"""An endpoint with OpenAI's chat completions API, called through the `openai` package.

The package retries attempts that fail: 408, 409, 429, 5xx, timeout, lost connection, malformed answer. Its HTTP client
is ours: it counts every attempt towards the run's limits, and limits duration and size of an answer. Proxies are taken
from the environment, unless the server is on this machine. The key is sent only to the given host, and is removed from
the server's answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import ssl
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import httpx2

from benchmarks.redaction import is_secret
from metrics.errors import BadOption, MissingResource, NoAnswer
from metrics.judges.answer import Answer, parse_answer
from metrics.judges.spending import Spending

OPENAI = "https://api.openai.com/v1"
MAX_ANSWER_BYTES = 4 << 20
"""Maximum bytes of an answer."""
MIN_KEY_LENGTH = 8
"""Minimum length of a key that is removed from messages; anything shorter is a word rather than a secret."""

REFUSAL_STATUSES = {400, 413, 422}
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
PRINTABLE = re.compile(r"[!-~]*")
OPTIONAL_FIELDS = ("response_format", "top_logprobs", "logprobs", "seed")
"""Fields that are omitted once the server refuses them by name."""


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


def find(url: str, key_from: str, timeout: float, tries: int, spending: Spending) -> Endpoint:
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
    host = address_parts.hostname or ""
    if not (key_from or address_parts.scheme == "https" or host in LOCAL_HOSTS):
        key, azure = "", False  # never send the default key unencrypted, perhaps to a host that must not have it
    return Endpoint(address_parts, key, variable, _Client(host, timeout, spending), tries, azure=azure)


class Endpoint:
    """A server; `ask` may be called concurrently."""

    def __init__(self, address_parts: SplitResult, key: str, variable: str, http: _Client, tries: int, *,
                 azure: bool = False) -> None:
        try:
            import openai
        except ImportError:
            raise MissingResource("the package openai is not installed: pip install 'dialogue-harness[judges]'"
                                  ) from None
        self.name, self.variable, self.key, self.tries = address_parts.netloc, variable, key, tries
        self._package = openai
        self._unsent = {} if key or azure else {"Authorization": openai.omit}
        self._renamed: dict[str, str | None] = {}
        settings = {"timeout": None, "max_retries": tries - 1, "http_client": http,
                    "default_query": dict(parse_qsl(address_parts.query))}
        url = address_parts._replace(query="").geturl()
        try:
            self._client = openai.AsyncAzureOpenAI(azure_endpoint=url, api_key=key or None, **settings) if azure else \
                openai.AsyncOpenAI(base_url=url, api_key=key or "none", **settings)
        except (openai.OpenAIError, ValueError) as error:
            raise MissingResource(f"{self.name}: {error}") from None

    async def ask(self, body: Mapping[str, Any]) -> Answer:
        """Return the answer to a request; raise Refused, or NoAnswer if the server fails."""
        while True:
            sent = {name: value for field, value in body.items() if (name := self._renamed.get(field, field))}
            try:
                response = await self._client.post("/chat/completions", body=sent, cast_to=httpx2.Response,
                                                   options={"headers": self._unsent})
            except self._package.APIStatusError as error:
                if not (fields := _refused_fields(sent, error.response)):
                    raise self._failure(error.response) from None
                self._rename(fields)
            except (self._package.APIConnectionError, OSError, ValueError) as error:
                raise self._without_answer(_reason(error.__cause__ or error)) from None
            else:
                return _parsed(response)

    def _failure(self, response: httpx2.Response) -> Exception:
        status, message = response.status_code, f"HTTP {response.status_code} from {self.name}"
        if status in REFUSAL_STATUSES:
            return Refused(message + _detail(response))
        if _is_transient(status):
            return self._without_answer(message)
        if 300 <= status < 400:
            return NoAnswer(f"{message}: redirects are not followed; give the final address as url")
        if status in {401, 403}:  # not quoted: the server's message can contain parts of the key
            sent = f"the key in {self.variable}" if self.key else f"no key was sent; it would be in {self.variable}"
            return NoAnswer(f"{message}: not allowed ({sent})")
        return NoAnswer(f"{message}{_detail(response)}; check the name of the model and the url, which usually ends in "
                        "/v1")

    def _without_answer(self, reason: str) -> NoAnswer:
        return NoAnswer(f"{self.name}: no answer in up to {self.tries} attempts ({reason}); answers so far are stored; "
                        "run the same command to continue")

    def _rename(self, fields: Mapping[str, str | None]) -> None:
        """Rename or, for None, omit fields from now on."""
        for name in sorted(fields.keys() - self._renamed.keys()):
            if fields[name] is None:
                sys.stderr.write(f"{self.name} does not accept {name}; requests omit it from now on\n")
        self._renamed |= fields


class _Client(httpx2.AsyncClient):
    """A client that counts requests, limits duration and size of an answer, and removes the key from it."""

    def __init__(self, host: str, seconds: float, spending: Spending) -> None:
        is_local = host in LOCAL_HOSTS
        super().__init__(trust_env=not is_local,  # no local proxy, but certificates from SSL_CERT_FILE
                         verify=ssl.create_default_context() if is_local else True,
                         limits=httpx2.Limits(max_keepalive_connections=0))
        self._host, self._seconds, self._spending, self._has_failed = host, seconds, spending, False

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send one attempt; a response that refuses optional fields tells the package not to retry."""
        body = json.loads(request.content)
        highest = self._spending.begin(body)  # this much is spent if no answer arrives, since a server may charge
        try:
            response = await self._receive(request, options)
            answer = _parsed(response) if response.is_success else None
        except httpx2.RequestError as error:
            self._announce_retries(_reason(error))
            raise
        self._spending.settle(highest, body, answer)
        if _refused_fields(body, response):
            response.headers["x-should-retry"] = "false"
        elif _is_transient(response.status_code):
            self._announce_retries(f"HTTP {response.status_code}")
        return response

    def _announce_retries(self, reason: str) -> None:
        """Print the reason of the first failure."""
        if not self._has_failed:
            sys.stderr.write(f"{self._host}: {reason}; retrying\n")
        self._has_failed = True

    async def _receive(self, request: httpx2.Request, options: Mapping[str, Any]) -> httpx2.Response:
        """Return a complete response, without the key."""
        content = bytearray()
        try:
            async with asyncio.timeout(self._seconds):  # the client's own timeout is for each read
                response = await super().send(request, **{**options, "stream": True})
                async with contextlib.aclosing(response):
                    async for chunk in response.aiter_bytes():
                        content += chunk
                        if len(content) > MAX_ANSWER_BYTES:
                            raise httpx2.ReadError(f"an answer of more than {MAX_ANSWER_BYTES >> 20} MiB")
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no complete answer within {self._seconds:g} s") from None
        text = content.decode(errors="replace")
        with contextlib.suppress(ValueError, RecursionError):  # undo escapes, which can hide the key or lone surrogates
            text = json.dumps(json.loads(text), ensure_ascii=False).encode(errors="replace").decode()
        key = request.headers.get("api-key") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        if len(key) >= MIN_KEY_LENGTH:
            text = text.replace(key, "[key]")
        after = {name: value for name, value in response.headers.items() if name.casefold().startswith("retry-after")}
        return httpx2.Response(response.status_code, headers=after, text=text, request=request)


def _is_transient(status: int) -> bool:
    return status in {408, 409, 429} or status >= 500


def _parsed(response: httpx2.Response) -> Answer:
    try:
        return parse_answer(response.json())
    except (ValueError, RecursionError):
        raise httpx2.DecodingError("the answer is not a chat completion") from None


def _refused_fields(body: Mapping[str, Any], response: httpx2.Response) -> dict[str, str | None]:
    """Return the optional fields that a refusal names, with their new names, or None to omit them."""
    if response.status_code not in {*REFUSAL_STATUSES, 500}:
        return {}
    fields: dict[str, str | None] = {name: None for name in OPTIONAL_FIELDS if name in body and name in response.text}
    if "max_tokens" in body and "max_completion_tokens" in response.text:  # OpenAI's reasoning models
        fields["max_tokens"] = "max_completion_tokens"
    return fields


def _detail(response: httpx2.Response) -> str:
    """Return a server's error message as one short line."""
    plain = "".join(character for character in " ".join(response.text.split()) if character.isprintable())
    return f": {plain:.160}" if plain else ""


def _reason(error: BaseException) -> str:
    """Return why no answer arrived, as one short line."""
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    hint = "; check that the server is running and that the url is right"
    return reason + hint * isinstance(error, httpx2.ConnectError)
