"""Paths in the names of metrics and in their options, without the folders of this machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PATH = re.compile(r"(?:^|(?<=[=+])|(?<=:)(?<!http:)(?<!https:))(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^\[\],+]*")
"""A path in a name, or in an option; an address on the web is none."""
HERE = "./"
"""How a path begins whose folder is to be told."""


def last(path: str) -> str:
    """The last part of a path; of `.` that of the folder it is."""
    name = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
    return name if name not in ("", ".", "..", "~") else Path(path).expanduser().resolve().name


def label(prefix: str, name: str) -> str:
    """What the metric of a prompt or file is called: `judge:mine.toml` for judge:/prompts/mine.toml."""
    return f"scores:{last(name)}" if prefix == "scores" else bare(f"{prefix}:{name}")


def placed(text: str, places: Sequence[Path]) -> str:
    """A text in which what begins with ./ is where it is now; FileNotFoundError names what is in none of the places."""
    def place(match: re.Match[str]) -> str:
        found = next((str((folder / last(match[0])).resolve()) for folder in places
                      if (folder / last(match[0])).exists()), None)
        if found is None:
            raise FileNotFoundError(last(match[0]))
        return found

    return PATH.sub(place, text)


def bare(text: str, here: str = "") -> str:
    """A text with each path in it cut to `here` and its last part."""
    return PATH.sub(lambda match: here + last(match[0]), text)
