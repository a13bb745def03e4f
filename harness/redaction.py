"""What is told of a failure is in the words of libraries and metrics: no key of whoever runs it may be in them.

Struck out is what stands in environment variables that are named as secrets are, or that hold an address with a
password. Not found is a secret that is written in another way, or one that stands in no variable.
"""

from __future__ import annotations

import os

SHORTEST = 8
"""Signs from which on a value is struck out; a shorter one is no secret but a word."""


def redacted(text: str) -> str:
    """A text with the name of the variable in the place of each secret."""
    from metrics.external.isolation.process import is_secret

    for name, value in os.environ.items():
        if len(value) >= SHORTEST and value in text and is_secret(name, value):
            text = text.replace(value, f"[{name}]")
    return text
