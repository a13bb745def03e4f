"""Texts from outside, made harmless beyond markup: invisible signs are written out.

Markup is escaped by the templates. What remains are signs that have no shape of their own but change how others look:
controls, and those that turn the direction of a line (UAX #9), with which a name can pass for another or drag the rest
of a row along. Each is shown by its number, ⟨U+202E⟩; line breaks, tabs, and the joiners that scripts and emoji are
spelled with stay. Files for machines (CSV, JSON) hold every name as it is; a page, its attributes and its data for
scripts hold what is shown, and as a browser reads no sign of that in another way, scripts find names again by them.
"""

from __future__ import annotations

import re
from typing import TypeVar

import markupsafe

Value = TypeVar("Value")

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # controls, but for tab and line breaks (a carriage return becomes one)
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f"  # tags: a text within the text that nobody sees
    "\ud800-\udfff]")  # halves of a pair, which cannot be written to a file


def visible(text: str) -> str:
    """Write out every sign of a text that has no shape but an effect."""
    if text.isascii() and text.isprintable():
        return text
    broken = text.replace("\r\n", "\n").replace("\r", "\n")
    return HIDDEN.sub(lambda sign: f"⟨U+{ord(sign[0]):04X}⟩", broken)


def shown(value: Value) -> Value | str:
    """Make what a template is about to write visible; anything but a plain text is as it was."""
    return visible(value) if isinstance(value, str) and not isinstance(value, markupsafe.Markup) else value
