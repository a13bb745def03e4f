"""Resources that metrics need besides models, such as WordNet, and digests of files."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.storage import resources
from metrics.errors import MissingResource

SHIPPED_WORDNET = Path(__file__).parents[1] / "text" / "wordnet.zip"
"""The words and inflected forms of WordNet 3.0, without senses, glosses and relations."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A file or folder that a metric uses, and the sha256 of its content."""

    name: str
    path: Path
    digest: str


def find(name: str, home: Path) -> Resource:
    if name not in LOCATIONS:
        raise MissingResource(f"unknown resource {name!r}; known: {', '.join(LOCATIONS)}")
    for path in LOCATIONS[name](home):
        if path.exists():
            return Resource(name, path, digest_of(path, path.iterdir()) if path.is_dir() else sha256(path))
    raise MissingResource(f"{name} is not on this machine; run `harness fetch {name}`, or `harness import` a copy")


def _wordnet(home: Path) -> list[Path]:
    folders = [Path(entry) for entry in os.environ.get("NLTK_DATA", "").split(os.pathsep) if entry]
    folders += [Path.home() / "nltk_data", Path("/usr/share/nltk_data"), Path("/usr/local/share/nltk_data")]
    installed = [resources.path(home, "wordnet"), *(folder / "corpora" / "wordnet.zip" for folder in folders)]
    return [*installed, Path("/usr/share/wordnet"), SHIPPED_WORDNET]


LOCATIONS: dict[str, Callable[[Path], list[Path]]] = {
    "wordnet": _wordnet,
    "conceptnet": lambda home: [resources.path(home, "conceptnet")],
}
"""Possible paths of each resource, in order of preference."""


def sha256(path: Path) -> str:
    """Return the sha256 of a file, cached until the file changes."""
    state = path.stat()
    return _digest(path, (state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns))


def digest_of(root: Path, paths: Iterable[Path]) -> str:
    """Return the sha256 of the names and contents of files below a folder."""
    lines = sorted(f"{path.relative_to(root).as_posix()} {sha256(path)}\n" for path in paths if path.is_file())
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


@functools.lru_cache(maxsize=4096)
def _digest(path: Path, _state: tuple[int, ...]) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
