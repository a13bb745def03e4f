"""Write out invisible characters in untrusted text, for example as ⟨U+202E⟩.

Templates escape markup, but not control characters or characters that change the direction of a line (UAX #9), with
which a name could imitate another or reorder the rest of its row. Line breaks, tabs and the joiners of writing
systems and emoji are kept. Pages, their attributes and their script data use this form, so that scripts can match
names; CSV and JSON files keep every name unchanged.
"""

from __future__ import annotations

import re

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls except tab and line breaks; a carriage return becomes one
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"  # tags: invisible text inside the text
    "\ud800-\udfff]")  # unpaired surrogates, which cannot be written to a file


def visible(text: str) -> str:
    """Replace invisible characters that affect others with their code points."""
    if text.isascii() and text.isprintable():
        return text
    normalised = text.replace("\r\n", "\n").replace("\r", "\n")
    return HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", normalised)
