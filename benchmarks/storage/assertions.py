"""Assertions of ConceptNet in the home, from its own file or from any list of edges.

    HOME/resources/conceptnet.tsv.gz     head, relation, tail, weight; tab separated, a line each

Read are files of these four columns, and those of ConceptNet 5 (`/a/...`, relation, `/c/en/head/...`, `/c/en/tail/...`,
JSON with the weight), of which the edges between English terms are kept. Several files become one.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.errors import BadArchive
from benchmarks.storage.files import write_atomically

NAME = "conceptnet"
SUFFIXES = (".tsv", ".tsv.gz", ".csv", ".csv.gz")
SIGNS = ("conceptnet", "assertions", "association", "edges")
"""What stands in the name of a file that is taken out of a folder."""
ENGLISH = "/c/en/"

Edge: TypeAlias = tuple[str, str, str, float]
"""Head, relation, tail, weight."""


def path(home: Path) -> Path:
    """Where the assertions lie, or would lie, in the home."""
    return home / "resources" / "conceptnet.tsv.gz"


def look(where: Path) -> list[Path]:
    """The files of assertions in a folder, by their names and first lines, or the file itself if it is one."""
    files = ([file for file in sorted(where.rglob("*")) if any(sign in file.name.casefold() for sign in SIGNS)]
             if where.is_dir() else [where])
    return [file for file in files
            if file.is_file() and file.name.endswith(SUFFIXES) and not file.name.startswith(".") and _is_one(file)]


def read(file: Path) -> Iterator[Edge]:
    """The edges between English terms; a line that is no assertion is passed over, as lists in use have some."""
    try:
        for line in _lines(file):
            edge = _edge(line.rstrip("\r\n").split("\t"))
            if edge is not None and edge[0] and edge[2]:
                yield edge
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadArchive(f"{file}: cannot be read as assertions: {error}") from error


def keep(files: Sequence[Path], home: Path) -> int:
    """Keep the edges of all the files in the place of what was there, if there are any; how many they are."""
    lines = dict.fromkeys(map(_line, itertools.chain.from_iterable(map(read, files))))
    if not lines:
        return 0
    target = path(home)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, gzip.compress("".join(lines).encode(), 6, mtime=0))
    return len(lines)


def _line(edge: Edge) -> str:
    head, relation, tail, weight = edge
    return f"{head}\t{relation}\t{tail}\t{weight:g}\n"


def _lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as stream:
        yield from stream


def _is_one(file: Path) -> bool:
    try:
        first = next(_lines(file), "")
    except (OSError, EOFError, UnicodeDecodeError):
        return False
    return _edge(first.rstrip("\r\n").split("\t")) is not None


def _edge(columns: Sequence[str]) -> Edge | None:
    """An edge; one with an empty end where a line of ConceptNet has a term that is not English; None for no edge."""
    try:
        if len(columns) == 4:
            head, relation, tail, weight = columns
            return (_plain(head), relation, _plain(tail), _finite(float(weight)))
        if len(columns) == 5 and columns[0].startswith("/a/"):
            _, relation, head, tail, about = columns
            weight = json.loads(about).get("weight", 1.0)
            return (_english(head), relation.rpartition("/")[2], _english(tail), _finite(float(weight)))
    except (ValueError, TypeError, AttributeError):
        return None
    return None


def _finite(weight: float) -> float:
    if not math.isfinite(weight):
        raise ValueError(weight)
    return weight


def _english(uri: str) -> str:
    return _plain(uri.removeprefix(ENGLISH).partition("/")[0]) if uri.startswith(ENGLISH) else ""


def _plain(term: str) -> str:
    return " ".join(term.replace("_", " ").casefold().split())
