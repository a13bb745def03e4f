"""Secrets of whoever runs the harness, kept out of what it writes and of what a metric's process is given.

A secret is the value of an environment variable that is named as secrets are, or an address with a password. One that
is written in another way, or that stands in no variable, is not found.
"""

from __future__ import annotations

import os
import re

SHORTEST = 8
"""Characters from which on a value is struck out; a shorter one is a word rather than a secret."""

_SECRET = re.compile(r"(^|_)(KEYS?|TOKENS?|AUTH|PAT)(_|$)|SECRET|PASSW|CREDENTIAL|APIKEY", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/\s:@]*:[^/\s@]*@")


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks like a key or a password."""
    return bool(_SECRET.search(name) or _LOGIN.search(value))


def redacted(text: str) -> str:
    """Replace each secret in a text by the name of its variable."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and value in text and is_secret(name, value):
            text = text.replace(value, f"[{name}]")
    return text
