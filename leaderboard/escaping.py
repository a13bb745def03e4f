"""Invisible characters in text from outside, written out as ⟨U+202E⟩.

Templates escape markup. Control characters and characters that change the direction of a line (UAX #9) remain: a name
could use them to pass for another or to reorder the rest of its row. Line breaks, tabs and the joiners of scripts and
emoji stay. Pages, their attributes and their script data show names this way, so scripts can match them; CSV and JSON
files keep every name unchanged.
"""

from __future__ import annotations

import re

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls except tab and line breaks; a carriage return becomes one
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"  # tags: invisible text inside the text
    "\ud800-\udfff]")  # unpaired surrogates, which cannot be written to a file


def visible(text: str) -> str:
    """Replace invisible characters that affect others by their code points."""
    if text.isascii() and text.isprintable():
        return text
    normalised = text.replace("\r\n", "\n").replace("\r", "\n")
    return HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", normalised)
