"""The user's secrets, which reach neither output nor the process of a metric.

A secret is the value of an environment variable with a name like a key's, or an address with a password. A secret that
is encoded, or in no variable, is not recognised.
"""

from __future__ import annotations

import os
import re

SHORTEST = 8
"""Minimum length of a value that is removed; a shorter one is a word rather than a secret."""

_SECRET = re.compile(r"(^|_)(KEYS?|TOKENS?|AUTH|PAT)(_|$)|SECRET|PASSW|CREDENTIAL|APIKEY", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/\s:@]*:[^/\s@]*@")


def is_secret(name: str, value: str) -> bool:
    """Return True if a variable looks like a key or a password."""
    return bool(_SECRET.search(name) or _LOGIN.search(value))


def redacted(text: str) -> str:
    """Replace each secret in a text by the name of its variable."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and value in text and is_secret(name, value):
            text = text.replace(value, f"[{name}]")
    return text
