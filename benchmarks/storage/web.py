"""Asking a web server for something: http and https alone, redirects that stay safe, errors told apart."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from benchmarks.errors import FetchError, Offline

TIMEOUT = 30.0
CUT = (http.client.HTTPException, ConnectionError, TimeoutError)
"""What a connection that breaks off raises: worth another attempt."""


class Again(Exception):
    """One attempt failed; another may not."""


class Changed(Again):
    """What came so far is of another file than the server has now."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any,
                         newurl: str) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme not in {"https", urlsplit(req.full_url).scheme}:
            raise FetchError(f"{req.full_url}: leads to {newurl:.100}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def reach(url: str) -> None:
    """Raise Offline where the host cannot be reached; any answer of it will do."""
    try:
        ask(url, {}).close()
    except Offline:
        raise
    except (FetchError, Again):
        return


def ask(url: str, headers: dict[str, str]) -> http.client.HTTPResponse:
    """Open an address; Again, Offline or FetchError where it does not open."""
    opener = urllib.request.OpenerDirector()  # the default one would also follow file: and ftp:
    for handler in (urllib.request.ProxyHandler, urllib.request.UnknownHandler, urllib.request.HTTPHandler,
                    urllib.request.HTTPSHandler, urllib.request.HTTPDefaultErrorHandler,
                    urllib.request.HTTPErrorProcessor, _Redirects):
        opener.add_handler(handler())
    try:
        answer: http.client.HTTPResponse = opener.open(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT)  # noqa: S310  the scheme was looked at
    except urllib.error.HTTPError as error:
        error.close()
        raise _explained(url, error) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionResetError):
            raise Again(f"the connection was cut ({reason(error.reason)})") from error
        if isinstance(error.reason, ssl.SSLError):
            raise FetchError(f"{url}: no safe connection: {reason(error.reason)}") from error
        raise Offline(f"{urlsplit(url).hostname} cannot be reached: {reason(error.reason)}") from error
    except CUT as error:
        raise Again(f"the connection was cut ({reason(error)})") from error
    return answer


def _explained(url: str, error: urllib.error.HTTPError) -> Exception:
    """What an error status means: start afresh, try again, or give up."""
    if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return Changed("is shorter than what was downloaded")
    if error.code == http.HTTPStatus.TOO_MANY_REQUESTS or error.code >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        return Again(f"the server answers {error.code} {error.reason}")
    return FetchError(f"{url}: the server answers {error.code} {error.reason}")


def reason(error: object) -> str:
    """Say in a few words why a connection failed."""
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    text = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return " ".join(text.split()) or type(error).__name__
