"""Resources in the home: data that metrics need but that are not shipped.

    HOME/resources/nltk_data/corpora/wordnet.zip    WordNet, in the layout of NLTK
    HOME/resources/conceptnet.tsv.gz                head, relation, tail, weight; tab-separated, one edge per line

Edges are imported from files in this format or in ConceptNet 5's (`/a/...`, relation, `/c/en/head/...`,
`/c/en/tail/...`, JSON with the weight); only edges between English terms are kept. Several files are merged.
"""

from __future__ import annotations

import gzip
import json
import math
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.errors import BadArchive
from benchmarks.formats.rows import MAX_LINE
from benchmarks.storage.archive import FLOOR, MAX_GROWTH, UNREADABLE
from benchmarks.storage.files import write_atomically

CONCEPTNET = "conceptnet"
PATHS = {"wordnet": "nltk_data/corpora/wordnet.zip", CONCEPTNET: "conceptnet.tsv.gz"}
SUFFIXES = (".tsv", ".tsv.gz", ".csv", ".csv.gz")
EDGE_FILE_WORDS = ("conceptnet", "assertions", "association", "edges")  # in the names of files with edges
ENGLISH = "/c/en/"

Edge: TypeAlias = tuple[str, str, str, float]  # head, relation, tail, weight


def path(home: Path, name: str) -> Path:
    return home / "resources" / PATHS[name]


def check_wordnet(file: Path, source: str) -> None:
    """Raise BadArchive unless the file is NLTK's complete wordnet.zip."""
    try:
        with zipfile.ZipFile(file) as archive:
            broken = archive.testzip()
            archive.getinfo("wordnet/data.noun")
    except (KeyError, *UNREADABLE) as error:
        raise BadArchive(f"{source}: is not a zip of WordNet ({' '.join(str(error).split())})") from error
    if broken:
        raise BadArchive(f"{source}: its member {broken} is damaged")


def edge_files(path: Path) -> list[Path]:
    """Return the files with edges in a folder, recognised by name and first line, or the file itself."""
    files = ([file for file in sorted(path.rglob("*")) if any(name in file.name.casefold() for name in EDGE_FILE_WORDS)]
             if path.is_dir() else [path])
    return [file for file in files if file.is_file() and file.name.endswith(SUFFIXES)
            and not file.name.startswith(".") and _begins_with_edge(file)]


def _begins_with_edge(file: Path) -> bool:
    try:
        return _edge(next(_lines(file), "")) is not None
    except (OSError, *UNREADABLE):
        return False


def _lines(file: Path) -> Iterator[str]:
    """Yield the lines of a text file, gzipped or not; a line longer than MAX_LINE in pieces."""
    limit = max(FLOOR, MAX_GROWTH * file.stat().st_size)
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as stream:
        while line := stream.readline(MAX_LINE):
            limit -= len(line)
            if limit < 0:
                raise ValueError("decompresses to too many bytes for a file of its size")
            yield line


def read_edges(file: Path) -> Iterator[Edge]:
    """Yield the edges between English terms; other lines are skipped, since common edge lists contain some."""
    try:
        yield from (edge for edge in map(_edge, _lines(file)) if edge is not None and edge[0] and edge[2])
    except (OSError, *UNREADABLE) as error:
        raise BadArchive(f"{file}: cannot be read as assertions: {error}") from error


def store_edges(files: Sequence[Path], home: Path) -> int:
    """Replace the edges in the home, unless the files contain none, and return their number."""
    lines = dict.fromkeys(f"{head}\t{relation}\t{tail}\t{weight:g}\n"
                          for file in files for head, relation, tail, weight in read_edges(file))
    if lines:
        write_atomically(path(home, CONCEPTNET), gzip.compress("".join(lines).encode(), 6, mtime=0))
    return len(lines)


def _edge(line: str) -> Edge | None:
    """Parse an edge, with terms that are not English left empty; return None for any other line."""
    columns = line.rstrip("\r\n").split("\t")
    try:
        if len(columns) == 4:
            head, relation, tail, weight = *columns[:3], float(columns[3])
        elif len(columns) == 5 and columns[0].startswith("/a/"):
            head, tail = (uri.removeprefix(ENGLISH).partition("/")[0] if uri.startswith(ENGLISH) else ""
                          for uri in columns[2:4])
            relation, weight = columns[1].rpartition("/")[2], float(json.loads(columns[4]).get("weight", 1.0))
        else:
            return None
    except (ValueError, TypeError, AttributeError):
        return None
    return (_plain(head), relation, _plain(tail), weight) if math.isfinite(weight) else None


def _plain(term: str) -> str:
    return " ".join(term.replace("_", " ").casefold().split())
