"""Names as parts of file names and fragments: safe everywhere, never the same for two names."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

LONGEST = 60
RESERVED = re.compile(r"con|prn|aux|nul|(com|lpt)\d")  # no file names on Windows


def slugs(names: Iterable[str]) -> dict[str, str]:
    """Make a slug per name, whatever the order of the names: 'maintains context' is maintains-context.

    A name that is its own slug keeps it; of several that would share one, the others get a digest at the end.
    """
    ordered = sorted(set(names))
    plain = {name: _plain(name) for name in ordered}
    shared = Counter(plain.values())
    chosen = {name: name for name in ordered if plain[name] == name and _usable(name)}
    for name in ordered:
        if name not in chosen:
            alone = shared[plain[name]] == 1 and _usable(plain[name])
            chosen[name] = _unused(name, plain[name], alone, set(chosen.values()))
    return chosen


def slug(name: str) -> str:
    """Make the slug of a single name."""
    return slugs((name,))[name]


def _plain(name: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only.lower()).strip("-")


def _usable(slug: str) -> bool:
    return 0 < len(slug) <= LONGEST and not RESERVED.fullmatch(slug)


def _unused(name: str, plain: str, alone: bool, taken: set[str]) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    candidate = plain if alone else f"{plain[:LONGEST]}-{digest[:8]}".lstrip("-")
    length = 8
    while candidate in taken:
        length += 8
        candidate = f"{plain[:LONGEST]}-{digest[:length]}"
    return candidate
