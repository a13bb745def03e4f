"""The user's secrets, which must reach neither output nor the processes of metrics.

A secret is the value of an environment variable that is named like a key, or holds a URL with a password. Secrets that
are encoded, or are not in a variable, are not recognised.
"""

from __future__ import annotations

import os
import re

MIN_LENGTH = 8  # minimum length of a redacted value; a shorter one is more likely a word than a secret

_SECRET = re.compile(r"(^|_)(KEYS?|TOKENS?|AUTH|PAT)(_|$)|SECRET|PASSW|CREDENTIAL|APIKEY", re.IGNORECASE)
_LOGIN = re.compile(r"//[^/\s:@]*:[^/\s@]*@")


def is_secret(name: str, value: str) -> bool:
    """Return True if an environment variable appears to hold a secret."""
    return bool(_SECRET.search(name) or _LOGIN.search(value))


def redacted(text: str) -> str:
    """Replace each secret in a text with the name of its variable."""
    for name, value in os.environ.items():
        if len(value) >= MIN_LENGTH and value in text and is_secret(name, value):
            text = text.replace(value, f"[{name}]")
    return text
