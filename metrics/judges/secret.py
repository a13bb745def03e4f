r"""A key struck out of what a server says, so that it stands in nothing that is kept or told.

It is found whole, with anything between its signs that is no visible sign of ASCII (spaces, line ends, zero-width
signs: what is dropped later would join it), and as JSON escapes it (`\u0073`, `\/`). Not found, since a server that
means to can write it in endless ways: a key in base64 or quoted for a URL, in another case, or in parts.
"""

from __future__ import annotations

import re
from typing import Any

HIDDEN = 8
"""Signs from which on a key is struck out; a shorter one is no secret but a word."""

_BETWEEN = r"[^!-~]*"


class Secret:
    """One key."""

    def __init__(self, key: str) -> None:
        first, rest = key[:1], key[1:]
        pattern = _escaped(first) + "".join(_BETWEEN + _slashed(sign) for sign in rest)
        self._pattern = re.compile(pattern) if len(key) >= HIDDEN else None

    def struck(self, text: str) -> str:
        """A text without the key."""
        return self._pattern.sub("[key]", text) if self._pattern else text

    def struck_json(self, value: Any) -> Any:
        """What was decoded from JSON, with no key in any of its texts."""
        if isinstance(value, str):
            return self.struck(value)
        if isinstance(value, list):
            return [self.struck_json(one) for one in value]
        if isinstance(value, dict):
            return {self.struck(name): self.struck_json(one) for name, one in value.items()}
        return value


def _escaped(sign: str) -> str:
    """A sign, or what JSON may write for it."""
    return rf"(?:\\u(?i:{ord(sign):04x})|{re.escape(sign)})" if sign else ""


def _slashed(sign: str) -> str:
    r"""The same after some backslashes, as JSON within JSON has them; `\` itself is taken as it stands."""
    return re.escape(sign) if sign == "\\" else rf"\\{{0,8}}(?:(?<=\\)u(?i:{ord(sign):04x})|{re.escape(sign)})"
