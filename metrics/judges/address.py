"""The address of an endpoint: scheme, host, port and path, and nothing that could be a secret."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from metrics.errors import BadOption


@dataclass(frozen=True, slots=True)
class Address:
    """Where an endpoint is, taken apart."""

    secure: bool
    host: str
    port: int | None
    path: str

    @property
    def shown(self) -> str:
        """The host, as a person knows it."""
        return f"{self.host}:{self.port}" if self.port else self.host


def address(url: str) -> Address:
    """The parts of a url; BadOption where it holds more than scheme, host, port and path."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadOption("judge: the url cannot be read; http://HOST:PORT/v1 is asked for") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or parts.query \
            or not re.fullmatch(r"[!-~]*", url) or parts.fragment:  # a url with a secret in it is not repeated here
        raise BadOption("judge: the url should be http:// or https://, a host and a path such as /v1; it holds no "
                        "user, password or question mark")
    return Address(parts.scheme == "https", parts.hostname, port, parts.path.rstrip("/") + "/chat/completions")
