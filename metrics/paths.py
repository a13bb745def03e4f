"""Strip this machine's folders from paths in the names and options of metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

PATH = re.compile(r"(?:^|(?<=[=+])|(?<=:)(?<!http:)(?<!https:))(?:~|\.{1,2}|[A-Za-z]:)?[/\\][^\[\],+]*")
"""A path in a name or an option, but not a web address."""
HERE = "./"
"""Prefix of a path whose folder has been stripped."""


def last_component(path: str) -> str:
    """Return the last component of a path, resolving `.`, `..` and `~`."""
    name = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
    return name if name not in ("", ".", "..", "~") else Path(path).expanduser().resolve().name


def label(prefix: str, name: str) -> str:
    """Return the displayed name of a metric with a prefix: `judge:mine.toml` for judge:/prompts/mine.toml."""
    return f"scores:{last_component(name)}" if prefix == "scores" else bare(f"{prefix}:{name}")


def bare(text: str, here: str = "") -> str:
    """Replace each path in `text` by `here` and the path's last component."""
    return PATH.sub(lambda match: here + last_component(match[0]), text)


def resolved(text: str, folders: Sequence[Path]) -> str:
    """Replace each path by the file of its name in the first folder with such a file; else raise FileNotFoundError."""
    def path_of(match: re.Match[str]) -> str:
        name = last_component(match[0])
        for folder in folders:
            if (folder / name).exists():
                return str((folder / name).resolve())
        raise FileNotFoundError(name)

    return PATH.sub(path_of, text)
